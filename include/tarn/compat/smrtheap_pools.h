/* compat/smrtheap_pools.h: a part of smrtheap.h: its types, and the places where pools lie.
 *
 * Places are numbered. They lie in blocks of 2,048, 4,096, 8,192 ... places, which are never given
 * back. No block of memory begins where a place does, so freeing a pool by mistake is noticed. The
 * places of the 64 pools that were freed last rest, so that their use is reported; the ones before
 * them are on a stack, from which the next pool takes its place. All of it takes constant time and
 * no lock, so that the child of a fork finds it whole.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_COMPAT_SMRTHEAP_POOLS_H
#define TARN_COMPAT_SMRTHEAP_POOLS_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "../heap/heap.h"

#if defined(TARN_SMRTHEAP_FUNCTIONS)
#define TARN_SMRTHEAP_INLINE
#elif defined(__cplusplus)
#define TARN_SMRTHEAP_INLINE TARN_NOTES_CALLER inline
#else
#define TARN_SMRTHEAP_INLINE TARN_NOTES_CALLER static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tarn_mem_pool* MEM_POOL;
typedef int MEM_BOOL;

enum {
  MEM_SERIALIZE = 1, /* For a pool: several threads use it. (They may in any case.) */
  /* For a block: it is zero. If it is resized with this flag too, so is what it gains. For a pool:
   * both hold for all its blocks. */
  MEM_ZEROINIT = 2,
  MEM_RESIZE_IN_PLACE = 4, /* For a resize: null, and nothing changes, if the block would move. */
  MEM_POOL_REGION = 8,     /* In MEM_POOL_INFO: the pool lies in memory that the program gave. */
  MEM_FIXED = 0,           /* For a block: it does not move. No block does. */
  MEM_POOL_DEFAULT = 0,    /* None of them. */
  MEM_POOL_SERIALIZE = MEM_SERIALIZE,
  MEM_POOL_ZEROINIT = MEM_ZEROINIT,
  /* Hints of the product, which change nothing here. */
  MEM_RESIZEABLE = 16,
  MEM_NOCOMPACT = 32,
  MEM_NO_SERIALIZE = 64
};

/* As a truth value: whether the pointer may be used. */
typedef enum MEM_POINTER_STATUS {
  MEM_POINTER_FREE = -1, /* A block of the pool that is freed, or not handed out yet. */
  MEM_POINTER_WILD = 0,  /* Not the pool's, or inside a block. */
  MEM_POINTER_OK = 1     /* The start of a live block of the pool. */
} MEM_POINTER_STATUS;

/* As a truth value: whether there was one more. */
typedef enum MEM_POOL_STATUS {
  MEM_POOL_NO_MEMORY = -3, /* Of tarn's own: there is no memory for the walk. */
  MEM_POOL_CORRUPT_FATAL = -2,
  MEM_POOL_CORRUPT = -1,
  MEM_POOL_END = 0,
  MEM_POOL_OK = 1
} MEM_POOL_STATUS;

/* Kinds of blocks; those of a pool are combined in MEM_POOL_INFO. */
typedef enum MEM_BLOCK_TYPE {
  MEM_FS_BLOCK = 1,       /* As large as those of MemAllocFS. */
  MEM_VAR_FIXED_BLOCK = 4 /* Of any other size. */
} MEM_BLOCK_TYPE;

typedef enum MEM_ERROR_CODE {
  MEM_NO_ERROR = 0,
  MEM_OUT_OF_MEMORY = 2,
  MEM_EXCEEDED_CEILING = 7 /* The pool's ceiling does not allow it. */
} MEM_ERROR_CODE;

/* What failed, for the error handler: an allocation of `size` bytes from the pool. When the handler
 * has made room it returns a value other than 0, and the allocation is tried again. After 0 it
 * returns null. The handler may use any pool. */
typedef struct MEM_ERROR_INFO {
  MEM_ERROR_CODE errorCode;
  MEM_POOL pool;
  size_t size;
  size_t argSize; /* The same, by the product's name. */
} MEM_ERROR_INFO;
typedef MEM_BOOL (*MEM_ERROR_FN)(MEM_ERROR_INFO* info);

/* What a pool is and has. */
typedef struct MEM_POOL_INFO {
  MEM_POOL pool;
  unsigned flags;       /* Those that it was made with, and MEM_POOL_REGION. */
  unsigned type;        /* A combination of MEM_BLOCK_TYPE. */
  size_t block_size;    /* The size of its blocks of one size. 0: it has none. */
  size_t blockSizeFS;   /* The same, by the product's name. */
  size_t pageSize;      /* The least that a pool takes at a time. */
  size_t count;         /* The number of live blocks. */
  size_t used;          /* The bytes of these blocks. */
  size_t size;          /* The bytes that the pool has committed. */
  size_t peak;          /* The largest `size` so far. */
  size_t ceiling;       /* Set by MemPoolSetCeiling. 0: none. */
  size_t floor;         /* Set by MemPoolSetFloor. 0: none. */
  MEM_ERROR_FN errorFn; /* All pools have one. */
} MEM_POOL_INFO;

