/* compat/smrtheap.h: memory pools under the names of A. Applegate's "Rethinking Memory Management"
 * (Dr. Dobb's, June 1994; SmartHeap), in C and C++17, over tarn/heap/heap.h. A pool is a heap of
 * tarn's for blocks of any size and of one size, and ends with all of them at once. (smrtheap.hpp
 * has `new (pool)` for C++.) The library exports none of the names: a program compiles with this
 * folder among its include paths, and links with -ltarn_new -ltarn_plain -pthread (in C without the
 * first), or with -ltarn, tarn's malloc. docs/smrtheap.md says what differs.
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

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../heap/heap.h"

#ifdef __cplusplus
#define TARN_SMRTHEAP_INLINE inline
extern "C" {
#else
#define TARN_SMRTHEAP_INLINE static inline
#endif

typedef struct tarn_mem_pool* MEM_POOL;

enum {
  MEM_SERIALIZE = 1, /* For a pool: several threads use it. (They may in any case.) */
  /* For a block: it is zero. If it is resized with this flag too, so is what it gains. For a pool:
   * both hold for all its blocks. (Resizing then looks for the pool: linear in the pools.) */
  MEM_ZEROINIT = 2,
  MEM_RESIZE_IN_PLACE = 4, /* For a resize: null, and nothing changes, if the block would move. */
  MEM_POOL_REGION = 8,     /* In MEM_POOL_INFO: the pool lies in memory that the program gave. */
  MEM_POOL_DEFAULT = 0,    /* None of them. */
  MEM_POOL_SERIALIZE = MEM_SERIALIZE,
  MEM_POOL_ZEROINIT = MEM_ZEROINIT
};

/* As a truth value: whether the pointer may be used. */
typedef enum MEM_POINTER_STATUS {
  MEM_POINTER_FREE = -1, /* A block of the pool that is freed, or not handed out yet. */
  MEM_POINTER_WILD = 0,  /* Not the pool's, or inside a block. */
  MEM_POINTER_OK = 1     /* The start of a live block of the pool. */
} MEM_POINTER_STATUS;

/* What a pool is and has. */
typedef struct MEM_POOL_INFO {
  MEM_POOL pool;
  unsigned flags;    /* Those that it was made with, and MEM_POOL_REGION. */
  size_t block_size; /* The size of its blocks of one size. 0: it has none. */
  size_t count;      /* The number of live blocks. */
  size_t used;       /* The bytes of these blocks. */
  size_t size;       /* The bytes that the pool has committed. */
  size_t peak;       /* The largest `size` so far. */
  size_t ceiling;    /* Set by MemPoolSetCeiling. 0: none. */
  size_t floor;      /* Set by MemPoolSetFloor. 0: none. */
} MEM_POOL_INFO;

/* A block, as MemPoolWalk shows it. */
typedef struct MEM_POOL_ENTRY {
  void* entry;
  size_t size; /* Usable bytes. */
} MEM_POOL_ENTRY;

/* What failed, for the error handler: an allocation of `size` bytes from the pool. When the handler
 * has made room it returns a value other than 0, and the allocation is tried again. After 0 it
 * returns null. The handler may use any pool. */
typedef struct MEM_ERROR_INFO {
  MEM_POOL pool;
  size_t size;
} MEM_ERROR_INFO;
typedef int (*MEM_ERROR_FN)(const MEM_ERROR_INFO* info);

/* The fields are this header's. The place of a pool is never given back, so that its heap can
 * report a use after its end. It serves another pool when 64 others have been freed since. */
struct tarn_mem_pool {
  tarn_heap heap;
  tarn_fixed fixed;
  size_t block_size;
  size_t ceiling; /* As set last. Atomic. */
  size_t floor;   /* As set last. Atomic. */
  unsigned flags;
  unsigned state;         /* 0: free, 1: in use, 2: being made, 3: ending. Atomic. */
  unsigned long freed_at; /* How many pools had been freed when this one was. Atomic. */
  struct tarn_mem_pool* next;
  void* objects; /* C++: the youngest of the objects that the pool destroys. */
  /* C++: destroys them. */
  void (*end_objects)(struct tarn_mem_pool* pool);
};

