/* shim: C functions for what Rust cannot call or build itself: structs with options, and arenas,
 * which must not be moved. The crate declares them in sys.rs.
 *
 * SPDX-License-Identifier: MIT */
#include TARN_RUST_HEADER
#ifndef TARN_ARENA_H
#include "tarn/arena/arena.h"
#endif

#include <errno.h>
#include <stddef.h>

/* The crate's fast path reads and writes these two. */
_Static_assert(offsetof(tarn_arena, cursor) == 0, "cursor is first");
_Static_assert(offsetof(tarn_arena, end) == sizeof(void*), "end is second");
_Static_assert(TARN_ARENA_GRAIN == 8, "the crate rounds up to it");

typedef struct tarn_rust_heap_options {
  const char* name;
  int serialised;
  int checked;
  size_t ceiling_bytes;
  size_t floor_bytes;
  const size_t* class_bytes;
  size_t class_count;
} tarn_rust_heap_options;

int tarn_rust_heap_make(const tarn_rust_heap_options* from, tarn_heap* heap) {
  tarn_heap_options options = TARN_HEAP_OPTIONS(.name = from->name,
                                                .ceiling_bytes = from->ceiling_bytes,
                                                .floor_bytes = from->floor_bytes,
                                                .class_bytes = from->class_bytes,
                                                .class_count = from->class_count);
  if (from->serialised) options.threads = TARN_HEAP_SERIALISED;
  if (from->checked) options.mode = TARN_MODE_CHECKED;
  *heap = tarn_heap_create(&options);
  return heap->record == NULL ? errno : 0;
}

typedef struct tarn_rust_heap_stats {
  uint64_t live_blocks;
  uint64_t live_bytes;
  uint64_t live_bytes_peak;
  uint64_t committed_bytes;
  uint64_t committed_bytes_peak;
  uint64_t free_blocks;
} tarn_rust_heap_stats;

void tarn_rust_heap_stats_of(tarn_heap heap, tarn_rust_heap_stats* to) {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  tarn_heap_get_stats(heap, &stats);
  to->live_blocks = stats.live_blocks;
  to->live_bytes = stats.live_bytes;
  to->live_bytes_peak = stats.live_bytes_peak;
  to->committed_bytes = stats.committed_bytes;
  to->committed_bytes_peak = stats.committed_bytes_peak;
  to->free_blocks = stats.free_blocks;
}

tarn_arena* tarn_rust_arena_make(size_t chunk_bytes, size_t limit_bytes, int checked) {
  tarn_arena* const arena = tarn_malloc(sizeof *arena);
  if (arena == NULL) return NULL;
  const tarn_arena_options options = TARN_ARENA_OPTIONS(
      .chunk_bytes = chunk_bytes, .limit_bytes = limit_bytes, .keep_bytes = TARN_ARENA_KEEP_TYPICAL,
      .mode = checked ? TARN_MODE_CHECKED : TARN_MODE_FAST);
  if (tarn_arena_init(arena, &options) == 0) return arena;
  const int error = errno;
  tarn_free(arena);
  errno = error;
  return NULL;
}

void tarn_rust_arena_end(tarn_arena* arena) {
  tarn_arena_destroy(arena);
  tarn_free(arena);
}

void tarn_rust_arena_used(const tarn_arena* arena, uint64_t* used, uint64_t* held) {
  tarn_arena_stats stats = TARN_ARENA_STATS();
  tarn_arena_get_stats(arena, &stats);
  *used = stats.used_bytes;
  *held = stats.held_bytes;
}

/* The crate reserves room for five words. */
_Static_assert(sizeof(tarn_arena_mark) == 5 * sizeof(uint64_t), "the crate's Mark");

void tarn_rust_arena_mark_of(const tarn_arena* arena, tarn_arena_mark* mark) {
  *mark = tarn_arena_get_mark(arena);
}
