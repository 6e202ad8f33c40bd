/* region_array_pool: a pool of equal blocks over memory that the user gives, in C. (C++:
 * tarn/pool/region_array_pool.hpp.) Blocks and bookkeeping are two ranges; no block is ever read or
 * written, so blocks may lie in device memory, in a mapping that cannot be written, in a file.
 *
 *   bookkeeping   | header | free, carved | indices[capacity]: 8, 16 or 32 bits | live bits |
 *                            in use = carved - free; the first `free` indices  (exact only)
 *                            are a stack; 0..carved-1 were handed out once
 *   blocks        | block 0 | block 1 | ...
 *
 * The bookkeeping holds no address: processes that map the ranges anywhere use one pool by turns,
 * each through a handle of its own. One at a time: for all at once, tarn/pool/shared_array_pool.h.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_REGION_ARRAY_POOL_H
#define TARN_REGION_ARRAY_POOL_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include "../detail/array_blocks.h"
#include "../detail/array_misuse.h"
#include "../detail/index_stack.h"
#include "../detail/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TARN_ARRAY_EXACT = 1u /* Frees prove that the block is live, for a bit per block. */
};

/* Bytes, in memory: */
typedef struct tarn_array_region {
  uint64_t magic;             /*  0: written last by format */
  uint64_t version;           /*  8: and the numbers that never change: */
  uint64_t block_count;       /* 16 */
  uint64_t block_bytes;       /* 24 */
  uint64_t flags;             /* 32 */
  uint64_t bookkeeping_bytes; /* 40 */
  uint64_t checksum;          /* 48: of version .. bookkeeping_bytes */
  uint64_t free;              /* 56: this and the next are written by every user of the pool. */
  uint64_t carved;            /* 64 */
} tarn_array_region;

/* A handle: what this process knows of a pool. Valid while both ranges are mapped. */
typedef struct tarn_array_pool {
  tarn_array_region* region;
  unsigned char* indices;
  uint32_t* live; /* Null: not exact. */
  unsigned index_bytes;
  unsigned watched; /* 1: tarn_array_pool_watch. */
  tarn_array_blocks blocks;
} tarn_array_pool;

#define TARN_ARRAY_REGION_MAGIC UINT64_C(0x6e72617461726179)
#define TARN_ARRAY_REGION_VERSION UINT64_C(1)

static inline size_t tarn_array_live_offset(size_t block_count) {
  const size_t end = sizeof(tarn_array_region) + block_count * tarn_index_bytes(block_count);
  return (end + 3) & ~(size_t)3;
}

/* How many bytes of bookkeeping a pool needs; 0 for a pool that cannot be: no blocks, more than
 * 2^32, no bytes, or more of them than can be addressed. */
static inline size_t tarn_array_pool_bytes(size_t block_count, size_t block_bytes, unsigned flags) {
  if (!tarn_array_blocks_fit(block_count, block_bytes)) return 0;
  if ((uint64_t)block_count - 1 > UINT32_MAX || block_count > (size_t)PTRDIFF_MAX / 8) return 0;
  const size_t live = tarn_array_live_offset(block_count);
  return (flags & TARN_ARRAY_EXACT) != 0 ? live + (block_count + 31) / 32 * 4 : live;
}

/* Makes a pool of which all blocks are free. O(1): only the header is written, whatever else the
 * memory holds. The bookkeeping is aligned to 8. */
TARN_MUST_USE static inline tarn_array_status tarn_array_pool_format(void* bookkeeping,
                                                                     size_t bookkeeping_bytes,
                                                                     size_t block_count,
                                                                     size_t block_bytes,
                                                                     unsigned flags) {
  const size_t needed = tarn_array_pool_bytes(block_count, block_bytes, flags);
  if (needed == 0 || bookkeeping == NULL || (flags & ~(unsigned)TARN_ARRAY_EXACT) != 0) {
    return TARN_ARRAY_BAD_ARGUMENT;
  }
  if ((uintptr_t)bookkeeping % 8 != 0) return TARN_ARRAY_MISALIGNED;
  if (bookkeeping_bytes < needed) return TARN_ARRAY_TOO_SMALL;
  tarn_array_region* const region = (tarn_array_region*)bookkeeping;
  region->magic = 0;
  region->version = TARN_ARRAY_REGION_VERSION;
  region->block_count = block_count;
  region->block_bytes = block_bytes;
  region->flags = flags;
  region->bookkeeping_bytes = needed;
  region->checksum = tarn_array_checksum(&region->version, 5);
  region->free = 0;
  region->carved = 0;
  region->magic = TARN_ARRAY_REGION_MAGIC;
  return TARN_ARRAY_OK;
}

