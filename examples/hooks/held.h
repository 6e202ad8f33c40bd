/* held: prints what a heap holds, in a line. For the examples.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_EXAMPLES_HOOKS_HELD_H
#define TARN_EXAMPLES_HOOKS_HELD_H

#include <stdio.h>
#include <tarn/heap/heap.h>

static inline tarn_heap heap_of(const char* name, size_t ceiling_bytes) {
  const tarn_heap_options options = TARN_HEAP_OPTIONS(.name = name, .ceiling_bytes = ceiling_bytes);
  return tarn_heap_create(&options);
}

static inline void print_held(tarn_heap heap, const char* when) {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  if (tarn_heap_get_stats(heap, &stats) != 0) return;
  printf("%s, %s: %llu blocks of %llu bytes in %llu KiB\n", tarn_heap_name(heap), when,
         (unsigned long long)stats.live_blocks, (unsigned long long)stats.live_bytes,
         (unsigned long long)stats.committed_bytes / 1024);
}

#endif