/* A block, as walks through a pool show it. */
typedef struct MEM_POOL_ENTRY {
  void* entry; /* Null before the first call of MemPoolWalk. */
  MEM_POOL pool;
  MEM_BLOCK_TYPE type;
  MEM_BOOL isInUse;   /* 1: only live blocks are shown. */
  size_t size;        /* Usable bytes. */
  void* reserved_ptr; /* MemPoolWalk's. */
} MEM_POOL_ENTRY;

/* The blocks that a MemPoolWalk shows, in malloc's heap; behind it lie their `count` addresses. */
struct tarn_mem_walked {
  struct tarn_mem_walked* older;
  uintptr_t number; /* Of the pool's walks, from 1. */
  size_t count;
  size_t next;
};

/* The fields are this header's. */
struct tarn_mem_pool {
  tarn_heap heap;
  tarn_fixed fixed;
  size_t block_size;
  size_t region_bytes;
  size_t ceiling; /* As set last. Atomic. */
  size_t floor;   /* As set last. Atomic. */
  unsigned flags;
  unsigned state;         /* 0: free, 1: in use, 2: being made, 3: ending. Atomic. */
  unsigned number;        /* Of its place. */
  unsigned below;         /* On the stack: as in `reusable`. Atomic. */
  unsigned long freed_at; /* Which pool in a row this was when it was freed. Atomic. */
  /* Walks that have begun, the youngest first, and how many have. Under its lock. */
  struct tarn_mem_walked* walks;
  uintptr_t walks_begun;
  void* objects; /* C++: the youngest of the objects that the pool destroys. */
  /* C++: destroys them. */
  void (*end_objects)(struct tarn_mem_pool* pool);
};

enum {
  TARN_MEM_PLACES_LOG2 = 11,
  TARN_MEM_PLACES = 1 << TARN_MEM_PLACES_LOG2, /* In the first block: a large one. */
  TARN_MEM_BLOCKS = 20,
  TARN_MEM_RESTING = 64,
  TARN_MEM_WALKS = 8,  /* Of one pool. */
  TARN_MEM_HEADER = 64 /* In front of the places of a block. */
};

/* The state of the process. It is weak, so that all files that include this header share one. */
typedef struct tarn_mem_process {
  struct tarn_mem_pool* blocks[TARN_MEM_BLOCKS];   /* Atomic; written once. */
  struct tarn_mem_pool* resting[TARN_MEM_RESTING]; /* Atomic. */
  uint64_t reusable; /* The stack: the number of the top + 1, or 0; above: how often it changed. */
  unsigned used;     /* So many places have had a pool. Atomic. */
  unsigned long freed; /* So many pools have been freed. Atomic. */
  MEM_ERROR_FN on_error;
  struct tarn_mem_pool of_malloc; /* Over malloc's heap. */
} tarn_mem_process;
__attribute__((weak, visibility("default"))) tarn_mem_process tarn_mem_all;

/* The place of a number below `used`. */
TARN_SMRTHEAP_INLINE struct tarn_mem_pool* tarn_mem_place(unsigned number) {
  const unsigned n = number + TARN_MEM_PLACES;
  const unsigned log2 = 31U - (unsigned)__builtin_clz(n);
  return __atomic_load_n(&tarn_mem_all.blocks[log2 - TARN_MEM_PLACES_LOG2], __ATOMIC_ACQUIRE) +
         (n - (1U << log2));
}