/* Fills *pool for a formatted pool whose blocks this process sees at `blocks`; on any other status
 * *pool is as it was. Blocks are aligned as `blocks` and their size are. O(1). */
TARN_MUST_USE static inline tarn_array_status tarn_array_pool_attach(tarn_array_pool* pool,
                                                                     void* bookkeeping,
                                                                     size_t bookkeeping_bytes,
                                                                     void* blocks,
                                                                     size_t blocks_bytes) {
  if (pool == NULL || bookkeeping == NULL || blocks == NULL) return TARN_ARRAY_BAD_ARGUMENT;
  if ((uintptr_t)bookkeeping % 8 != 0) return TARN_ARRAY_MISALIGNED;
  if (bookkeeping_bytes < sizeof(tarn_array_region)) return TARN_ARRAY_TOO_SMALL;
  tarn_array_region* const region = (tarn_array_region*)bookkeeping;
  if (region->magic != TARN_ARRAY_REGION_MAGIC) return TARN_ARRAY_NO_POOL;
  if (region->version != TARN_ARRAY_REGION_VERSION) return TARN_ARRAY_OTHER_VERSION;
  if (region->checksum != tarn_array_checksum(&region->version, 5) ||
      region->block_count > SIZE_MAX || region->block_bytes > SIZE_MAX) {
    return TARN_ARRAY_DAMAGED;
  }
  const size_t count = (size_t)region->block_count;
  const size_t block_bytes = (size_t)region->block_bytes;
  const size_t needed = tarn_array_pool_bytes(count, block_bytes, (unsigned)region->flags);
  if (needed == 0 || needed != region->bookkeeping_bytes || region->carved > count ||
      region->free > region->carved || (region->free == region->carved && region->carved != 0)) {
    return TARN_ARRAY_DAMAGED;
  }
  if (needed > bookkeeping_bytes || count * block_bytes > blocks_bytes) {
    return TARN_ARRAY_TOO_SMALL;
  }
  unsigned char* const bytes = (unsigned char*)bookkeeping;
  pool->region = region;
  pool->indices = bytes + sizeof(tarn_array_region);
  pool->live = (region->flags & TARN_ARRAY_EXACT) != 0
                   ? (uint32_t*)(void*)(bytes + tarn_array_live_offset(count))
                   : NULL;
  pool->index_bytes = tarn_index_bytes(count);
  pool->watched = 0;
  pool->blocks = tarn_array_blocks_at(blocks, count, block_bytes);
  tarn_watch_end_closed(blocks, count * block_bytes); /* An earlier pool's may be closed. */
  return TARN_ARRAY_OK;
}

static inline tarn_index_stack tarn_array_stack(const tarn_array_pool* pool) {
  tarn_index_stack stack;
  stack.indices = pool->indices;
  stack.index_bytes = pool->index_bytes;
  stack.free = (size_t)pool->region->free;
  stack.carved = (size_t)pool->region->carved;
  return stack;
}

/* A block, or null when none is free. The last freed first; before anything was freed, at ascending
 * addresses; from the start again when all are free. O(1). */
TARN_MUST_USE static inline void* tarn_array_pool_allocate(tarn_array_pool* pool) {
  tarn_array_region* const region = pool->region;
  size_t i;
  if (region->free != 0) {
    i = tarn_index_get(pool->indices, pool->index_bytes, (size_t)--region->free);
  } else if (TARN_LIKELY(region->carved != pool->blocks.count)) {
    i = (size_t)region->carved++;
    if (pool->live != NULL && i % 32 == 0) pool->live[i / 32] = 0; /* Reached: it was rubbish. */
  } else {
    return NULL;
  }
  if (pool->live != NULL) pool->live[i / 32] ^= (uint32_t)1 << i % 32;
  void* const p = tarn_array_block_at(&pool->blocks, i);
  if (TARN_WATCH && pool->watched != 0) tarn_watch_open(p, pool->blocks.block_bytes);
  return p;
}

/* Ignores null. What is not the start of a block that was handed out is an `invalid free`; in an
 * exact pool a block that is not live is a `double free`: the process ends. O(1). */
