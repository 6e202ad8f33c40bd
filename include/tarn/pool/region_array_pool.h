/* region_array_pool.h: a pool of blocks of one size over memory that the program provides, in C.
 * (C++: tarn/pool/region_array_pool.hpp.) Blocks and bookkeeping are two ranges. The pool never
 * reads or writes a block, so blocks may lie in device memory, in a mapping that cannot be written,
 * or in a file.
 *
 *   bookkeeping   | header | free, carved | indices[capacity]: 8, 16 or 32 bits | live bits |
 *                            in use = carved - free; the first `free` indices  (exact only)
 *                            are a stack; 0..carved-1 were handed out once
 *   blocks        | block 0 | block 1 | ...
 *
 * The bookkeeping holds no address, so processes that map the ranges anywhere may use one pool in
 * turn, each through a handle of its own. One thread of one process at a time; for several at once
 * see tarn/pool/shared_array_pool.h.
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
  TARN_ARRAY_EXACT = 1u /* Each free checks that the block is live. Takes a bit for each block. */
};

/* The header, with the offset of each field in bytes. */
typedef struct tarn_array_region {
  uint64_t magic;             /*  0: written last by format */
  uint64_t version;           /*  8: and the numbers that never change: */
  uint64_t block_count;       /* 16 */
  uint64_t block_bytes;       /* 24 */
  uint64_t flags;             /* 32 */
  uint64_t bookkeeping_bytes; /* 40 */
  uint64_t checksum;          /* 48: of version .. bookkeeping_bytes */
  uint64_t free;              /* 56: this and the next two are written by every user of the pool. */
  uint64_t carved;            /* 64 */
  uint64_t peak;              /* 72: the largest carved with which all were free again */
} tarn_array_region;

/* A process's handle to a pool. It is valid while both ranges are mapped. */
typedef struct tarn_array_pool {
  tarn_array_region* region;
  unsigned char* indices;
  uint32_t* live; /* The live bits; null if the pool is not exact. */
  unsigned index_bytes;
  unsigned watched; /* 1 after tarn_array_pool_watch. */
  tarn_array_blocks blocks;
} tarn_array_pool;

#define TARN_ARRAY_REGION_MAGIC UINT64_C(0x6e72617461726179)
#define TARN_ARRAY_REGION_VERSION UINT64_C(2)

static inline size_t tarn_array_live_offset(size_t block_count) {
  const size_t end = sizeof(tarn_array_region) + block_count * tarn_index_bytes(block_count);
  return (end + 3) & ~(size_t)3;
}

/* How many bytes of bookkeeping a pool needs. 0 for a pool that cannot be made: one without blocks,
 * with more than 2^32, with blocks of 0 bytes, or with more bytes than can be addressed. */
static inline size_t tarn_array_pool_bytes(size_t block_count, size_t block_bytes, unsigned flags) {
  if (!tarn_array_blocks_fit(block_count, block_bytes)) return 0;
  if ((uint64_t)block_count - 1 > UINT32_MAX || block_count > (size_t)PTRDIFF_MAX / 8) return 0;
  const size_t live = tarn_array_live_offset(block_count);
  return (flags & TARN_ARRAY_EXACT) != 0 ? live + (block_count + 31) / 32 * 4 : live;
}

/* Makes a pool whose blocks are all free. The bookkeeping must be aligned to 8, and may have any
 * contents. O(1): only the header is written. */
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
  region->peak = 0;
  region->magic = TARN_ARRAY_REGION_MAGIC;
  return TARN_ARRAY_OK;
}

/* Makes *pool a handle to a formatted pool whose blocks this process sees at `blocks`. Unless the
 * status is TARN_ARRAY_OK, *pool is as it was. Blocks are aligned as `blocks` and their size are.
 * O(1). */
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
      region->peak > count || region->free > region->carved ||
      (region->free == region->carved && region->carved != 0)) {
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
  tarn_watch_end_closed(blocks, count * block_bytes); /* An earlier pool may have closed them. */
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

/* Takes a block; null when none is free. The block that was freed last comes first, and blocks that
 * were never used come by ascending address. When all blocks are free, they come from the start
 * again. O(1). */
TARN_MUST_USE static inline void* tarn_array_pool_allocate(tarn_array_pool* pool) {
  tarn_array_region* const region = pool->region;
  size_t i;
  if (region->free != 0) {
    i = tarn_index_get(pool->indices, pool->index_bytes, (size_t)--region->free);
  } else if (TARN_LIKELY(region->carved != pool->blocks.count)) {
    i = (size_t)region->carved++;
    if (pool->live != NULL && i % 32 == 0) pool->live[i / 32] = 0; /* It had any contents so far. */
  } else {
    return NULL;
  }
  if (pool->live != NULL) pool->live[i / 32] ^= (uint32_t)1 << i % 32;
  void* const p = tarn_array_block_at(&pool->blocks, i);
  if (TARN_WATCH && pool->watched != 0) tarn_watch_open(p, pool->blocks.block_bytes);
  return p;
}

/* Frees a block; null is ignored. A pointer that is not the start of a block that was handed out is
 * reported as an `invalid free`, and in an exact pool a block that is not live as a `double free`;
 * then the process ends. O(1). */
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
  if (TARN_UNLIKELY(++region->free == region->carved)) {
    if (region->peak < region->carved) region->peak = region->carved;
    region->free = region->carved = 0;
  }
}

/* 1 when p points into the blocks, live or not, else 0. */
static inline int tarn_array_pool_owns(const tarn_array_pool* pool, const void* p) {
  return tarn_array_in_blocks(&pool->blocks, p);
}

static inline size_t tarn_array_pool_capacity(const tarn_array_pool* pool) {
  return pool->blocks.count;
}
static inline size_t tarn_array_pool_in_use(const tarn_array_pool* pool) {
  return (size_t)(pool->region->carved - pool->region->free);
}
/* The most blocks that were in use at a time since the pool was formatted: how many it needs. */
static inline size_t tarn_array_pool_peak(const tarn_array_pool* pool) {
  const tarn_array_region* const region = pool->region;
  return (size_t)(region->peak < region->carved ? region->carved : region->peak);
}
/* 1 when no block is in use, else 0. */
static inline int tarn_array_pool_is_empty(const tarn_array_pool* pool) {
  return pool->region->carved == 0;
}
/* 1 when no block is free, else 0. */
static inline int tarn_array_pool_is_full(const tarn_array_pool* pool) {
  return tarn_array_pool_in_use(pool) == pool->blocks.count;
}

/* The number of a block, which is the same in all processes; and the block of a number, which must
 * be below the capacity. */
static inline size_t tarn_array_pool_index_of(const tarn_array_pool* pool, const void* p) {
  return tarn_array_index_of(&pool->blocks, p);
}
static inline void* tarn_array_pool_at(const tarn_array_pool* pool, size_t i) {
  return tarn_array_block_at(&pool->blocks, i);
}

/* Calls visit for each live block, by address, until it returns something other than 0. Returns
 * what visit returned last; 0 if there was no block. visit may free the block that it is shown and
 * no other, and must not allocate. O(capacity / 4096 * free blocks). */
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

/* Tells tools that watch (tarn/detail/watch.h) of the pool's blocks from now on; free blocks are
 * closed. This is only for a pool that this process alone uses, through this handle and copies made
 * of it afterwards, since a tool does not know what others allocate. Call tarn_watch_end(blocks,
 * bytes) before the memory is used for anything but a pool that is attached there. No block is
 * touched. Does nothing without a tool; otherwise it takes as long as a walk. */
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

/* 1 when every invariant holds, else 0. Takes as long as a walk; reads no block. */
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
