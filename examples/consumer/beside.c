/* beside: a program that keeps its own malloc and takes some blocks from tarn, by name.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tarn/tarn.h>

int main(void) {
  static tarn_account before, after;
  if (tarn_process_account(&before, sizeof(before)) != 0) return 1;
  char* const other = malloc(5000000);
  char* const text = tarn_malloc(1000);
  if (other == NULL || text == NULL) return 1;
  strcpy(text, "from tarn");
  if (tarn_process_account(&after, sizeof(after)) != 0) return 1;
  const unsigned long long grown = after.live_bytes - before.live_bytes;
  printf("%s %s: %llu bytes, and none of malloc's\n", text, tarn_version(), grown);
  tarn_free(text);
  free(other);
  return grown >= 1000 && grown < 5000000 ? 0 : 1;
}