/* Places for pools, used and not, in one large block. No block begins inside it, so freeing a pool
 * by mistake is noticed. Pages that are not used are not touched. */
enum { TARN_MEM_PLACES = 128 * 1024 / sizeof(struct tarn_mem_pool) + 1 };
struct tarn_mem_places {
  struct tarn_mem_places* older;
  unsigned long used; /* Atomic. It may count beyond the last place. */
  struct tarn_mem_pool pools[TARN_MEM_PLACES];
};

/* The state of the process. It is weak, so that all files that include this header share one. */
typedef struct tarn_mem_process {
  struct tarn_mem_pool* pools; /* The list only grows. */
  unsigned long freed;         /* How many pools have been freed. Atomic. */
  MEM_ERROR_FN on_error;
  int has_zeroed; /* There was a pool with MEM_ZEROINIT. */
  struct tarn_mem_places* places;
} tarn_mem_process;
__attribute__((weak, visibility("default"))) tarn_mem_process tarn_mem_all = {0, 0, 0, 0, 0};

/* Sets the error handler for all pools; null for none. Returns the one before. */
TARN_SMRTHEAP_INLINE MEM_ERROR_FN MemSetErrorHandler(MEM_ERROR_FN handler) {
  return __atomic_exchange_n(&tarn_mem_all.on_error, handler, __ATOMIC_ACQ_REL);
}

/* Calls the error handler. Not 0: what failed is to be tried again. */
TARN_SMRTHEAP_INLINE int tarn_mem_retry(MEM_POOL pool, size_t size) {
  const MEM_ERROR_FN handler = __atomic_load_n(&tarn_mem_all.on_error, __ATOMIC_ACQUIRE);
  MEM_ERROR_INFO info;
  info.pool = pool;
  info.size = size;
  return handler != NULL && handler(&info) != 0;
}

/* A task begins, or ends, to use the library: nothing needs to be done for that. Return 1. */
TARN_SMRTHEAP_INLINE int MemRegisterTask(void) { return 1; }
TARN_SMRTHEAP_INLINE int MemUnregisterTask(void) { return 1; }

/* --- Pools ---------------------------------------------------------------------------------- */

/* Whether 64 other pools have been freed since this one, by the count `freed` (which may be an
 * older one). */
TARN_SMRTHEAP_INLINE int tarn_mem_is_old(const struct tarn_mem_pool* p, unsigned long freed) {
  return (long)(freed - __atomic_load_n(&p->freed_at, __ATOMIC_RELAXED)) >= 64;
}

/* A place that was never used. Null when there is no memory. */
TARN_SMRTHEAP_INLINE struct tarn_mem_pool* tarn_mem_new_place(void) {
  struct tarn_mem_places* now = __atomic_load_n(&tarn_mem_all.places, __ATOMIC_ACQUIRE);
  for (;;) {
    struct tarn_mem_places* more = NULL;
    if (now != NULL) {
      const unsigned long i = __atomic_fetch_add(&now->used, 1, __ATOMIC_RELAXED);
      if (i < (unsigned long)TARN_MEM_PLACES) return &now->pools[i];
    }
    more = (struct tarn_mem_places*)tarn_heap_allocate_zeroed(tarn_heap_main(), 1, sizeof *more);
    if (more == NULL) return NULL;
    more->older = now;
    /* Release: partner of the acquiring loads. */
    if (__atomic_compare_exchange_n(&tarn_mem_all.places, &now, more, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      now = more;
    } else {
      tarn_heap_deallocate(more);
    }
  }
}

/* The place of a pool that was freed long ago, or a new one. Null when there is no memory. */
TARN_SMRTHEAP_INLINE struct tarn_mem_pool* tarn_mem_take_place(void) {
  const unsigned long freed = __atomic_load_n(&tarn_mem_all.freed, __ATOMIC_RELAXED);
  struct tarn_mem_pool* p = __atomic_load_n(&tarn_mem_all.pools, __ATOMIC_ACQUIRE);
  for (; p != NULL; p = p->next) {
    unsigned is_free = 0;
    if (!tarn_mem_is_old(p, freed)) continue;
    if (!__atomic_compare_exchange_n(&p->state, &is_free, 2U, 0, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED)) {
      continue;
    }
    if (tarn_mem_is_old(p, freed)) return p; /* Else it was freed after the first look. */
    __atomic_store_n(&p->state, 0U, __ATOMIC_RELEASE);
  }
  p = tarn_mem_new_place();
  if (p == NULL) return NULL;
  p->state = 2;
  p->next = __atomic_load_n(&tarn_mem_all.pools, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&tarn_mem_all.pools, &p->next, p, 1, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED)) {
  }
  return p;
}

