/* compat/smrtheap_walk.h: a part of smrtheap.h: what pools have, all pools in turn, and all blocks
 * of a pool in turn.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_COMPAT_SMRTHEAP_WALK_H
#define TARN_COMPAT_SMRTHEAP_WALK_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../heap/heap.h"
#include "smrtheap_pools.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- What pools have ------------------------------------------------------------------------ */

/* 1 when every invariant of the pool holds; 0 when one does not (a block was written to after it
 * was freed, say), or the pool is null. No other thread may free its blocks meanwhile. */
TARN_SMRTHEAP_INLINE int MemPoolCheck(MEM_POOL pool) {
  if (pool == tarn_mem_main()) return 1; /* Nobody can look at it as a whole. */
  return pool != NULL && tarn_heap_check(pool->heap) == 1;
}

/* Fills in *info. Returns 1; or 0, with *info all zero, for null. */
TARN_SMRTHEAP_INLINE int MemPoolInfo(MEM_POOL pool, MEM_POOL_INFO* info) {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  memset(info, 0, sizeof *info);
  if (pool == NULL || tarn_heap_get_stats(pool->heap, &stats) != 0) return 0;
  info->pool = pool;
  info->flags = pool->flags;
  info->type = MEM_VAR_FIXED_BLOCK;
  if (pool->block_size != 0) info->type |= MEM_FS_BLOCK;
  info->block_size = info->blockSizeFS = pool->block_size;
  info->pageSize = 4096;
  info->count = (size_t)stats.live_blocks;
  info->used = (size_t)stats.live_bytes;
  info->size = (size_t)stats.committed_bytes;
  info->peak = (size_t)stats.committed_bytes_peak;
  info->ceiling = __atomic_load_n(&pool->ceiling, __ATOMIC_RELAXED);
  info->floor = __atomic_load_n(&pool->floor, __ATOMIC_RELAXED);
  info->errorFn = __atomic_load_n(&tarn_mem_all.on_error, __ATOMIC_RELAXED);
  return 1;
}

/* As MemPoolInfo; for a null pool, of the pool of the block at the address. */
TARN_SMRTHEAP_INLINE int tarn_mem_info_at(MEM_POOL pool, const void* address, MEM_POOL_INFO* info) {
  return MemPoolInfo(pool != NULL ? pool : tarn_mem_of_heap(tarn_heap_of(address)), info);
}

/* The pool's committed bytes; 0 for null. */
TARN_SMRTHEAP_INLINE size_t MemPoolSize(MEM_POOL pool) {
  MEM_POOL_INFO info;
  return MemPoolInfo(pool, &info) ? info.size : 0;
}

/* The number of live blocks; 0 for null. */
TARN_SMRTHEAP_INLINE size_t MemPoolCount(MEM_POOL pool) {
  MEM_POOL_INFO info;
  return MemPoolInfo(pool, &info) ? info.count : 0;
}

/* --- All pools ------------------------------------------------------------------------------ */

/* Fill in *info for a first pool, and for the one after info->pool. All pools but MemDefaultPool
 * are shown once, in no particular order; then the result is MEM_POOL_END. It is misuse if another
 * thread frees the pool at that moment. */
TARN_SMRTHEAP_INLINE MEM_POOL_STATUS tarn_mem_info_from(unsigned number, MEM_POOL_INFO* info) {
  for (; number < __atomic_load_n(&tarn_mem_all.used, __ATOMIC_ACQUIRE); ++number) {
    struct tarn_mem_pool* const pool = tarn_mem_place(number);
    if (__atomic_load_n(&pool->state, __ATOMIC_ACQUIRE) != 1) continue;
    return MemPoolInfo(pool, info) ? MEM_POOL_OK : MEM_POOL_CORRUPT;
  }
  memset(info, 0, sizeof *info);
  return MEM_POOL_END;
}
TARN_SMRTHEAP_INLINE MEM_POOL_STATUS MemPoolFirst(MEM_POOL_INFO* info) {
  return tarn_mem_info_from(0, info);
}
TARN_SMRTHEAP_INLINE MEM_POOL_STATUS MemPoolNext(MEM_POOL_INFO* info) {
  if (info->pool == NULL || info->pool == tarn_mem_main()) return MEM_POOL_END;
  return tarn_mem_info_from(info->pool->number + 1, info);
}

/* --- All blocks of a pool ------------------------------------------------------------------- */

/* Calls visit(entry, context) for each live block until that returns a value other than 0, and
 * returns that value; else 0; -1 for a null pool and for MemDefaultPool. The pool is locked
 * meanwhile. The block that is shown may be freed. */
typedef int (*MEM_POOL_VISIT)(const MEM_POOL_ENTRY* entry, void* context);
typedef struct tarn_mem_visited {
  MEM_POOL pool;
  MEM_POOL_VISIT visit;
  void* context;
} tarn_mem_visited;
TARN_SMRTHEAP_INLINE void tarn_mem_show(MEM_POOL pool, void* start, size_t bytes,
                                        MEM_POOL_ENTRY* entry) {
  entry->entry = start;
  entry->pool = pool;
  entry->type =
      bytes - pool->block_size < 16 && pool->block_size != 0 ? MEM_FS_BLOCK : MEM_VAR_FIXED_BLOCK;
  entry->isInUse = 1;
  entry->size = bytes;
}
TARN_SMRTHEAP_INLINE int tarn_mem_visit(const tarn_heap_item* item, void* context) {
  const tarn_mem_visited* const visited = (const tarn_mem_visited*)context;
  MEM_POOL_ENTRY entry;
  if (item->kind == TARN_HEAP_PAGE) return 0;
  tarn_mem_show(visited->pool, item->start, item->bytes, &entry);
  entry.reserved_ptr = NULL;
  return visited->visit(&entry, visited->context);
}
TARN_SMRTHEAP_INLINE int MemPoolVisit(MEM_POOL pool, MEM_POOL_VISIT visit, void* context) {
  tarn_mem_visited visited;
  visited.pool = pool;
  visited.visit = visit;
  visited.context = context;
  return pool == NULL ? -1 : tarn_heap_walk(pool->heap, 0, tarn_mem_visit, &visited);
}

