/* scratch.c: tarn/arena/scratch.h from C.
 *
 * SPDX-License-Identifier: MIT */
#include "tarn/arena/scratch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"

static tarn_scratch_site lines;

static size_t reversed(const char* text, char* out) {
  const size_t length = strlen(text);
  TARN_SCRATCH_AT(&lines, char, line, 16, length + 1);
  if (line == NULL) return 0;
  for (size_t i = 0; i < length; ++i) line[i] = text[length - 1 - i];
  line[length] = '\0';
  memcpy(out, line, length + 1);
  return length;
}

static int refuses(size_t count) {
  TARN_SCRATCH(double, numbers, 4, count);
  return numbers == NULL && errno == ENOMEM;
}

int main(void) {
  char out[100];
  CHECK(reversed("abc", out) == 3 && strcmp(out, "cba") == 0);
  CHECK(reversed("a text of more than sixteen", out) == 27 && out[0] == 'n' && out[26] == 'a');
  const tarn_scratch_site counted = tarn_scratch_read(&lines);
  CHECK(counted.uses == 2 && counted.spills == 1 && counted.bytes_max == 28);
  CHECK(refuses(SIZE_MAX) && refuses(SIZE_MAX / 8 + 1) && refuses(SIZE_MAX / 16) && !refuses(4));
  tarn_scratch scratch;
  int stack[2];
  CHECK(tarn_scratch_begin(&scratch, stack, sizeof stack, 2, sizeof(int), NULL) == stack);
  tarn_scratch_end(&scratch);
  CHECK(tarn_scratch_begin(&scratch, stack, sizeof stack, 3, sizeof(int), NULL) != stack);
  tarn_scratch_end(&scratch);
  CHECK(tarn_scratch_begin(&scratch, stack, sizeof stack, 3, 0, &lines) == stack);
  tarn_scratch_end(&scratch);
  puts("scratch.c: ok");
  return 0;
}