TARN_SMRTHEAP_INLINE MEM_POOL tarn_mem_make(void* region, size_t region_bytes, unsigned flags) {
  struct tarn_mem_pool* const pool = tarn_mem_take_place();
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  tarn_heap heap;
  if (pool == NULL) return NULL;
  if ((flags & MEM_ZEROINIT) != 0) {
    __atomic_store_n(&tarn_mem_all.has_zeroed, 1, __ATOMIC_RELAXED);
  }
  options.name = "MemPool";
  options.region = region;
  options.region_bytes = region_bytes;
  /* Atomic, as MemPoolOfPtr looks at all pools. */
  heap = tarn_heap_create(&options);
  __atomic_store_n(&pool->heap.record, heap.record, __ATOMIC_RELAXED);
  __atomic_store_n(&pool->heap.id, heap.id, __ATOMIC_RELAXED);
  pool->fixed.record = NULL;
  pool->block_size = pool->ceiling = pool->floor = 0;
  pool->flags = flags | (region == NULL ? 0 : (unsigned)MEM_POOL_REGION);
  pool->objects = NULL;
  pool->end_objects = NULL;
  if (pool->heap.record == NULL) { /* No handle exists: it may serve at once. */
    __atomic_store_n(&pool->freed_at, __atomic_load_n(&tarn_mem_all.freed, __ATOMIC_RELAXED) - 64,
                     __ATOMIC_RELAXED);
  }
  __atomic_store_n(&pool->state, pool->heap.record != NULL ? 1U : 0U, __ATOMIC_RELEASE);
  return pool->heap.record != NULL ? pool : NULL;
}

/* Makes a pool for blocks of any size. flags: MEM_SERIALIZE, MEM_ZEROINIT. Null when there is no
 * memory. */
TARN_SMRTHEAP_INLINE MEM_POOL MemPoolInit(unsigned flags) { return tarn_mem_make(NULL, 0, flags); }

/* Makes a pool whose blocks all lie in the program's memory, which must outlive the pool. Null for
 * null, for less than 32 KiB, and when there is no memory for the pool itself. */
TARN_SMRTHEAP_INLINE MEM_POOL MemPoolInitRegion(void* address, size_t size, unsigned flags) {
  return address == NULL ? NULL : tarn_mem_make(address, size, flags);
}

TARN_SMRTHEAP_INLINE int tarn_mem_end(struct tarn_mem_pool* pool) {
  /* From here on it is not in use, even in the child of a fork at this moment. */
  __atomic_store_n(&pool->state, 3U, __ATOMIC_RELAXED);
  if (tarn_heap_destroy(pool->heap) != 0) {
    __atomic_store_n(&pool->state, 1U, __ATOMIC_RELEASE);
    return 0;
  }
  __atomic_store_n(&pool->freed_at, __atomic_add_fetch(&tarn_mem_all.freed, 1, __ATOMIC_RELAXED),
                   __ATOMIC_RELAXED);
  /* Release: partner of the exchange in tarn_mem_take_place. */
  __atomic_store_n(&pool->state, 0U, __ATOMIC_RELEASE);
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
  const size_t low_bit = block_size & (~block_size + 1);
  const MEM_POOL pool = block_size == 0 ? NULL : tarn_mem_make(NULL, 0, flags);
  (void)count;
  if (pool == NULL) return NULL;
  pool->fixed = tarn_heap_fixed(pool->heap, block_size, low_bit > 16 ? 16 : low_bit);
  pool->block_size = block_size;
  if (pool->fixed.record != NULL) return pool;
  tarn_mem_end(pool);
  return NULL;
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

/* The pool of a live block; null when it is in no pool. Time linear in the pools. */
TARN_SMRTHEAP_INLINE MEM_POOL MemPoolOfPtr(const void* mem) {
  const tarn_heap heap = tarn_heap_of(mem);
  struct tarn_mem_pool* p = __atomic_load_n(&tarn_mem_all.pools, __ATOMIC_ACQUIRE);
  for (; p != NULL; p = p->next) {
    if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != 1) continue;
    if (__atomic_load_n(&p->heap.record, __ATOMIC_RELAXED) == heap.record &&
        __atomic_load_n(&p->heap.id, __ATOMIC_RELAXED) == heap.id) {
      return p;
    }
  }
  return NULL;
}

