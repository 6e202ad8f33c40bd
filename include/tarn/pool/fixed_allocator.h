/* fixed_allocator.h: blocks of one size from one of three places, in C. (C++:
 * tarn/pool/fixed_allocator.hpp.) When the allocator is made it is chosen where blocks come from:
 * from the heap one by one, from one pool that is taken from the heap, or from memory that the
 * program provides. After D. Lafreniere's Allocator ("An Efficient C++ Fixed Block Memory
 * Allocator", 2016).
 *
 *   static _Alignas(16) char memory[64 * 100];
 *   tarn_fixed_allocator packets;
 *   tarn_fixed_allocator_init(&packets, &TARN_FIXED_ALLOCATOR_OPTIONS(
 *       .name = "packets", .block_bytes = 64, .memory = memory, .memory_bytes = sizeof memory));
 *
 * One thread at a time. Constant time, apart from the source's. A pool finds every double free and
 * every foreign free if its memory has room for one bit more for each block.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_FIXED_ALLOCATOR_H
#define TARN_FIXED_ALLOCATOR_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "../detail/sized.h"
#include "../source/source.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tarn_fixed_allocator_place {
  TARN_FIXED_HEAP_BLOCKS = 0, /* Each block is a chunk of the source. The source must grant the same
                                 number of bytes for all; a chunk that differs goes back, and the
                                 request fails. */
  TARN_FIXED_HEAP_POOL = 1,   /* One chunk of the source, for all blocks. */
  TARN_FIXED_STATIC_POOL = 2  /* The caller's memory. */
};

enum tarn_fixed_allocator_flag {
  TARN_FIXED_RECYCLE = 1 /* Freed heap blocks are kept and used again until the end. */
};

typedef struct tarn_fixed_allocator_options {
  size_t bytes;       /* TARN_FIXED_ALLOCATOR_OPTIONS(...) sets it. */
  const char* name;   /* Not copied; null: none. */
  size_t block_bytes; /* At least 1; rounded up to a pointer's size and to the alignment. */
  size_t alignment;   /* A power of two. 0: 16, or a pointer's in `memory`. */
  size_t objects;     /* How many blocks a pool has. 0, without `memory`: heap blocks, no pool. */
  void* memory;       /* The program's memory for the pool; null: none. */
  /* The bytes of `memory`. It holds as many blocks as fit, but at most `objects` if that is not
   * 0. */
  size_t memory_bytes;
  const tarn_source* source; /* Copied; null: malloc's heap. */
  unsigned flags;            /* Of enum tarn_fixed_allocator_flag. */
} tarn_fixed_allocator_options;

#define TARN_FIXED_ALLOCATOR_OPTIONS(...) TARN_SIZED(tarn_fixed_allocator_options, __VA_ARGS__)

/* All of these are the allocator's own. */
typedef struct tarn_fixed_allocator {
  void* free;  /* Freed blocks, the last one first. */
  char* fresh; /* In a pool: blocks that were never handed out, up to `end`. */
  char* end;
  char* begin;
  uint64_t* live_bits; /* In a pool, if there is room for them. */
  size_t stride;
  size_t block_bytes;
  size_t alignment;
  size_t live;
  size_t live_peak;
  size_t held; /* How many blocks the allocator has, live or not. */
  uint64_t allocations;
  uint64_t deallocations;
  uint64_t failures;
  const char* name;
  tarn_source source;
  tarn_chunk piece; /* The chunk of a heap pool. For heap blocks, its `bytes` are what each got. */
  int place;        /* An enum tarn_fixed_allocator_place. */
  unsigned flags;
} tarn_fixed_allocator;

/* Makes an allocator. Returns 0, or -1 with EINVAL for options that make no sense, also when not
 * one block fits, and with ENOMEM when there is no memory for the pool. After a failure the
 * allocator has no block and may still be used and destroyed. Constant time, except that a bit for
 * each block is cleared. */
TARN_API int tarn_fixed_allocator_init(tarn_fixed_allocator* allocator,
                                       const tarn_fixed_allocator_options* options);

/* Gives back what the allocator has taken. Live blocks of a pool end. Heap blocks that are live
 * stay valid, as chunks of the source. */
TARN_API void tarn_fixed_allocator_destroy(tarn_fixed_allocator* allocator);

/* Allocates a block. Null with ENOMEM when the pool is exhausted or the source has no memory. The
 * block that was freed last comes first; other blocks of a pool come by ascending address. */
TARN_API TARN_ALLOCATES_ONE void* tarn_fixed_allocator_allocate(tarn_fixed_allocator* allocator);

/* Frees a block; null is ignored. */
TARN_API void tarn_fixed_allocator_deallocate(tarn_fixed_allocator* allocator, void* p);

/* 1 when p lies in a block of the pool that was handed out, else 0. For heap blocks always 0. */
TARN_API int tarn_fixed_allocator_owns(const tarn_fixed_allocator* allocator, const void* p);

/* 1 when every invariant holds, else 0. Linear in the free blocks. */
TARN_API int tarn_fixed_allocator_check(const tarn_fixed_allocator* allocator);

#ifdef __cplusplus
}
#endif

#endif
#endif
