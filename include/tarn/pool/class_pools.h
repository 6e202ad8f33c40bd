/* class_pools.h: a malloc of one's own out of pools of several sizes, in C. (C++: class_pools.hpp.)
 * Each request is served by the smallest class that holds it: powers of two, and those that one
 * names. Memory is recycled, not cut up; each wrong free is found.
 *
 *   static const size_t tuned[] = {396, 768};
 *   tarn_class_pools pools;
 *   tarn_class_pools_init(&pools, &TARN_CLASS_POOLS_OPTIONS(.class_bytes = tuned,
 *                                                           .class_count = 2));
 *   void* p = tarn_class_pools_allocate(&pools, 390);
 *
 * One thread at a time, or any under a lock that one names. Needs neither the rest of tarn nor an
 * operating system. docs/design/class_pools.md
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
  TARN_CLASS_POOLS_KEEP_CHUNKS = 1, /* Memory once taken stays until trim or destroy. */
  TARN_CLASS_POOLS_TUNED_ONLY = 2   /* No powers of two: only the classes that are named. */
};

/* Called around each operation, its calls of the source included. A source of the pools' own heap
 * must not use them, then. `lock` may throw (C++): nothing has happened then; but a block that
 * moves is locked twice, and at the second both the old one and its copy stay. */
typedef struct tarn_class_pools_lock {
  void (*lock)(void* context); /* Both null: no lock. */
  void (*unlock)(void* context);
  void* context;
} tarn_class_pools_lock;

typedef struct tarn_class_pools_options {
  size_t bytes;              /* TARN_CLASS_POOLS_OPTIONS(...) sets it. */
  const char* name;          /* For reports; not copied. Null: none. */
  const size_t* class_bytes; /* Classes besides the powers of two, ascending, from 1 on; copied. */
  size_t class_count;        /* At most 1,000. */
  size_t block_bytes_max;    /* Powers of two from 16 to this; 0: as far as addresses go. */

  /* Of each class's first chunk (0: 16 KiB); each further one is twice as large, up to the second
   * (0: 1 MiB, or chunk_bytes if that is more). A chunk has room for one block at least. */
  size_t chunk_bytes;
  size_t chunk_bytes_max;
  const tarn_source* source; /* Copied. Null: malloc's heap. */
  tarn_class_pools_lock lock;
  unsigned flags; /* Of enum tarn_class_pools_flag. */
} tarn_class_pools_options;

#define TARN_CLASS_POOLS_OPTIONS(...) TARN_SIZED(tarn_class_pools_options, __VA_ARGS__)

#define TARN_CLASS_POOLS_RECENT 64 /* At first; more when there are as many chunks. */

/* All of it is the pools' own. It must not be copied or moved. */
typedef struct tarn_class_pools {
  struct tarn_class_pool* classes;  /* By size. */
  const uint16_t* first;            /* Of each quarter of a doubling, the first class for it. */
  struct tarn_class_chunk* root;    /* All chunks by address. */
  struct tarn_class_chunk** recent; /* Those found last, by bits of the address. */
  size_t recent_count;              /* A power of two; 0: there are none yet. */
  size_t class_count;
  size_t chunk_bytes;
  size_t chunk_bytes_max;
  size_t held_bytes; /* Of all chunks, and what the classes themselves take. */
  uint64_t acquired; /* Chunks taken from the source since the beginning. */
  uint64_t released;
  uint64_t failures;  /* Requests that no class is large enough for. */
  tarn_chunk table;   /* The memory of the classes. */
  tarn_chunk recents; /* The memory of `recent`, when that has grown. */
  struct tarn_class_chunk* recent_first[TARN_CLASS_POOLS_RECENT];
  tarn_source source;
  tarn_chunk (*acquire_zeros)(size_t bytes, size_t alignment); /* Of the library's own: or null. */
  tarn_class_pools_lock lock;
  const char* name;
  unsigned flags;
  int is_watched; /* A tool is told of each block. */
} tarn_class_pools;

/* Of one class. What it has allocated is what it is asked, so an average of the requests far below
 * block_bytes, or a least and a most that are equal, tell where a tuned class would save. */
