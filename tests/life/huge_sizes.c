/* huge_sizes: what the machine would not map is refused with ENOMEM, as by a malloc that maps it,
 * and what it would map is granted. Neither costs memory, and a block that could not grow is as it
 * was. calloc is asked only for what must be refused: huge_zeros has the rest.
 *
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <sys/mman.h>

#include "peak.h"

enum { BITS_LEAST = 32, BITS_MOST = 47 };

static const size_t warm_bytes = 32 * MEBIBYTE;
static const size_t margin_bytes = 4 * MEBIBYTE;

/* By the kernel's own rule (vm.overcommit_memory): it is asked without MAP_NORESERVE. */
static bool would_be_mapped(size_t size) {
  void* mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return false;
  munmap(mapped, size);
  return true;
}

static void expect(void* block, bool granted, size_t size) {
  if ((block != NULL) != granted) dprintf(STDERR_FILENO, "of %zu bytes:\n", size);
  CHECK((block != NULL) == granted);
  CHECK(granted || errno == ENOMEM);
}

static void try_malloc(size_t size, bool granted) {
  errno = 0;
  void* block = malloc(size);
  expect(block, granted, size);
  free(block);
}

static void try_what_is_refused(size_t size) {
  errno = 0;
  expect(calloc(1, size), false, size);
  char* block = malloc(margin_bytes);
  CHECK(block != NULL);
  memset(block, 7, margin_bytes);
  errno = 0;
  expect(realloc(block, size), false, size);
  for (size_t i = 0; i < margin_bytes; ++i) CHECK(block[i] == 7);
  free(block);
}

int main(void) {
  begin(60);
  /* All of the kernel's answers first: under a limit of address space they depend on what malloc
   * has by then. */
  bool with_less[BITS_MOST + 1];
  bool with_more[BITS_MOST + 1];
  for (int bits = BITS_LEAST; bits <= BITS_MOST; ++bits) {
    with_less[bits] = would_be_mapped(((size_t)1 << bits) - margin_bytes);
    with_more[bits] = would_be_mapped(((size_t)1 << bits) + margin_bytes);
  }
  free(peak_take(warm_bytes));
  const size_t resident = resident_bytes();
  for (int bits = BITS_LEAST; bits <= BITS_MOST; ++bits) {
    if (with_less[bits] != with_more[bits]) continue; /* Too near the limit to tell. */
    try_malloc((size_t)1 << bits, with_more[bits]);
    if (!with_more[bits]) try_what_is_refused((size_t)1 << bits);
  }
  CHECK_RESIDENT_BELOW(resident + 16 * MEBIBYTE);
  return 0;
}
