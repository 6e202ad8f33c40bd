/* compat/fixed_pool.h: pools of blocks of one size, and arenas, under the names of the article that
 * docs/fixed_pool.md cites, in C99 and C++11, over tarn/pool/pool.h and tarn/arena/arena.h. The
 * library exports none of the names: a program compiles with this folder among its include paths,
 * and links with tarn. (compat/fixed_pool.c makes functions of them, for who needs their names.)
 *
 * One thread at a time. Sizes are in bytes. Constant time, apart from the chunks, which come from
 * malloc's heap and go back there when they are empty, except for one spare chunk.
 *
 * Each block of a pool is checked. Freeing what is no live block of the pool (freed before,
 * foreign, inside a block) is reported and ends the process, and so is a write behind a block. The
 * checks take 32 bytes a block and some 20 ns. Define FIXED_POOL_FAST, in all files alike, to do
 * without them.
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

#if defined(TARN_FIXED_POOL_FUNCTIONS) && defined(__cplusplus)
#define TARN_FIXED_POOL_INLINE extern "C"
#elif defined(TARN_FIXED_POOL_FUNCTIONS)
#define TARN_FIXED_POOL_INLINE extern
#elif defined(__cplusplus)
#define TARN_FIXED_POOL_INLINE TARN_NOTES_CALLER inline
#else
#define TARN_FIXED_POOL_INLINE TARN_NOTES_CALLER static inline
#endif

/* A pool and an arena, each under two names. The functions take them by void*, as programs keep
 * them, in C++ as in C. */
typedef struct tarn_pool Pool, PoolDescriptor;
typedef struct tarn_arena Arena, ArenaDescriptor;

/* Makes a pool of blocks of `size` bytes, at least 1. Blocks are aligned as their size allows: to a
 * pointer at least and to 16 at most. Chunks have room for `alloc_step` blocks; 0 lets the pool
 * choose. Null when the numbers make no sense, and when there is no memory. */
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

/* A block, not zeroed. The first blocks come in the order of their addresses. Null when there is no
 * memory. */
TARN_FIXED_POOL_INLINE void* PoolAlloc(void* pool) { return tarn_pool_allocate((Pool*)pool); }

/* Frees a block of the pool. Null is ignored. */
TARN_FIXED_POOL_INLINE void PoolFree(void* pool, void* block) {
  tarn_pool_deallocate((Pool*)pool, block);
}

/* Ends the pool and all its blocks. Null is ignored. */
TARN_FIXED_POOL_INLINE void DeletePool(void* pool) {
  if (pool == NULL) return;
  tarn_pool_destroy((Pool*)pool);
  free(pool);
}

/* Makes an arena whose chunks have `alloc_step` bytes; 0 lets the arena choose. Larger blocks get
 * chunks of their own. Null when there is no memory. */
TARN_FIXED_POOL_INLINE Arena* GetArena(size_t alloc_step) {
  Arena* const arena = (Arena*)malloc(sizeof(Arena));
  tarn_arena_options options = TARN_ARENA_OPTIONS();
  options.chunk_bytes = options.chunk_bytes_max = alloc_step;
  if (arena != NULL && tarn_arena_init(arena, &options) == 0) return arena;
  free(arena);
  return NULL;
}

/* A block of `size` bytes, which may be 0, at a multiple of `align`, a power of two. It ends with
 * the arena. Null when `align` is no power of two, and when there is no memory, as for any size
 * that is too large. */
TARN_FIXED_POOL_INLINE void* ArenaAlloc(void* arena, size_t size, size_t align) {
  return (align & (align - 1)) != 0 ? NULL
                                    : tarn_arena_allocate_aligned((Arena*)arena, size, align);
}

/* Ends the arena and all its blocks. Null is ignored. */
TARN_FIXED_POOL_INLINE void DeleteArena(void* arena) {
  if (arena == NULL) return;
  tarn_arena_destroy((Arena*)arena);
  free(arena);
}

#undef TARN_FIXED_POOL_INLINE

#endif
#endif
