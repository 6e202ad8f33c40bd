/* huge_zeros: blocks that are large and hardly used cost what is used of them. Zeros are written
 * only over memory that is there, also when memory of the size has just been freed; a
 * block that doubles up to a GiB moves without being copied; and all of it reads right.
 *
 * SPDX-License-Identifier: MIT */
#include "peak.h"

#include <malloc.h>
#include <sys/mman.h>

enum { ROUNDS = 10, PAGE = 4096, TABLE_BYTES = 8 << 20 };

static const size_t huge_bytes = 1024 * MEBIBYTE;
static const size_t used_bytes = 32 * MEBIBYTE;
static const size_t warm_bytes = 48 * MEBIBYTE; /* That the library keeps at least. */

static void expect_zeros(const char* zeros, size_t size, size_t step) {
  for (size_t i = 0; i < size; i += step) CHECK(zeros[i] == 0);
}

/* Pages of a block that are there, before it is used. */
static size_t resident_pages_of_zeros(size_t bytes) {
  char* const zeros = calloc(1, bytes);
  CHECK(zeros != NULL);
  char* const start = (char*)(((uintptr_t)zeros + PAGE - 1) / PAGE * PAGE);
  static unsigned char pages[TABLE_BYTES / PAGE];
  CHECK(mincore(start, bytes - PAGE, pages) == 0);
  size_t resident = 0;
  for (size_t i = 0; i < bytes / PAGE - 1; ++i) resident += pages[i] & 1;
  expect_zeros(zeros, bytes, PAGE);
  free(zeros);
  return resident;
}

/* Zeros are written over memory that is there; no more becomes resident than was. */
static void take_zeros_over_warm_and_over_absent_memory(void) {
  char* const used = malloc(TABLE_BYTES);
  CHECK(used != NULL);
  memset(used, 0xA5, TABLE_BYTES);
  free(used);
  CHECK(resident_pages_of_zeros(TABLE_BYTES) == TABLE_BYTES / PAGE - 1);
  malloc_trim(0);
  char* const hardly_used = malloc(TABLE_BYTES);
  CHECK(hardly_used != NULL);
  hardly_used[TABLE_BYTES / 3] = 1;
  free(hardly_used);
  CHECK(resident_pages_of_zeros(TABLE_BYTES) < TABLE_BYTES / PAGE / 8);
  malloc_trim(0);
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
  take_zeros_over_warm_and_over_absent_memory();
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
