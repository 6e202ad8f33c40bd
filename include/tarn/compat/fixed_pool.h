/* compat/fixed_pool.h: pools of blocks of one size and arenas under the names of the article that
 * docs/fixed_pool.md names, in C and C++17, over tarn/pool/pool.h and tarn/arena/arena.h. None of
 * them is exported by the library: a program compiles with this folder among its include paths, and
 * links with tarn.
 *
 * One thread at a time. Sizes are bytes. Constant time, apart from the chunks that come from
 * malloc's heap and go back there: a chunk goes when it is empty, but for one spare.
 *
 * Each block of a pool is checked: a free of what is no live block of it (freed before, foreign,
 * inside a block) is reported and ends the process, as is a write behind it. That takes 32 bytes a
 * block, and some 20 ns. With FIXED_POOL_FAST defined (in all files alike) it takes neither.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_COMPAT_FIXED_POOL_H
#define TARN_COMPAT_FIXED_POOL_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stdlib.h>
#include <string.h>

#include "../arena/arena.h"
#include "../pool/pool.h"

#ifdef __cplusplus
#define TARN_FIXED_POOL_INLINE inline
#else
#define TARN_FIXED_POOL_INLINE static inline
#endif

typedef struct tarn_pool Pool;
typedef struct tarn_arena Arena;

/* A pool of blocks of `size` bytes (from 1 on), aligned as their size allows, to 16 at most and a
 * pointer at least. Chunks have room for `alloc_step` of them; 0: as many as is good. Null when the
 * numbers make no sense, and when out of memory. */
TARN_FIXED_POOL_INLINE Pool* GetPool(size_t size, size_t alloc_step) {
  Pool* const pool = (Pool*)malloc(sizeof(Pool));
  tarn_pool_options options = TARN_POOL_OPTIONS();
  options.block_bytes = size;
  options.chunk_blocks = alloc_step;
#ifndef FIXED_POOL_FAST
  options.mode = TARN_MODE_CHECKED;
#endif
  if (pool != NULL && tarn_pool_init(pool, &options) == 0) return pool;
  free(pool);
  return NULL;
}

/* A block, not zeroed: at first in the order of their addresses. Null when out of memory. */
TARN_FIXED_POOL_INLINE void* PoolAlloc(Pool* pool) { return tarn_pool_allocate(pool); }

/* Takes a block of the pool back; null is ignored. */
TARN_FIXED_POOL_INLINE void PoolFree(Pool* pool, void* block) { tarn_pool_deallocate(pool, block); }

/* Ends the pool and all its blocks; null is ignored. */
TARN_FIXED_POOL_INLINE void DeletePool(Pool* pool) {
  if (pool == NULL) return;
  tarn_pool_destroy(pool);
  free(pool);
}

/* An arena whose chunks have `alloc_step` bytes (0: as is good); what is larger lies beside them.
 * Null when out of memory. */
TARN_FIXED_POOL_INLINE Arena* GetArena(size_t alloc_step) {
  Arena* const arena = (Arena*)malloc(sizeof(Arena));
  tarn_arena_options options = TARN_ARENA_OPTIONS();
  options.chunk_bytes = options.chunk_bytes_max = alloc_step;
  if (arena != NULL && tarn_arena_init(arena, &options) == 0) return arena;
  free(arena);
  return NULL;
}

/* `size` bytes (0, too) whose address is a multiple of `align`, a power of two (else null). They
 * end with the arena. Null when out of memory, for any size that is too large. */
TARN_FIXED_POOL_INLINE void* ArenaAlloc(Arena* arena, size_t size, size_t align) {
  return (align & (align - 1)) != 0 ? NULL : tarn_arena_allocate_aligned(arena, size, align);
}

/* Ends all that was allocated; null is ignored. */
TARN_FIXED_POOL_INLINE void DeleteArena(Arena* arena) {
  if (arena == NULL) return;
  tarn_arena_destroy(arena);
  free(arena);
}

#undef TARN_FIXED_POOL_INLINE

#endif
#endif
