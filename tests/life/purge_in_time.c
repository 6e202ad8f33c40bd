/* purge_in_time working|asleep: 512 MB of small blocks were freed. A program that goes on with
 * small blocks, and takes nothing that asks the store, has at most an eighth of that resident
 * twelve seconds later, and next to nothing after a trim. One that sleeps without a call has, by
 * then, a page of each class of which blocks are at hand, a fortieth of what it had, if purging in
 * the background was asked for. All of it may be sooner.
 *
 * SPDX-License-Identifier: MIT */
#include <malloc.h>
#include <stdbool.h>

#include "peak.h"

enum { SECONDS_MOST = 12, TICKS_A_SECOND = 10, PAIRS_A_TICK = 2000, PAIR_BYTES_MOST = 3000 };

static const size_t freed_bytes = 512 * MEBIBYTE;
static const size_t working_most = 64 * MEBIBYTE;
static const size_t asleep_most = 512 * MEBIBYTE / 40;
static const size_t trimmed_most = 8 * MEBIBYTE;

static void use_small_blocks(void) {
  for (int i = 0; i < PAIRS_A_TICK; ++i) {
    free(peak_take(sizeof(peak_block) + (size_t)i % PAIR_BYTES_MOST));
  }
}

static bool comes_below(size_t most, bool works) {
  for (int tick = 0; tick < SECONDS_MOST * TICKS_A_SECOND; ++tick) {
    if (works) use_small_blocks();
    usleep(1000000 / TICKS_A_SECOND);
    if (resident_bytes() <= most) return true;
  }
  return false;
}

int main(int count, char** words) {
  CHECK(count == 2);
  begin(120);
  const bool works = strcmp(words[1], "working") == 0;
  peak_free(peak_fill(freed_bytes, 16, 125));
  const bool in_time = comes_below(works ? working_most : asleep_most, works);
  dprintf(STDERR_FILENO, "%zu KiB are resident\n", resident_bytes() / 1024);
  CHECK(in_time);
  (void)malloc_trim(0);
  dprintf(STDERR_FILENO, "%zu KiB are after a trim\n", resident_bytes() / 1024);
  CHECK(resident_bytes() <= trimmed_most);
  return 0;
}
