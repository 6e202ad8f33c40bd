/* class_pools.h: a private malloc made of pools of several sizes, in C. (C++: class_pools.hpp.)
 * Each request is served by the smallest class that holds it. The classes are the powers of two,
 * and sizes that the program names. A block's memory is used again for blocks of its class only,
 * and each wrong free is found.
 *
 *   static const size_t tuned[] = {396, 768};
 *   tarn_class_pools pools;
 *   tarn_class_pools_init(&pools, &TARN_CLASS_POOLS_OPTIONS(.class_bytes = tuned,
 *                                                           .class_count = 2));
 *   void* p = tarn_class_pools_allocate(&pools, 390);
 *
 * One thread at a time, or any thread with a lock that the program provides. Needs neither the rest
 * of tarn nor an operating system. docs/design/class_pools.md
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_CLASS_POOLS_H
#define TARN_CLASS_POOLS_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "../detail/sized.h"
#include "../source/source.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tarn_class_pools_flag {
  TARN_CLASS_POOLS_KEEP_CHUNKS = 1, /* Chunks stay until trim or destroy. */
  TARN_CLASS_POOLS_TUNED_ONLY = 2   /* The named classes are the only ones: no powers of two. */
};

/* The lock that is held during each operation, also while the source is called. So a source must
 * not use these pools itself. `lock` may throw (C++). Then the operation has done nothing, except
 * that a reallocation which moves the block locks twice: if the second call throws, both the old
 * block and its copy stay. */
typedef struct tarn_class_pools_lock {
  void (*lock)(void* context); /* Both null: no lock. */
  void (*unlock)(void* context);
  void* context;
} tarn_class_pools_lock;

typedef struct tarn_class_pools_options {
  size_t bytes;              /* TARN_CLASS_POOLS_OPTIONS(...) sets it. */
  const char* name;          /* For reports; not copied. Null: none. */
  const size_t* class_bytes; /* Classes besides the powers of two: ascending, at least 1; copied. */
  size_t class_count;        /* At most 1,000. */
  size_t block_bytes_max;    /* The largest power of two; the smallest is 16. 0: no limit. */

  /* The bytes of the first chunk of each class; 0: 16 KiB. Each further chunk is twice as large,
   * and each has room for at least one block. */
  size_t chunk_bytes;
  size_t chunk_bytes_max;    /* The largest chunk. 0: 1 MiB, or chunk_bytes if that is more. */
  const tarn_source* source; /* Copied. Null: malloc's heap. */
  tarn_class_pools_lock lock;
  unsigned flags; /* Of enum tarn_class_pools_flag. */
} tarn_class_pools_options;

#define TARN_CLASS_POOLS_OPTIONS(...) TARN_SIZED(tarn_class_pools_options, __VA_ARGS__)

#define TARN_CLASS_POOLS_RECENT 64 /* How many `recent` are at first. */

/* All of it is the pools' own. It must not be copied or moved. */
typedef struct tarn_class_pools {
  struct tarn_class_pool* classes;  /* Ordered by size. */
  const uint16_t* first;            /* For each quarter of a doubling, the first class that fits. */
  struct tarn_class_chunk* root;    /* The tree of all chunks by address. */
  struct tarn_class_chunk** recent; /* The chunks that were found last, by bits of the address. */
  size_t recent_count;              /* A power of two; 0: there are none yet. */
  size_t class_count;
  size_t chunk_bytes;
  size_t chunk_bytes_max;
  size_t held_bytes; /* The bytes of all chunks, and of `table` and `recents`. */
  uint64_t acquired; /* Chunks taken from the source since the beginning. */
  uint64_t released;
  uint64_t failures;  /* Requests that no class is large enough for. */
  tarn_chunk table;   /* The memory of the classes. */
  tarn_chunk recents; /* The memory of `recent`, when that has grown. */
  struct tarn_class_chunk* recent_first[TARN_CLASS_POOLS_RECENT];
  tarn_source source;
  tarn_chunk (*acquire_zeros)(size_t bytes, size_t alignment); /* The library's own; may be null. */
  tarn_class_pools_lock lock;
  const char* name;
  unsigned flags;
  int is_watched; /* A tool is told of each block. */
} tarn_class_pools;

/* The numbers of one class. If the average request is far below block_bytes, or if the smallest and
 * the largest are equal, a class of that size would save memory. */
typedef struct tarn_class_pool_stats {
  size_t bytes;        /* sizeof(tarn_class_pool_stats); TARN_CLASS_POOL_STATS(...) sets it. */
  size_t block_bytes;  /* The size by which the class is named. */
  size_t stride_bytes; /* What one block takes. */
  uint64_t in_use;
  uint64_t in_use_peak; /* The most that were in use at the same time. */
  uint64_t capacity;    /* How many blocks its chunks have, in use or not. */
  uint64_t allocations; /* Since the beginning. */
  uint64_t deallocations;
  uint64_t failures;          /* Requests for which the source had no memory. */
  uint64_t requested_bytes;   /* The sum of all requests. */
  size_t requested_bytes_min; /* The smallest request. */
  size_t requested_bytes_max; /* The largest request. 0: there was none. */
  uint64_t held_bytes;        /* The bytes of its chunks. */
  uint64_t chunks;
} tarn_class_pool_stats;

#define TARN_CLASS_POOL_STATS(...) TARN_SIZED(tarn_class_pool_stats, __VA_ARGS__)

