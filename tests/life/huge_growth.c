/* huge_growth: a heap that grows beyond huge_from_kib does so by huge pages, takes hardly more
 * memory than without them, and has given it back when it is empty: what is dropped of a huge page
 * is not filled up again.
 *
 * SPDX-License-Identifier: MIT */
#include <malloc.h>
#include <stdbool.h>

#include "peak.h"

static const size_t from = 32 * (size_t)MEBIBYTE;
static const size_t to = 192 * (size_t)MEBIBYTE;
static const size_t window = 2 * (size_t)MEBIBYTE;

static size_t huge_bytes(void) { return peak_read("/proc/self/smaps_rollup", "AnonHugePages:"); }

int main(int count, char** words) {
  (void)words;
  /* Not never, and not always, where they are nobody's doing. */
  if (!huge_pages_are("[madvise]")) skip("this kernel gives no huge pages for the asking");
  alarm(120);
  const bool off = count > 1;
  peak_block* blocks = peak_fill(from / 2, 48, 20);
  CHECK(huge_bytes() == 0);
  peak_block* more = peak_fill(to, 48, 20);
  const size_t huge = huge_bytes();
  const size_t peak = peak_bytes();
  dprintf(STDERR_FILENO, "%zu MiB in huge pages, %zu MiB at most\n", huge / MEBIBYTE,
          peak / MEBIBYTE);
  CHECK(off ? huge == 0 : huge > to / 2);
  CHECK(peak < from / 2 + to + (from + to) / 8 + 4 * window);
  peak_free(blocks);
  peak_free(more);
  CHECK(malloc_trim(0) == 1);
  CHECK_RESIDENT_BELOW(8 * (size_t)MEBIBYTE);
  CHECK(huge_bytes() <= window);
  return 0;
}
