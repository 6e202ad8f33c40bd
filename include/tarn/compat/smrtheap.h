/* compat/smrtheap.h: memory pools under the names of A. Applegate's "Rethinking Memory Management"
 * (Dr. Dobb's, June 1994; SmartHeap), in C and C++, over tarn/heap/heap.h. A pool is a heap of
 * tarn's for blocks of any size and of one size, and ends with all of them at once. (smrtheap.hpp
 * has `new (pool)` for C++, smrtheap.c makes functions of the names.) The library exports none of
 * them: a program compiles with this folder among its include paths, and links with -ltarn_new
 * -ltarn_plain -pthread (in C without the first), or with -ltarn, tarn's malloc. docs/smrtheap.md
 * says what differs.
 *
 * Any thread may use a pool, even without MEM_SERIALIZE. Sizes are in bytes. Functions that return
 * an int return 1, or 0 when they fail; they fail for a null pool. Using a pool after it was freed
 * is reported ("tarn: use after destroy: ...") and ends the process, as long as it is one of the
 * last 64 that were freed. Allocations take constant time.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_COMPAT_SMRTHEAP_H
#define TARN_COMPAT_SMRTHEAP_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "../heap/heap.h"
#include "smrtheap_pools.h"
#include "smrtheap_walk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The pool over malloc's heap of tarn's, from which new is served too where tarn has it. It counts
 * and shows what all of that heap has; it cannot be freed, locked, walked or limited, and has no
 * blocks of one size. MemCheckPtr says of free places of it, too, that they are all right. */
#define MemDefaultPool (tarn_mem_main())
#define MEM_DEFAULT_POOL MemDefaultPool

/* Sizes are never this: the functions return 0 when they fail. */
#define MEM_ERROR_RET ((size_t)-1)

/* Sets the error handler for all pools; null for none. Returns the one before. */
TARN_SMRTHEAP_INLINE MEM_ERROR_FN MemSetErrorHandler(MEM_ERROR_FN handler) {
  return __atomic_exchange_n(&tarn_mem_all.on_error, handler, __ATOMIC_ACQ_REL);
}

/* An error handler that makes no room. */
TARN_SMRTHEAP_INLINE MEM_BOOL MemDefaultErrorHandler(MEM_ERROR_INFO* info) {
  (void)info;
  return 0;
}

/* Whether the pool's ceiling or region has no room for so many bytes more than it has committed. */
TARN_SMRTHEAP_INLINE int tarn_mem_is_beyond(MEM_POOL pool, size_t committed, size_t bytes) {
  const size_t ceiling = __atomic_load_n(&pool->ceiling, __ATOMIC_RELAXED);
  const size_t region = pool->region_bytes;
  if (ceiling != 0 && (committed > ceiling || bytes > ceiling - committed)) return 1;
  return region != 0 && (committed > region || bytes > region - committed);
}

/* Calls the error handler. Not 0: what failed is to be tried again. */
TARN_SMRTHEAP_INLINE int tarn_mem_retry(MEM_POOL pool, size_t size) {
  const MEM_ERROR_FN handler = __atomic_load_n(&tarn_mem_all.on_error, __ATOMIC_ACQUIRE);
  tarn_heap_stats stats = TARN_HEAP_STATS();
  MEM_ERROR_INFO info;
  if (handler == NULL) return 0;
  info.errorCode = MEM_OUT_OF_MEMORY;
  if (pool != NULL && tarn_heap_get_stats(pool->heap, &stats) == 0 &&
      tarn_mem_is_beyond(pool, (size_t)stats.committed_bytes, size)) {
    info.errorCode = MEM_EXCEEDED_CEILING;
  }
  info.pool = pool;
  info.size = info.argSize = size;
  return handler(&info) != 0;
}

/* A task begins, or ends, to use the library: nothing needs to be done for that. Return 1. */
TARN_SMRTHEAP_INLINE int MemRegisterTask(void) { return 1; }
TARN_SMRTHEAP_INLINE int MemUnregisterTask(void) { return 1; }

/* --- Pools ---------------------------------------------------------------------------------- */

