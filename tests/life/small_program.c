/* small_program: a program that does next to nothing has little memory of its own. Counted are the
 * pages that it alone has and has written, of all mappings: those of files are shared by processes,
 * and how many are mapped at a fault is the kernel's choice.
 *
 * SPDX-License-Identifier: MIT */
#include "peak.h"

enum { BLOCKS = 10, BLOCK_BYTES = 100 };

static const size_t dirty_most = (size_t)208 << 10; /* With the C library's own malloc: 108. */

int main(void) {
  begin(60);
  for (int i = 0; i < BLOCKS; ++i) (void)peak_take(BLOCK_BYTES);
  const size_t dirty = peak_read("/proc/self/smaps_rollup", "Private_Dirty:");
  dprintf(STDERR_FILENO, "%zu KiB are dirty, %zu KiB resident\n", dirty / 1024,
          resident_bytes() / 1024);
  CHECK(dirty > 0);
  CHECK(dirty <= dirty_most);
  return 0;
}