/* Resizes a block in its pool, moving it if need be. flags: MEM_ZEROINIT, MEM_RESIZE_IN_PLACE. When
 * there is no memory the error handler is called; if that makes no room the result is null, and the
 * block is as it was. Null for null. */
TARN_SMRTHEAP_INLINE void* MemReAllocPtr(void* mem, size_t size, unsigned flags) {
  const size_t before = tarn_heap_usable_bytes(mem);
  const tarn_heap heap = tarn_heap_of(mem);
  void* p = NULL;
  if (mem == NULL) return NULL;
  if (size == 0) size = 1;
  if (__atomic_load_n(&tarn_mem_all.has_zeroed, __ATOMIC_RELAXED) != 0) {
    const MEM_POOL pool = MemPoolOfPtr(mem);
    if (pool != NULL) flags |= pool->flags & MEM_ZEROINIT;
  }
  if ((flags & MEM_RESIZE_IN_PLACE) != 0) {
    p = size <= before || tarn_heap_try_expand(mem, size) ? mem : NULL;
  } else {
    do {
      p = tarn_heap_reallocate(heap, mem, size);
    } while (p == NULL && tarn_mem_retry(MemPoolOfPtr(mem), size));
  }
  if (p != NULL && (flags & MEM_ZEROINIT) != 0) {
    const size_t kept = size < before ? size : before; /* The rest, for further resizes. */
    memset((char*)p + kept, 0, tarn_heap_usable_bytes(p) - kept);
  }
  return p;
}

/* What any pointer is to the pool. Time linear in the free blocks of one page. */
TARN_SMRTHEAP_INLINE MEM_POINTER_STATUS MemCheckPtr(MEM_POOL pool, const void* mem) {
  const int state = pool == NULL ? TARN_HEAP_NOTHING : tarn_heap_look(pool->heap, mem);
  if (state == TARN_HEAP_LIVE) return MEM_POINTER_OK;
  return state == TARN_HEAP_FREE ? MEM_POINTER_FREE : MEM_POINTER_WILD;
}

/* The pool's committed bytes; 0 for null. */
TARN_SMRTHEAP_INLINE size_t MemPoolSize(MEM_POOL pool) {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  if (pool == NULL || tarn_heap_get_stats(pool->heap, &stats) != 0) return 0;
  return (size_t)stats.committed_bytes;
}

/* Takes memory now for `size` bytes of the pool's blocks of one size, so that these need none
 * later. The pool's floor rises by it, so the memory stays the pool's, with what it has already. In
 * a pool without such blocks only the floor rises. Returns 0 when there is not that much memory:
 * then only the floor has changed. */
TARN_SMRTHEAP_INLINE int MemPoolPreAllocate(MEM_POOL pool, size_t size) {
  void* first = NULL;
  size_t left = 0;
  int done = 1;
  if (pool == NULL) return 0;
  if (!tarn_mem_raise_floor(pool, size)) return 0;
  if (pool->block_size == 0) return 1;
  for (left = size / pool->block_size; left != 0; --left) {
    void* const p = tarn_fixed_allocate(pool->fixed);
    if (p == NULL) break;
    memcpy(p, &first, sizeof first); /* A block has at least 8 bytes. */
    first = p;
  }
  if (left != 0) {
    done = 0;
  } else if (first != NULL) { /* The pages' other bytes and live blocks too. */
    done = tarn_mem_raise_floor(pool, MemPoolSize(pool));
  }
  while (first != NULL) {
    void* const p = first;
    memcpy(&first, p, sizeof first);
    tarn_heap_deallocate(p);
  }
  return done;
}

