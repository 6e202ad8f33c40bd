/* huge_zeros: blocks that are large and hardly used cost what is used of them. Zeros are not
 * written where the kernel would give them, also when memory of the size has just been freed; a
 * block that doubles up to a GiB moves without being copied; and all of it reads right.
 *
 * SPDX-License-Identifier: MIT */
#include "peak.h"

enum { ROUNDS = 10 };

static const size_t huge_bytes = 1024 * MEBIBYTE;
static const size_t used_bytes = 32 * MEBIBYTE;
static const size_t warm_bytes = 48 * MEBIBYTE; /* That the library keeps at least. */

static void expect_zeros(const char* zeros, size_t size, size_t step) {
  for (size_t i = 0; i < size; i += step) CHECK(zeros[i] == 0);
}

static void take_sparse_zeros(void) {
  for (int i = 0; i < ROUNDS; ++i) {
    char* zeros = calloc(1, huge_bytes);
    CHECK(zeros != NULL);
    expect_zeros(zeros, huge_bytes, huge_bytes / 16);
    CHECK(zeros[huge_bytes / 2 + 1] == 0);
    zeros[huge_bytes / 2 + 1] = 1;
    free(zeros);
  }
}

static void free_ends_and_take_zeros(void) {
  char* block = malloc(huge_bytes);
  CHECK(block != NULL);
  block[0] = block[huge_bytes - 1] = 1;
  free(block);
  char* zeros = calloc(1, huge_bytes);
  CHECK(zeros != NULL);
  CHECK(zeros[0] == 0 && zeros[huge_bytes - 1] == 0);
  free(zeros);
}

/* All of it was dirty. */
static void take_zeros_after_use(void) {
  for (int i = 0; i < ROUNDS; ++i) {
    char* zeros = calloc(1, used_bytes);
    CHECK(zeros != NULL);
    expect_zeros(zeros, used_bytes, 1);
    memset(zeros, 0xA5, used_bytes);
    free(zeros);
  }
}

static void double_one_block(void) {
  char* block = malloc(MEBIBYTE);
  CHECK(block != NULL);
  memset(block, 7, MEBIBYTE);
  for (size_t size = 2 * MEBIBYTE; size <= huge_bytes; size *= 2) {
    block = realloc(block, size);
    CHECK(block != NULL);
  }
  for (size_t i = 0; i < MEBIBYTE; ++i) CHECK(block[i] == 7);
  free(block);
}

static void expect_peak(const char* phase, size_t most) {
  dprintf(STDERR_FILENO, "%s: at most %zu KiB were resident\n", phase, peak_bytes() / 1024);
  CHECK(peak_bytes() < most);
}

int main(void) {
  begin(120);
  take_sparse_zeros();
  expect_peak("sparse zeros", 16 * MEBIBYTE);
  free_ends_and_take_zeros();
  expect_peak("zeros after a free", 16 * MEBIBYTE);
  double_one_block();
  /* It is copied where memory that is warm has room for it. */
  expect_peak("growth", 16 * MEBIBYTE + warm_bytes);
  take_zeros_after_use();
  take_sparse_zeros();
  expect_peak("zeros after use", 16 * MEBIBYTE + warm_bytes + used_bytes);
  return 0;
}
