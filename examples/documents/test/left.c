/* left: linked into a program that uses tarn for its trees alone, it says at the end what these
 * have left behind.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "tarn/heap/heap.h"

__attribute__((destructor)) static void look(void) {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  if (tarn_heap_get_stats(tarn_heap_main(), &stats) != 0) abort();
  fprintf(stderr, "left: %llu blocks\n", (unsigned long long)stats.live_blocks);
}
