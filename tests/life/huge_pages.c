/* huge_pages: with transparent huge pages everywhere, a hundred small blocks do not take two
 * megabytes each for the table of pages, for the store and for themselves. "Always" is imitated:
 * every anonymous mapping is advised as it is made, and the library's zeroed data before it runs.
 *
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <tarn/tarn.h>

#include "peak.h"

enum { BLOCKS = 100, BLOCK_BYTES = 100 };

static const size_t resident_more = MEBIBYTE;

extern char __bss_start[];
extern char _end[];

void* mmap(void* at, size_t size, int protection, int flags, int file, off_t offset) {
  void* mapped = (void*)syscall(SYS_mmap, at, size, protection, flags, file, offset);
  if (mapped != MAP_FAILED && (flags & MAP_ANONYMOUS) != 0) {
    (void)syscall(SYS_madvise, mapped, size, MADV_HUGEPAGE);
  }
  return mapped;
}

__attribute__((constructor(101))) static void advise_zeroed_data(void) {
  const uintptr_t page = os_page_bytes();
  const uintptr_t begin_at = ((uintptr_t)__bss_start + page - 1) & ~(page - 1);
  const uintptr_t end_at = (uintptr_t)_end & ~(page - 1);
  (void)syscall(SYS_madvise, begin_at, end_at - begin_at, MADV_HUGEPAGE);
}

int main(void) {
  if (!huge_pages_are("[always]") && !huge_pages_are("[madvise]")) {
    skip("this kernel has no transparent huge pages");
  }
  alarm(60);
  const size_t before = resident_bytes();
  for (int i = 0; i < BLOCKS; ++i) {
    char* block = tarn_malloc(BLOCK_BYTES);
    CHECK(block != NULL);
    block[0] = 1;
  }
  dprintf(STDERR_FILENO, "%zu KiB were resident, %zu KiB are\n", before / 1024,
          resident_bytes() / 1024);
  CHECK_RESIDENT_BELOW(before + resident_more);
  return 0;
}
