/* drop_in_c: malloc is tarn's in a C program that is linked to it.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include <tarn/tarn.h>

int main(void) {
  static tarn_account account;
  char* const block = malloc(100000);
  if (block == NULL || tarn_process_account(&account, sizeof(account)) != 0) return 1;
  block[99999] = 'x';
  printf("tarn %s serves %llu bytes\n", tarn_version(), (unsigned long long)account.live_bytes);
  tarn_free(block); /* One heap under both names. */
  return account.live_bytes >= 100000 ? 0 : 1;
}