TARN_SMRTHEAP_INLINE int tarn_mem_note(const tarn_heap_item* item, void* context) {
  struct tarn_mem_walked* const walk = (struct tarn_mem_walked*)context;
  if (item->kind == TARN_HEAP_PAGE) return 0;
  if (walk->next == walk->count) return 1; /* As others freed meanwhile, or had not yet. */
  ((void**)(void*)(walk + 1))[walk->next++] = item->start;
  return 0;
}

/* A walk that can begin: with the blocks that are live. Null when there is no memory. pre: the pool
 * is locked */
TARN_SMRTHEAP_INLINE struct tarn_mem_walked* tarn_mem_begin(MEM_POOL pool) {
  const size_t count = MemPoolCount(pool);
  const size_t most = (PTRDIFF_MAX - sizeof(struct tarn_mem_walked)) / sizeof(void*);
  struct tarn_mem_walked* walk = NULL;
  struct tarn_mem_walked** link = &pool->walks;
  unsigned begun = 0;
  if (count > most) return NULL;
  walk = (struct tarn_mem_walked*)tarn_heap_allocate(tarn_heap_main(),
                                                     sizeof *walk + count * sizeof(void*));
  if (walk == NULL) return NULL;
  walk->count = count;
  walk->next = 0;
  tarn_heap_walk(pool->heap, 0, tarn_mem_note, walk);
  walk->count = walk->next;
  walk->next = 0;
  walk->number = ++pool->walks_begun;
  walk->older = pool->walks;
  pool->walks = walk;
  for (; *link != NULL && begun < TARN_MEM_WALKS; ++begun) link = &(*link)->older;
  if (*link != NULL) { /* One too many: nobody ended it. */
    struct tarn_mem_walked* const last = *link;
    *link = NULL;
    tarn_heap_deallocate(last);
  }
  return walk;
}

TARN_SMRTHEAP_INLINE MEM_POOL_STATUS tarn_mem_step(MEM_POOL pool, MEM_POOL_ENTRY* entry) {
  struct tarn_mem_walked** link = &pool->walks;
  struct tarn_mem_walked* walk = NULL;
  if (entry->entry == NULL) {
    walk = tarn_mem_begin(pool);
    if (walk == NULL) return MEM_POOL_NO_MEMORY;
    entry->reserved_ptr = (void*)walk->number;
  }
  while (*link != NULL && (*link)->number != (uintptr_t)entry->reserved_ptr) {
    link = &(*link)->older;
  }
  walk = *link;
  if (walk == NULL) return MEM_POOL_END;
  while (walk->next < walk->count) {
    void* const* const next = (void* const*)(const void*)(walk + 1) + walk->next++;
    if (tarn_heap_look(pool->heap, *next) != TARN_HEAP_LIVE) continue;
    tarn_mem_show(pool, *next, tarn_heap_usable_bytes(*next), entry);
    return MEM_POOL_OK;
  }
  *link = walk->older;
  tarn_heap_deallocate(walk);
  entry->reserved_ptr = NULL;
  return MEM_POOL_END;
}

/* Shows the next block: the first one when entry->entry is null. MEM_POOL_OK, or MEM_POOL_END after
 * the last one. What is shown are the blocks that were live when the walk began and still are; any
 * of them may be freed meanwhile. Until the end the walk has 8 bytes of malloc's heap for each
 * block: MEM_POOL_NO_MEMORY when there is none. Of walks that are not walked to their end the last
 * eight of a pool are kept, until it is freed; an older one ends. Null, and MemDefaultPool:
 * MEM_POOL_END. Constant time, but for the first call and MemCheckPtr's. */
TARN_SMRTHEAP_INLINE MEM_POOL_STATUS MemPoolWalk(MEM_POOL pool, MEM_POOL_ENTRY* entry) {
  MEM_POOL_STATUS status = MEM_POOL_END;
  if (pool == NULL || tarn_heap_lock(pool->heap) != 0) return MEM_POOL_END;
  status = tarn_mem_step(pool, entry);
  tarn_heap_unlock(pool->heap);
  return status;
}

#ifdef __cplusplus
}

/* As in the product: with an address, and with whether the pools of all tasks are meant. */
inline int MemPoolInfo(MEM_POOL pool, const void* address, MEM_POOL_INFO* info) {
  return tarn_mem_info_at(pool, address, info);
}
inline MEM_POOL_STATUS MemPoolFirst(MEM_POOL_INFO* info, MEM_BOOL) { return MemPoolFirst(info); }
inline MEM_POOL_STATUS MemPoolNext(MEM_POOL_INFO* info, MEM_BOOL) { return MemPoolNext(info); }
#else
/* MemPoolInfo(pool, address, info), MemPoolFirst(info, all) and MemPoolNext(info, all), too, as in
 * the product. */
#define TARN_MEM_ONE(a, ...) a
#define TARN_MEM_FOURTH(a, b, c, d, ...) d
#define MemPoolInfo(...) TARN_MEM_FOURTH(__VA_ARGS__, tarn_mem_info_at, MemPoolInfo, 0)(__VA_ARGS__)
#define MemPoolFirst(...) MemPoolFirst(TARN_MEM_ONE(__VA_ARGS__, 0))
#define MemPoolNext(...) MemPoolNext(TARN_MEM_ONE(__VA_ARGS__, 0))
#endif

#endif
#endif
