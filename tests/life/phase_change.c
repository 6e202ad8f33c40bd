/* phase_change at_once|after_sleep: small blocks are freed, then as much is taken in one large
 * block, then in blocks of 20 KiB, then in small ones of other sizes. What was freed is used
 * or given back before more is taken, so the process never grows past what it had live at once.
 *
 * SPDX-License-Identifier: MIT */
#include "peak.h"

static const size_t phase_bytes = 256 * MEBIBYTE;

/* 1.05 times what is asked for, and what the store keeps on purpose. */
static const size_t peak_most = 256 * MEBIBYTE / 100 * 105 + 8 * MEBIBYTE;

static void expect_peak(const char* phase) {
  dprintf(STDERR_FILENO, "%s: at most %zu KiB were resident\n", phase, peak_bytes() / 1024);
  CHECK(peak_bytes() < peak_most);
}

int main(int count, char** words) {
  CHECK(count == 2);
  begin(120);
  peak_free(peak_fill(phase_bytes, 16, 64));
  expect_peak("small");
  if (strcmp(words[1], "after_sleep") == 0) sleep(3);
  free(peak_take(phase_bytes));
  expect_peak("one large block");
  peak_free(peak_fill(phase_bytes, 20480, 1));
  expect_peak("blocks of 20 KiB");
  peak_free(peak_fill(phase_bytes, 80, 1));
  expect_peak("blocks of 80 bytes");
  peak_free(peak_fill(phase_bytes, 320, 1));
  expect_peak("blocks of 320 bytes");
  return 0;
}
