/* inside_module: a plugin that has the plain library inside; see unloaded.c.
 *
 * SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "tarn/arena/arena.h"
#include "tarn/arena/shared_arena.h"
#include "tarn/heap/heap.h"
#include "tarn/tarn.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int use_blocks(void) {
  if (tarn_purge_in_background() != 0) return 0; /* Ends when the plugin is closed. */
  void* const kept = tarn_malloc(100);           /* Outlives the plugin; nobody can free it. */
  const tarn_heap heap = tarn_heap_create(NULL);
  void* const block = tarn_heap_allocate(heap, 3000);
  tarn_scratch_arena scratch = tarn_scratch_arena_begin(NULL, 0);
  void* const short_lived = tarn_arena_allocate(scratch.arena, 50);
  const int served = kept != NULL && block != NULL && short_lived != NULL;
  tarn_scratch_arena_end(&scratch);
  return served && tarn_heap_destroy(heap) == 0;
}