TARN_SMRTHEAP_INLINE MEM_POOL tarn_mem_make(void* region, size_t region_bytes, size_t block_size,
                                            unsigned flags) {
  const size_t low_bit = block_size & (~block_size + 1);
  struct tarn_mem_pool* const pool = tarn_mem_take_place();
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  tarn_heap heap;
  if (pool == NULL) return NULL;
  __atomic_store_n(&pool->state, 2U, __ATOMIC_RELAXED);
  options.name = "MemPool";
  options.context = pool;
  options.region = region;
  options.region_bytes = region_bytes;
  /* Atomic, as MemPoolFirst looks at all pools. */
  heap = tarn_heap_create(&options);
  __atomic_store_n(&pool->heap.record, heap.record, __ATOMIC_RELAXED);
  __atomic_store_n(&pool->heap.id, heap.id, __ATOMIC_RELAXED);
  pool->fixed.record = NULL;
  if (heap.record != NULL && block_size != 0) {
    pool->fixed = tarn_heap_fixed(heap, block_size, low_bit > 16 ? 16 : low_bit);
    if (pool->fixed.record == NULL) {
      tarn_heap_destroy(heap);
      heap.record = NULL;
    }
  }
  pool->block_size = block_size;
  pool->ceiling = pool->floor = 0;
  pool->region_bytes = region == NULL ? 0 : region_bytes;
  pool->flags = flags | (region == NULL ? 0 : (unsigned)MEM_POOL_REGION);
  pool->walks = NULL;
  pool->walks_begun = 0;
  pool->objects = NULL;
  pool->end_objects = NULL;
  __atomic_store_n(&pool->state, heap.record != NULL ? 1U : 0U, __ATOMIC_RELEASE);
  if (heap.record != NULL) return pool;
  tarn_mem_give_place(pool);
  return NULL;
}

/* Makes a pool for blocks of any size. flags: MEM_SERIALIZE, MEM_ZEROINIT. Null when there is no
 * memory. Constant time, however many pools there are. */
TARN_SMRTHEAP_INLINE MEM_POOL MemPoolInit(unsigned flags) {
  return tarn_mem_make(NULL, 0, 0, flags);
}

/* Makes a pool whose blocks all lie in the program's memory, which must outlive the pool. Null for
 * null, for less than 32 KiB, and when there is no memory for the pool itself. */
TARN_SMRTHEAP_INLINE MEM_POOL MemPoolInitRegion(void* address, size_t size, unsigned flags) {
  return address == NULL ? NULL : tarn_mem_make(address, size, 0, flags);
}

TARN_SMRTHEAP_INLINE int tarn_mem_end(struct tarn_mem_pool* pool) {
  struct tarn_mem_walked* walk = NULL;
  if (pool == tarn_mem_main()) return 0;
  /* From here on it is not in use, even in the child of a fork at this moment. */
  __atomic_store_n(&pool->state, 3U, __ATOMIC_RELAXED);
  if (tarn_heap_destroy(pool->heap) != 0) {
    __atomic_store_n(&pool->state, 1U, __ATOMIC_RELEASE);
    return 0;
  }
  while ((walk = pool->walks) != NULL) {
    pool->walks = walk->older;
    tarn_heap_deallocate(walk);
  }
  __atomic_store_n(&pool->state, 0U, __ATOMIC_RELEASE);
  tarn_mem_rest_place(pool);
  return 1;
}

/* Sets the floor of a pool: once it has `size` bytes of memory it keeps them, since empty pages
 * below that are not given back. 0: none. */
TARN_SMRTHEAP_INLINE int MemPoolSetFloor(MEM_POOL pool, size_t size) {
  if (pool == NULL || tarn_heap_set_floor(pool->heap, size) != 0) return 0;
  __atomic_store_n(&pool->floor, size, __ATOMIC_RELAXED);
  return 1;
}

TARN_SMRTHEAP_INLINE int tarn_mem_raise_floor(MEM_POOL pool, size_t size) {
  return size <= __atomic_load_n(&pool->floor, __ATOMIC_RELAXED) || MemPoolSetFloor(pool, size);
}

/* Sets the ceiling of a pool: its committed memory never exceeds `size`. 0: none. */
TARN_SMRTHEAP_INLINE int MemPoolSetCeiling(MEM_POOL pool, size_t size) {
  if (pool == NULL || tarn_heap_set_ceiling(pool->heap, size) != 0) return 0;
  __atomic_store_n(&pool->ceiling, size, __ATOMIC_RELAXED);
  return 1;
}

/* As MemPoolInit, with blocks of `block_size` bytes for MemAllocFS, from 1 byte to 128 KiB. They
 * have no header and are aligned as their size allows, to 16 at most. `count`, how many there will
 * be, is a hint. */
TARN_SMRTHEAP_INLINE MEM_POOL MemPoolInitFS(size_t block_size, size_t count, unsigned flags) {
  (void)count;
  return block_size == 0 ? NULL : tarn_mem_make(NULL, 0, block_size, flags);
}

/* Ends the pool with all its blocks, of either kind, without looking at any. Fails, and nothing has
 * changed, when a visitor of a walk through the pool calls it. */