typedef struct tarn_class_pool_stats {
  size_t bytes;        /* sizeof(tarn_class_pool_stats); TARN_CLASS_POOL_STATS(...) sets it. */
  size_t block_bytes;  /* As named. */
  size_t stride_bytes; /* What one block takes. */
  uint64_t in_use;
  uint64_t in_use_peak; /* The most at the same time: as many blocks as recycling makes. */
  uint64_t capacity;    /* Blocks in the chunks that it has, in use or not. */
  uint64_t allocations; /* Since the beginning. */
  uint64_t deallocations;
  uint64_t failures;          /* The source had no memory. */
  uint64_t requested_bytes;   /* The sum of all requests. */
  size_t requested_bytes_min; /* The smallest request. */
  size_t requested_bytes_max; /* The largest request. 0: there was none. */
  uint64_t held_bytes;        /* Of its chunks. */
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

/* Makes pools. 0, or -1: EINVAL for options that make no sense, ENOMEM when the source has no room
 * for the classes themselves (some 160 bytes each, and 500). Afterwards they may be used and
 * destroyed in any case; after an error they have no block. Linear in the classes. */
TARN_API int tarn_class_pools_init(tarn_class_pools* pools,
                                   const tarn_class_pools_options* options);

/* Gives all memory back; live blocks end, untouched. Linear in the chunks. Takes no lock. */
TARN_API void tarn_class_pools_destroy(tarn_class_pools* pools);

/* At least `bytes` bytes aligned to 16; for 0 a block of the smallest class. The class's block that
 * was freed last comes first, but for chunks that got empty; blocks of a new chunk come in the
 * order of addresses. Null and ENOMEM when no class is large enough or the source has no memory,
 * not even with what was empty given back (unless that is kept). Constant time, apart from the
 * source's; logarithmic in the chunks where it takes a new one. */
TARN_API TARN_ALLOCATES_SHARED(2) void* tarn_class_pools_allocate(tarn_class_pools* pools,
                                                                  size_t bytes);

/* As above for count * bytes bytes, all zero. The product is checked. */
TARN_API TARN_ALLOCATES_SHARED(2, 3) void* tarn_class_pools_allocate_zeroed(tarn_class_pools* pools,
                                                                            size_t count,
                                                                            size_t bytes);

/* As tarn_class_pools_allocate, aligned to `alignment`, a power of two; else null and EINVAL. Above
 * 64, and where no class near is aligned so, each block has a chunk of its own. */
TARN_API TARN_ALLOCATES_SHARED(3) void* tarn_class_pools_allocate_aligned(tarn_class_pools* pools,
                                                                          size_t alignment,
                                                                          size_t bytes);

/* The block with room for `bytes` bytes. It does not move if its class has that, so never to become
 * smaller; else contents are copied, without the lock, to a new one, aligned to 16. (Of a block
 * with a chunk of its own: what was asked for, or once somebody has been told how many bytes may
 * be used, these.) A null p is an allocation; 0 bytes frees p and gives null. On failure p is as it
 * was. */
TARN_API TARN_MUST_USE void* tarn_class_pools_reallocate(tarn_class_pools* pools, void* p,
                                                         size_t bytes);

/* Takes a block back; null is ignored, errno is kept. What is no live block of these pools is
 * reported (`tarn: double free: ...`, `tarn: invalid free: ...`) and ends the process, without the
 * lock. Constant time, or logarithmic in the chunks where p's was not found lately. */
TARN_API void tarn_class_pools_deallocate(tarn_class_pools* pools, void* p);

/* How many bytes at p may be used: what its class is named. 0: p is not the start of a live block;
 * any pointer. */
TARN_API size_t tarn_class_pools_usable_bytes(tarn_class_pools* pools, const void* p);

/* 1 when p lies in a live block, else 0; any pointer. */
TARN_API int tarn_class_pools_owns(tarn_class_pools* pools, const void* p);

/* The live block with the lowest address above p's (null: of all), and how many bytes it may use in
 * *bytes if that is not null; null: there is none. Any pointer, so also a block that has been freed
 * since: what is live all the while is met once by
 *     for (void* p = NULL; (p = tarn_class_pools_next(&pools, p, &bytes)) != NULL;) ...
 * Logarithmic in the chunks, and linear in what is free between. */
TARN_API void* tarn_class_pools_next(tarn_class_pools* pools, const void* p, size_t* bytes);

/* Gives all empty chunks back, and with the last one what finding them took. Returns the bytes.
 * Logarithmic in the chunks for each. */
TARN_API size_t tarn_class_pools_trim(tarn_class_pools* pools);

/* Exact. 0, or -1 with EINVAL: there is no class of that number, from 0 on, by size. Constant time;
 * linear in the classes for all of them. */
TARN_API int tarn_class_pools_get_class_stats(tarn_class_pools* pools, size_t number,
                                              tarn_class_pool_stats* stats);
TARN_API int tarn_class_pools_get_stats(tarn_class_pools* pools, tarn_class_pools_stats* stats);

/* 1 when every invariant holds. Linear in the classes and in the blocks that were handed out, and
 * logarithmic in the chunks for each chunk. */
TARN_API int tarn_class_pools_check(tarn_class_pools* pools);

#ifdef __cplusplus
}
#endif

#endif
#endif