typedef struct tarn_class_pools_stats {
  size_t bytes; /* TARN_CLASS_POOLS_STATS(...) sets it. */
  size_t classes;
  uint64_t in_use;       /* Live blocks. */
  uint64_t in_use_bytes; /* The bytes of these blocks, each counted with its class's size. */
  uint64_t allocations;  /* Since the beginning. */
  uint64_t deallocations;
  uint64_t failures;
  uint64_t requested_bytes;
  uint64_t held_bytes; /* All that is taken from the source. */
  uint64_t chunks;
  uint64_t chunks_acquired; /* Since the beginning. */
  uint64_t chunks_released;
} tarn_class_pools_stats;

#define TARN_CLASS_POOLS_STATS(...) TARN_SIZED(tarn_class_pools_stats, __VA_ARGS__)

/* Makes class pools. Returns 0, or -1 with EINVAL for options that make no sense, and with ENOMEM
 * when the source has no memory for the classes themselves (some 160 bytes each, and 500). After a
 * failure the pools have no block and may still be used and destroyed. Linear in the classes. */
TARN_API int tarn_class_pools_init(tarn_class_pools* pools,
                                   const tarn_class_pools_options* options);

/* Ends all blocks, which are not touched, and gives all memory back. Linear in the chunks. Takes no
 * lock. */
TARN_API void tarn_class_pools_destroy(tarn_class_pools* pools);

/* Allocates at least `bytes` bytes aligned to 16; for 0 bytes, a block of the smallest class. The
 * class's block that was freed last comes first, except from chunks that have become empty. Blocks
 * of a new chunk come by ascending address. Null with ENOMEM when no class is large enough, and
 * when the source has no memory even after all empty chunks have gone back to it (which they do not
 * if the pools keep chunks). Constant time, apart from the source's; logarithmic in the chunks when
 * it takes a new one. */
TARN_API TARN_ALLOCATES_SHARED(2) void* tarn_class_pools_allocate(tarn_class_pools* pools,
                                                                  size_t bytes);

/* Allocates count * bytes bytes, all zero. The product is checked. */
TARN_API TARN_ALLOCATES_SHARED(2, 3) void* tarn_class_pools_allocate_zeroed(tarn_class_pools* pools,
                                                                            size_t count,
                                                                            size_t bytes);

/* As tarn_class_pools_allocate, with an alignment that must be a power of two (else null with
 * EINVAL). Above 64, and if no class of about the size is aligned so, the block has a chunk of its
 * own. */
TARN_API TARN_ALLOCATES_SHARED(3) void* tarn_class_pools_allocate_aligned(tarn_class_pools* pools,
                                                                          size_t alignment,
                                                                          size_t bytes);

/* Resizes a block. It stays where it is if its class has room for `bytes` bytes, so it never moves
 * to become smaller. Otherwise the contents are copied, without the lock, to a new block aligned to
 * 16. (Of a block with a chunk of its own only the bytes that were asked for are copied, or all of
 * them once the program has asked how many it may use.) A null p is allocated; 0 bytes frees p and
 * returns null. On failure it returns null, and p is as it was. */
TARN_API TARN_MUST_USE void* tarn_class_pools_reallocate(tarn_class_pools* pools, void* p,
                                                         size_t bytes);

/* Frees a block; null is ignored, and errno is kept. A pointer that is no live block of these pools
 * is reported (`tarn: double free: ...`, `tarn: invalid free: ...`), and the process ends; the lock
 * is not held then. Constant time, or logarithmic in the chunks if p's chunk was not found
 * recently. */
TARN_API void tarn_class_pools_deallocate(tarn_class_pools* pools, void* p);

/* How many bytes at p may be used: the size of its class. 0 if p is not the start of a live block.
 * p: any pointer. */
TARN_API size_t tarn_class_pools_usable_bytes(tarn_class_pools* pools, const void* p);

/* 1 when p lies in a live block, else 0. p: any pointer. */
TARN_API int tarn_class_pools_owns(tarn_class_pools* pools, const void* p);

/* Returns the live block with the lowest address above p, or the first one for null; null when
 * there is none. If `bytes` is not null, *bytes is how many bytes of it may be used. p: any
 * pointer, also a block that has been freed since. So this loop shows each block that is live all
 * the while once:
 *     for (void* p = NULL; (p = tarn_class_pools_next(&pools, p, &bytes)) != NULL;) ...
 * Logarithmic in the chunks, and linear in the free blocks between. */
TARN_API void* tarn_class_pools_next(tarn_class_pools* pools, const void* p, size_t* bytes);

/* Gives all empty chunks back and returns their bytes. When no chunk is left, the memory of
 * `recents` goes back, too. Logarithmic in the chunks for each. */
TARN_API size_t tarn_class_pools_trim(tarn_class_pools* pools);

/* Set *stats to exact numbers: of one class, or of all. Classes are numbered from 0 by size. Return
 * 0, or -1 with EINVAL, also when there is no class of that number. Constant time for one class;
 * linear in the classes for all. */
TARN_API int tarn_class_pools_get_class_stats(tarn_class_pools* pools, size_t number,
                                              tarn_class_pool_stats* stats);
TARN_API int tarn_class_pools_get_stats(tarn_class_pools* pools, tarn_class_pools_stats* stats);

/* 1 when every invariant holds, else 0. Linear in the classes and in the blocks that were handed
 * out, and logarithmic in the chunks for each chunk. */
TARN_API int tarn_class_pools_check(tarn_class_pools* pools);

#ifdef __cplusplus
}
#endif

#endif
#endif