TARN_SMRTHEAP_INLINE int MemPoolFree(MEM_POOL pool) {
  if (pool == NULL) return 0;
  if (pool->end_objects != NULL) {
    if (tarn_heap_thaw(pool->heap) != 0) return 0; /* In a walk: it cannot be ended. */
    pool->end_objects(pool);
  }
  return tarn_mem_end(pool);
}

/* Gives empty memory back, down to the floor. Returns the bytes given. */
TARN_SMRTHEAP_INLINE size_t MemPoolShrink(MEM_POOL pool) {
  return pool == NULL ? 0 : tarn_heap_trim(pool->heap, 0);
}

/* From lock to unlock the pool is the calling thread's alone. Locks nest. */
TARN_SMRTHEAP_INLINE int MemPoolLock(MEM_POOL pool) {
  return pool != NULL && tarn_heap_lock(pool->heap) == 0;
}
TARN_SMRTHEAP_INLINE int MemPoolUnlock(MEM_POOL pool) {
  return pool != NULL && tarn_heap_unlock(pool->heap) == 0;
}

/* --- Blocks --------------------------------------------------------------------------------- */

/* A block of at least `size` bytes, aligned to 16; for 0 bytes one that may only be freed. flags:
 * MEM_ZEROINIT. When the pool is at its ceiling or there is no memory, the error handler is called;
 * null if that makes no room, and for a null pool. */
TARN_SMRTHEAP_INLINE void* MemAllocPtr(MEM_POOL pool, size_t size, unsigned flags) {
  void* p = NULL;
  if (pool == NULL) return NULL;
  do {
    p = tarn_heap_allocate(pool->heap, size);
  } while (p == NULL && tarn_mem_retry(pool, size));
  if (p != NULL && ((flags | pool->flags) & MEM_ZEROINIT) != 0) {
    memset(p, 0, tarn_heap_usable_bytes(p)); /* All of it: resizing may use the rest. */
  }
  return p;
}

/* One of the pool's blocks of one size, as MemAllocPtr. Null also when the pool has no such
 * blocks. */
TARN_SMRTHEAP_INLINE void* MemAllocFS(MEM_POOL pool) {
  void* p = NULL;
  if (pool == NULL || pool->fixed.record == NULL) return NULL;
  do {
    p = tarn_fixed_allocate(pool->fixed);
  } while (p == NULL && tarn_mem_retry(pool, pool->block_size));
  if (p != NULL && (pool->flags & MEM_ZEROINIT) != 0) memset(p, 0, tarn_heap_usable_bytes(p));
  return p;
}

/* Frees a block of any pool. Null is ignored, and returns 0. What is no block is reported and ends
 * the process. */
TARN_SMRTHEAP_INLINE int MemFreePtr(void* mem) {
  tarn_heap_deallocate(mem);
  return mem != NULL;
}
TARN_SMRTHEAP_INLINE int MemFreeFS(void* mem) { return MemFreePtr(mem); }

/* How many bytes of a block of any pool may be used: at least what was asked for; 0 for null. */
TARN_SMRTHEAP_INLINE size_t MemSizePtr(void* mem) { return tarn_heap_usable_bytes(mem); }

/* The pool of a live block; MemDefaultPool for one of malloc's heap; null when it is in no pool.
 * Constant time. */
TARN_SMRTHEAP_INLINE MEM_POOL MemPoolOfPtr(const void* mem) {
  return tarn_mem_of_heap(tarn_heap_of(mem));
}

/* Resizes a block in its pool, moving it if need be. flags: MEM_ZEROINIT, MEM_RESIZE_IN_PLACE. When
 * there is no memory the error handler is called; if that makes no room the result is null, and the
 * block is as it was. Null for null. */
TARN_SMRTHEAP_INLINE void* MemReAllocPtr(void* mem, size_t size, unsigned flags) {
  const size_t before = tarn_heap_usable_bytes(mem);
  const tarn_heap heap = tarn_heap_of(mem);
  const MEM_POOL pool = tarn_mem_of_heap(heap);
  void* p = NULL;
  if (mem == NULL) return NULL;
  if (size == 0) size = 1;
  if (pool != NULL) flags |= pool->flags & MEM_ZEROINIT;
  if ((flags & MEM_RESIZE_IN_PLACE) != 0) {
    p = size <= before || tarn_heap_try_expand(mem, size) ? mem : NULL;
  } else {
    do {
      p = tarn_heap_reallocate(heap, mem, size);
    } while (p == NULL && tarn_mem_retry(pool, size));
  }
  if (p != NULL && (flags & MEM_ZEROINIT) != 0) {
    const size_t kept = size < before ? size : before; /* The rest, for further resizes. */
    memset((char*)p + kept, 0, tarn_heap_usable_bytes(p) - kept);
  }
  return p;
}

