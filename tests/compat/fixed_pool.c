/* fixed_pool: every name of fixed_pool.h, as a program in C uses them.
 *
 * SPDX-License-Identifier: MIT */
#include "fixed_pool.h"

#include <stdint.h>
#include <string.h>

#include "names.h"

static void pools(void) {
  const size_t sizes[] = {1, 3, 8, 24, 40, 1000};
  size_t s;
  for (s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    Pool* const pool = GetPool(sizes[s], 32);
    char* blocks[500];
    int i;
    CHECK(pool != NULL);
    for (i = 0; i < 500; ++i) {
      blocks[i] = PoolAlloc(pool);
      CHECK(blocks[i] != NULL && (uintptr_t)blocks[i] % sizeof(void*) == 0);
      memset(blocks[i], i, sizes[s]);
      /* Within a chunk in the order of their addresses. */
      CHECK(i % 32 == 0 || sizes[s] != 24 || blocks[i] > blocks[i - 1] || i > 32);
    }
    for (i = 0; i < 500; ++i) CHECK(blocks[i][sizes[s] - 1] == (char)i);
    for (i = 0; i < 500; ++i) PoolFree(pool, blocks[i]);
    PoolFree(pool, NULL);
    DeletePool(pool);
  }
  CHECK(GetPool(0, 10) == NULL && GetPool(SIZE_MAX, 10) == NULL);
  CHECK(GetPool(100, SIZE_MAX / 10) == NULL);
  DeletePool(NULL);
}

/* Empty chunks go back; one is kept. */
static void chunks_go_back(void) {
  Pool* const pool = GetPool(100, 64);
  void* blocks[2000];
  tarn_pool_stats stats;
  int i;
  for (i = 0; i < 2000; ++i) blocks[i] = PoolAlloc(pool);
  for (i = 0; i < 2000; ++i) PoolFree(pool, blocks[i]);
  memset(&stats, 0, sizeof stats);
  stats.bytes = sizeof stats;
  tarn_pool_get_stats(pool, &stats);
  CHECK(stats.live_blocks == 0 && stats.chunks <= 1 && stats.chunks_peak >= 30);
  DeletePool(pool);
}

static void arenas(void) {
  const size_t alignments[] = {1, 2, 4, 8, 16, 64, 4096};
  size_t steps[] = {0, 1, 100, 5000};
  size_t s;
  for (s = 0; s < sizeof steps / sizeof *steps; ++s) {
    Arena* const arena = GetArena(steps[s]);
    size_t i;
    CHECK(arena != NULL);
    for (i = 0; i < 700; ++i) {
      const size_t alignment = alignments[i % 7];
      char* const p = ArenaAlloc(arena, i * 13 % 9000, alignment);
      CHECK(p != NULL && (uintptr_t)p % alignment == 0);
      memset(p, (int)i, i * 13 % 9000);
    }
    CHECK(ArenaAlloc(arena, 10, 3) == NULL && ArenaAlloc(arena, 10, 24) == NULL);
    CHECK(ArenaAlloc(arena, SIZE_MAX, 8) == NULL && ArenaAlloc(arena, SIZE_MAX - 10, 4096) == NULL);
    CHECK(ArenaAlloc(arena, 10, 8) != NULL);
    DeleteArena(arena);
  }
  DeleteArena(NULL);
}

/* Chunks have the bytes that were asked for. */
static void the_steps_of_an_arena(void) {
  const size_t steps[] = {2000, 30000, 500000};
  size_t s;
  for (s = 0; s < 3; ++s) {
    Arena* const arena = GetArena(steps[s]);
    size_t i;
    tarn_arena_stats stats;
    memset(&stats, 0, sizeof stats);
    stats.bytes = sizeof stats;
    for (i = 0; i < 10 * steps[s] / 100; ++i) CHECK(ArenaAlloc(arena, 100, 1) != NULL);
    tarn_arena_get_stats(arena, &stats);
    CHECK(stats.chunks >= 9 && stats.chunks <= 20);
    DeleteArena(arena);
  }
}

void fixed_pool(void) {
  pools();
  chunks_go_back();
  arenas();
  the_steps_of_an_arena();
}
