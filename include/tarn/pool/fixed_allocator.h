/* fixed_allocator.h: blocks of one size from one of three places, chosen when it is made, in C.
 * (C++: tarn/pool/fixed_allocator.hpp.) After D. Lafreniere's Allocator ("An Efficient C++ Fixed
 * Block Memory Allocator", 2016): the heap, block by block; one pool of the heap's; memory of one's
 * own.
 *
 *   static _Alignas(16) char memory[64 * 100];
 *   tarn_fixed_allocator packets;
 *   tarn_fixed_allocator_init(&packets, &TARN_FIXED_ALLOCATOR_OPTIONS(
 *       .name = "packets", .block_bytes = 64, .memory = memory, .memory_bytes = sizeof memory));
 *
 * One thread at a time. Constant time, apart from the source's. A free is proved to be of a block
 * (double and foreign frees are reported), where there is room for one bit a block besides.
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
  TARN_FIXED_HEAP_BLOCKS = 0, /* Each block from the source, as many as that has. It must grant all
                                 of them as many bytes; one that differs goes back (null). */
  TARN_FIXED_HEAP_POOL = 1,   /* One piece of the source's, for so many blocks. */
  TARN_FIXED_STATIC_POOL = 2  /* The caller's memory. */
};

enum tarn_fixed_allocator_flag {
  TARN_FIXED_RECYCLE = 1 /* Of heap blocks: freed ones stay for the next, until it is destroyed. */
};

typedef struct tarn_fixed_allocator_options {
  size_t bytes;       /* TARN_FIXED_ALLOCATOR_OPTIONS(...) sets it. */
  const char* name;   /* Not copied; null: none. */
  size_t block_bytes; /* From 1 on; rounded up to a pointer's size, and to the alignment. */
  size_t alignment;   /* A power of two; 0: 16 (in memory of one's own: a pointer's). */
  size_t objects;     /* Not 0: a pool of so many. */
  void* memory;       /* Not null: the pool lies in this memory. */
  /* The bytes of `memory`. As many blocks as fit lie there, at most `objects` if that is not 0. */
  size_t memory_bytes;
  const tarn_source* source; /* Copied; null: malloc's heap. */
  unsigned flags;            /* Of enum tarn_fixed_allocator_flag. */
} tarn_fixed_allocator_options;

#define TARN_FIXED_ALLOCATOR_OPTIONS(...) TARN_SIZED(tarn_fixed_allocator_options, __VA_ARGS__)

/* All of these are the allocator's own. */
typedef struct tarn_fixed_allocator {
  void* free;  /* Freed blocks, the last one first. */
  char* fresh; /* Of a pool: blocks that were not handed out, up to `end`. */
  char* end;
  char* begin;
  uint64_t* live_bits; /* Of a pool, if there is room for them. */
  size_t stride;
  size_t block_bytes;
  size_t alignment;
  size_t live;
  size_t live_peak;
  size_t held; /* Blocks that it has, live or not. */
  uint64_t allocations;
  uint64_t deallocations;
  uint64_t failures;
  const char* name;
  tarn_source source;
  tarn_chunk piece; /* Of a heap pool; of heap blocks, what each was granted. */
  int place;        /* An enum tarn_fixed_allocator_place. */
  unsigned flags;
} tarn_fixed_allocator;

/* 0, or -1: EINVAL for options that make no sense (no room for one block, too), ENOMEM when the
 * pool is not there; then it has no block, and may be used and destroyed all the same. Constant
 * time, but for the bits (one for each block, cleared). */
TARN_API int tarn_fixed_allocator_init(tarn_fixed_allocator* allocator,
                                       const tarn_fixed_allocator_options* options);

/* Gives what it took back. Live blocks of a pool end; heap blocks that are live stay what they are,
 * blocks of the source. */
TARN_API void tarn_fixed_allocator_destroy(tarn_fixed_allocator* allocator);

/* A block; null and ENOMEM when a pool is exhausted or the source has none. Blocks of a pool come
 * in the order of addresses at first, then the last freed one. */
TARN_API TARN_ALLOCATES_ONE void* tarn_fixed_allocator_allocate(tarn_fixed_allocator* allocator);

/* Takes one back; null is ignored. */
TARN_API void tarn_fixed_allocator_deallocate(tarn_fixed_allocator* allocator, void* p);

/* 1 when p lies in a block of the pool that was handed out; of heap blocks nothing is known: 0. */
TARN_API int tarn_fixed_allocator_owns(const tarn_fixed_allocator* allocator, const void* p);

/* 1 when every invariant holds. Linear in the blocks that are free. */
TARN_API int tarn_fixed_allocator_check(const tarn_fixed_allocator* allocator);

#ifdef __cplusplus
}
#endif

#endif
#endif