/* What any pointer is to the pool. Time linear in the free blocks of one page. */
TARN_SMRTHEAP_INLINE MEM_POINTER_STATUS MemCheckPtr(MEM_POOL pool, const void* mem) {
  int state = TARN_HEAP_NOTHING;
  if (pool == tarn_mem_main()) {
    return tarn_heap_owns(pool->heap, mem) ? MEM_POINTER_OK : MEM_POINTER_WILD;
  }
  if (pool != NULL) state = tarn_heap_look(pool->heap, mem);
  if (state == TARN_HEAP_LIVE) return MEM_POINTER_OK;
  return state == TARN_HEAP_FREE ? MEM_POINTER_FREE : MEM_POINTER_WILD;
}

/* Blocks of this size take a pool's memory: its own ones, or such as fill pages of the system. */
TARN_SMRTHEAP_INLINE size_t tarn_mem_taken_bytes(MEM_POOL pool) {
  return pool->block_size != 0 ? pool->block_size : 4096;
}

/* Allocates blocks of that size, up to `count`, and frees them. Returns how many there were. Their
 * pages, with live blocks and other bytes in them, are below the floor then. */
TARN_SMRTHEAP_INLINE size_t tarn_mem_take_blocks(MEM_POOL pool, size_t count) {
  void* first = NULL;
  size_t taken = 0;
  for (; taken != count; ++taken) {
    void* const p = pool->block_size != 0
                        ? tarn_fixed_allocate(pool->fixed)
                        : tarn_heap_allocate(pool->heap, tarn_mem_taken_bytes(pool));
    if (p == NULL) break;
    memcpy(p, &first, sizeof first); /* A block has at least 8 bytes. */
    first = p;
  }
  if (taken == count && count != 0 && !tarn_mem_raise_floor(pool, MemPoolSize(pool))) taken = 0;
  while (first != NULL) {
    void* const p = first;
    memcpy(&first, p, sizeof first);
    tarn_heap_deallocate(p);
  }
  return taken;
}

/* Whether the system may have so many bytes: not more than its memory and swap together, and no
 * more than it promises now. Takes none. */
TARN_SMRTHEAP_INLINE int tarn_mem_may_have(size_t bytes) {
  struct sysinfo machine;
  void* promised = NULL;
  if (sysinfo(&machine) == 0 &&
      bytes / machine.mem_unit > (size_t)machine.totalram + machine.totalswap) {
    return 0;
  }
  promised = tarn_heap_allocate(tarn_heap_main(), bytes);
  tarn_heap_deallocate(promised);
  return promised != NULL;
}

/* Takes memory now for `size` bytes of the pool's blocks of one size, so that the calling thread
 * needs none for these later; in a pool without such blocks for `size` bytes of any. The pool's
 * floor rises by it, so the memory stays the pool's, with what it has already. Returns `size`; or
 * 0, with nothing changed, when there is not that much memory. Where the ceiling, the region or the
 * system has not enough for what the pool lacks, that is said at once, and no memory is touched. */
TARN_SMRTHEAP_INLINE size_t MemPoolPreAllocate(MEM_POOL pool, size_t size) {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  size_t had = 0;
  size_t lacks = 0;
  size_t count = 0;
  if (pool == NULL || pool == tarn_mem_main() || size > PTRDIFF_MAX) return 0;
  if (tarn_heap_get_stats(pool->heap, &stats) != 0) return 0;
  had = (size_t)stats.committed_bytes;
  lacks = had - (size_t)stats.live_bytes; /* Free, so far. */
  lacks = size > lacks ? size - lacks : 0;
  if (tarn_mem_is_beyond(pool, had, lacks)) return 0;
  if (pool->region_bytes == 0 && lacks >= (size_t)1 << 20 && !tarn_mem_may_have(lacks)) return 0;
  count = size / tarn_mem_taken_bytes(pool) + (size % tarn_mem_taken_bytes(pool) != 0);
  if (tarn_mem_take_blocks(pool, count) != count) {
    tarn_heap_trim(pool->heap, had);
    return 0;
  }
  return tarn_mem_raise_floor(pool, size) ? size : 0;
}

#ifdef __cplusplus
}

/* As in the product, with a type of blocks, which is not looked at. */
inline size_t MemPoolPreAllocate(MEM_POOL pool, size_t size, unsigned) {
  return MemPoolPreAllocate(pool, size);
}
#else
/* MemPoolPreAllocate(pool, size, type), too, as in the product. The type is not looked at. */
#define TARN_MEM_TWO(a, b, ...) a, b
#define MemPoolPreAllocate(...) MemPoolPreAllocate(TARN_MEM_TWO(__VA_ARGS__, 0))
#endif

#endif
#endif