static inline void tarn_array_pool_deallocate(tarn_array_pool* pool, void* p) {
  tarn_array_region* const region = pool->region;
  const size_t i = tarn_array_index_of(&pool->blocks, p);
  if (TARN_UNLIKELY(i >= region->carved)) {
    if (p == NULL) return;
    const char* const name = "tarn_array_pool_deallocate";
    if (i < pool->blocks.count) tarn_array_misuse("double free", name, p, "the block is free");
    tarn_array_misuse("invalid free", name, p,
                      tarn_array_in_blocks(&pool->blocks, p) ? "not the start of a block"
                                                             : "no block of this pool");
  }
  if (pool->live != NULL) {
    if (TARN_UNLIKELY(!tarn_index_is_live(pool->live, i))) {
      tarn_array_misuse("double free", "tarn_array_pool_deallocate", p,
                        "the block was freed before");
    }
    pool->live[i / 32] ^= (uint32_t)1 << i % 32;
  }
  if (TARN_WATCH && pool->watched != 0) tarn_watch_freed(p, pool->blocks.block_bytes);
  tarn_index_set(pool->indices, pool->index_bytes, (size_t)region->free, i);
  if (TARN_UNLIKELY(++region->free == region->carved)) region->free = region->carved = 0;
}

/* Whether p points into the blocks, live or not. */
static inline int tarn_array_pool_owns(const tarn_array_pool* pool, const void* p) {
  return tarn_array_in_blocks(&pool->blocks, p);
}

static inline size_t tarn_array_pool_capacity(const tarn_array_pool* pool) {
  return pool->blocks.count;
}
static inline size_t tarn_array_pool_in_use(const tarn_array_pool* pool) {
  return (size_t)(pool->region->carved - pool->region->free);
}
/* No block is in use. */
static inline int tarn_array_pool_is_empty(const tarn_array_pool* pool) {
  return pool->region->carved == 0;
}
/* No block is left. */
static inline int tarn_array_pool_is_full(const tarn_array_pool* pool) {
  return tarn_array_pool_in_use(pool) == pool->blocks.count;
}

/* A block's number, the same in all processes; and the block of a number below the capacity. */
static inline size_t tarn_array_pool_index_of(const tarn_array_pool* pool, const void* p) {
  return tarn_array_index_of(&pool->blocks, p);
}
static inline void* tarn_array_pool_at(const tarn_array_pool* pool, size_t i) {
  return tarn_array_block_at(&pool->blocks, i);
}

/* Calls visit for each live block, in address order, until it gives not 0, which is the result. It
 * may free that block and no other, and allocate nothing. O(capacity / 4096 * free blocks). */
static inline int tarn_array_pool_walk(tarn_array_pool* pool,
                                       int (*visit)(void* block, void* context), void* context) {
  tarn_index_window window;
  for (size_t first = 0; first < pool->region->carved; first += TARN_INDEX_WINDOW) {
    if (!tarn_index_mark_free(tarn_array_stack(pool), first, &window)) return 0;
    const size_t left = (size_t)pool->region->carved - first;
    const size_t count = left < TARN_INDEX_WINDOW ? left : TARN_INDEX_WINDOW;
    for (size_t i = 0; i != count; ++i) {
      if (tarn_index_is_free(&window, i)) continue;
      const int result = visit(tarn_array_block_at(&pool->blocks, first + i), context);
      if (result != 0) return result;
    }
  }
  return 0;
}

/* From now on tools that watch (tarn/detail/watch.h) are told of the pool's blocks; free ones are
 * closed. Only for a pool that this process alone uses, through this handle and copies of it that
 * are made afterwards: a tool knows nothing of what others allocate. tarn_watch_end(blocks, bytes)
 * before their memory is used for anything but a pool that is attached there. No block is touched.
 * Nothing, without a tool; else as a walk. */
static inline void tarn_array_pool_watch(tarn_array_pool* pool) {
  if (!TARN_WATCH) return;
  const tarn_array_blocks* const blocks = &pool->blocks;
  const size_t carved = (size_t)pool->region->carved;
  pool->watched = 1;
  tarn_watch_close(tarn_array_block_at(blocks, carved),
                   (blocks->count - carved) * blocks->block_bytes);
  for (size_t at = 0; at != pool->region->free; ++at) {
    const size_t i = tarn_index_get(pool->indices, pool->index_bytes, at);
    tarn_watch_close(tarn_array_block_at(blocks, i), blocks->block_bytes);
  }
}

/* Every invariant; 1 when all hold. As a walk; reads no block. */
static inline int tarn_array_pool_check(const tarn_array_pool* pool) {
  const tarn_array_region* const region = pool->region;
  if (region->magic != TARN_ARRAY_REGION_MAGIC || region->block_count != pool->blocks.count ||
      region->checksum != tarn_array_checksum(&region->version, 5)) {
    return 0;
  }
  return tarn_index_check(tarn_array_stack(pool), pool->blocks.count, pool->live);
}

#ifdef __cplusplus
}
#endif

#endif
#endif