/* --- What pools have ------------------------------------------------------------------------ */

/* 1 when every invariant of the pool holds; 0 when one does not (a block was written to after it
 * was freed, say), or the pool is null. No other thread may free its blocks meanwhile. */
TARN_SMRTHEAP_INLINE int MemPoolCheck(MEM_POOL pool) {
  return pool != NULL && tarn_heap_check(pool->heap) == 1;
}

/* Fills in *info. Returns 0, with *info all zero, for null. */
TARN_SMRTHEAP_INLINE int MemPoolInfo(MEM_POOL pool, MEM_POOL_INFO* info) {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  memset(info, 0, sizeof *info);
  if (pool == NULL || tarn_heap_get_stats(pool->heap, &stats) != 0) return 0;
  info->pool = pool;
  info->flags = pool->flags;
  info->block_size = pool->block_size;
  info->count = (size_t)stats.live_blocks;
  info->used = (size_t)stats.live_bytes;
  info->size = (size_t)stats.committed_bytes;
  info->peak = (size_t)stats.committed_bytes_peak;
  info->ceiling = __atomic_load_n(&pool->ceiling, __ATOMIC_RELAXED);
  info->floor = __atomic_load_n(&pool->floor, __ATOMIC_RELAXED);
  return 1;
}

/* The number of live blocks; 0 for null. */
TARN_SMRTHEAP_INLINE size_t MemPoolCount(MEM_POOL pool) {
  MEM_POOL_INFO info;
  return MemPoolInfo(pool, &info) ? info.count : 0;
}

/* Fill in *info for a first pool, and for the one after info->pool. All pools are shown once, in no
 * particular order; then the result is 0. It is misuse if another thread frees the pool at that
 * moment. */
TARN_SMRTHEAP_INLINE int tarn_mem_info_from(struct tarn_mem_pool* p, MEM_POOL_INFO* info) {
  for (; p != NULL; p = p->next) {
    if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) == 1) return MemPoolInfo(p, info);
  }
  return 0;
}
TARN_SMRTHEAP_INLINE int MemPoolFirst(MEM_POOL_INFO* info) {
  return tarn_mem_info_from(__atomic_load_n(&tarn_mem_all.pools, __ATOMIC_ACQUIRE), info);
}
TARN_SMRTHEAP_INLINE int MemPoolNext(MEM_POOL_INFO* info) {
  return info->pool != NULL && tarn_mem_info_from(info->pool->next, info);
}

/* Calls visit(entry, context) for each live block until that returns a value other than 0, and
 * returns that value; else 0; -1 for a null pool. The pool is locked meanwhile. The block that is
 * shown may be freed. */
typedef int (*MEM_POOL_VISIT)(const MEM_POOL_ENTRY* entry, void* context);
typedef struct tarn_mem_walk {
  MEM_POOL_VISIT visit;
  void* context;
} tarn_mem_walk;
TARN_SMRTHEAP_INLINE int tarn_mem_visit(const tarn_heap_item* item, void* context) {
  const tarn_mem_walk* const walk = (const tarn_mem_walk*)context;
  MEM_POOL_ENTRY entry;
  if (item->kind == TARN_HEAP_PAGE) return 0;
  entry.entry = item->start;
  entry.size = item->bytes;
  return walk->visit(&entry, walk->context);
}
TARN_SMRTHEAP_INLINE int MemPoolWalk(MEM_POOL pool, MEM_POOL_VISIT visit, void* context) {
  tarn_mem_walk walk;
  walk.visit = visit;
  walk.context = context;
  return pool == NULL ? -1 : tarn_heap_walk(pool->heap, 0, tarn_mem_visit, &walk);
}

#ifdef __cplusplus
}
#endif

#endif
#endif