/* Sees that there is a block for the number: 0 when there is no memory. */
TARN_SMRTHEAP_INLINE int tarn_mem_has_block(unsigned number) {
  const unsigned log2 = 31U - (unsigned)__builtin_clz(number + TARN_MEM_PLACES);
  const unsigned b = log2 - TARN_MEM_PLACES_LOG2;
  struct tarn_mem_pool* none = NULL;
  char* memory = NULL;
  if (b >= TARN_MEM_BLOCKS) return 0;
  if (__atomic_load_n(&tarn_mem_all.blocks[b], __ATOMIC_ACQUIRE) != NULL) return 1;
  memory = (char*)tarn_heap_allocate_zeroed(
      tarn_heap_main(), 1, TARN_MEM_HEADER + ((size_t)1 << log2) * sizeof(struct tarn_mem_pool));
  if (memory == NULL) return 0;
  /* Release: partner of the acquiring loads. */
  if (!__atomic_compare_exchange_n(&tarn_mem_all.blocks[b], &none,
                                   (struct tarn_mem_pool*)(void*)(memory + TARN_MEM_HEADER), 0,
                                   __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    tarn_heap_deallocate(memory);
  }
  return 1;
}

/* A place that never had a pool. Null when there is no memory. */
TARN_SMRTHEAP_INLINE struct tarn_mem_pool* tarn_mem_new_place(void) {
  unsigned number = __atomic_load_n(&tarn_mem_all.used, __ATOMIC_RELAXED);
  struct tarn_mem_pool* place = NULL;
  do {
    if (!tarn_mem_has_block(number)) return NULL;
  } while (!__atomic_compare_exchange_n(&tarn_mem_all.used, &number, number + 1, 1,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED));
  place = tarn_mem_place(number);
  place->number = number;
  return place;
}

/* A place for a pool. Null when there is no memory. */
TARN_SMRTHEAP_INLINE struct tarn_mem_pool* tarn_mem_take_place(void) {
  uint64_t top = __atomic_load_n(&tarn_mem_all.reusable, __ATOMIC_ACQUIRE);
  while ((uint32_t)top != 0) {
    struct tarn_mem_pool* const place = tarn_mem_place((uint32_t)top - 1);
    const unsigned below = __atomic_load_n(&place->below, __ATOMIC_RELAXED);
    const uint64_t next = (((top >> 32) + 1) << 32) | below;
    /* Acquire: partner of the release in tarn_mem_give_place. */
    if (__atomic_compare_exchange_n(&tarn_mem_all.reusable, &top, next, 1, __ATOMIC_ACQUIRE,
                                    __ATOMIC_ACQUIRE)) {
      return place;
    }
  }
  return tarn_mem_new_place();
}

/* The next pool may take the place. pre: no handle of its pool needs to be recognised any more */
TARN_SMRTHEAP_INLINE void tarn_mem_give_place(struct tarn_mem_pool* place) {
  uint64_t top = __atomic_load_n(&tarn_mem_all.reusable, __ATOMIC_RELAXED);
  uint64_t next = 0;
  do {
    __atomic_store_n(&place->below, (uint32_t)top, __ATOMIC_RELAXED);
    next = (((top >> 32) + 1) << 32) | (place->number + 1);
  } while (!__atomic_compare_exchange_n(&tarn_mem_all.reusable, &top, next, 1, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
}

/* The place of a pool that was just freed rests until 64 others have been. */
TARN_SMRTHEAP_INLINE void tarn_mem_rest_place(struct tarn_mem_pool* place) {
  const unsigned long at = __atomic_add_fetch(&tarn_mem_all.freed, 1, __ATOMIC_RELAXED);
  struct tarn_mem_pool** const slot = &tarn_mem_all.resting[at % TARN_MEM_RESTING];
  struct tarn_mem_pool* before = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
  __atomic_store_n(&place->freed_at, at, __ATOMIC_RELAXED);
  do {
    if (before != NULL && (long)(__atomic_load_n(&before->freed_at, __ATOMIC_RELAXED) - at) > 0) {
      before = place; /* 64 others were freed meanwhile. */
      break;
    }
    /* Release: partner of the acquire by the thread that gives the place on. */
  } while (
      !__atomic_compare_exchange_n(slot, &before, place, 1, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  if (before != NULL) tarn_mem_give_place(before);
}

/* Whether p is a place, whatever it is otherwise. */
TARN_SMRTHEAP_INLINE int tarn_mem_is_place(const void* p) {
  unsigned b = 0;
  for (; b < TARN_MEM_BLOCKS; ++b) {
    const struct tarn_mem_pool* const block =
        __atomic_load_n(&tarn_mem_all.blocks[b], __ATOMIC_ACQUIRE);
    const size_t bytes = ((size_t)TARN_MEM_PLACES << b) * sizeof(struct tarn_mem_pool);
    const uintptr_t offset = (uintptr_t)p - (uintptr_t)block;
    if (block == NULL) return 0; /* Blocks are made in turn. */
    if (offset < bytes) return offset % sizeof(struct tarn_mem_pool) == 0;
  }
  return 0;
}

/* The pool over malloc's heap. */
TARN_SMRTHEAP_INLINE MEM_POOL tarn_mem_main(void) {
  struct tarn_mem_pool* const pool = &tarn_mem_all.of_malloc;
  if (__atomic_load_n(&pool->state, __ATOMIC_ACQUIRE) != 1) {
    const tarn_heap heap = tarn_heap_main(); /* Threads that meet here write the same. */
    __atomic_store_n(&pool->heap.record, heap.record, __ATOMIC_RELAXED);
    __atomic_store_n(&pool->heap.id, heap.id, __ATOMIC_RELAXED);
    __atomic_store_n(&pool->state, 1U, __ATOMIC_RELEASE);
  }
  return pool;
}

/* The pool of a heap; null when the heap is no pool's. */
TARN_SMRTHEAP_INLINE MEM_POOL tarn_mem_of_heap(tarn_heap heap) {
  struct tarn_mem_pool* pool = NULL;
  if (heap.record == NULL) return NULL;
  if (heap.record == tarn_heap_main().record) return tarn_mem_main();
  pool = (struct tarn_mem_pool*)tarn_heap_context(heap);
  if (pool == NULL || !tarn_mem_is_place(pool)) return NULL;
  if (__atomic_load_n(&pool->state, __ATOMIC_ACQUIRE) != 1) return NULL;
  return __atomic_load_n(&pool->heap.record, __ATOMIC_RELAXED) == heap.record &&
                 __atomic_load_n(&pool->heap.id, __ATOMIC_RELAXED) == heap.id
             ? pool
             : NULL;
}

#ifdef __cplusplus
}
#endif

#endif
#endif
