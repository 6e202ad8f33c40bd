/* array_blocks: a run of blocks of one size, addressed by index, as the pools over provided memory
 * share it. Nothing here reads or writes a block. C11 and C++17, no library.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_ARRAY_BLOCKS_H
#define TARN_ARRAY_BLOCKS_H

#include "language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "api.h"
#include "exact_index.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The result of formatting a pool, or of attaching to one. */
typedef enum tarn_array_status {
  TARN_ARRAY_OK = 0,
  TARN_ARRAY_BAD_ARGUMENT,  /* No blocks, blocks of 0 bytes, too many of either, or a null. */
  TARN_ARRAY_MISALIGNED,    /* The bookkeeping is not aligned to 8. */
  TARN_ARRAY_TOO_SMALL,     /* One of the two ranges is too small for the pool. */
  TARN_ARRAY_NO_POOL,       /* The memory holds no such pool, or one that is being formatted. */
  TARN_ARRAY_OTHER_VERSION, /* It was formatted by a version with another layout. */
  TARN_ARRAY_DAMAGED,       /* The numbers of the pool contradict each other. */
  TARN_ARRAY_NO_PLACE       /* A shared pool has as many members as it can. */
} tarn_array_status;

static inline const char* tarn_array_status_text(tarn_array_status status) {
  switch (status) {
    case TARN_ARRAY_OK: return "no error";
    case TARN_ARRAY_BAD_ARGUMENT: return "a pool has at least one block of at least one byte";
    case TARN_ARRAY_MISALIGNED: return "the bookkeeping must be aligned to 8 bytes";
    case TARN_ARRAY_TOO_SMALL: return "the memory is too small for this pool";
    case TARN_ARRAY_NO_POOL: return "the memory holds no such pool; format it first";
    case TARN_ARRAY_OTHER_VERSION: return "the pool was formatted by another version of tarn";
    case TARN_ARRAY_DAMAGED: return "the pool's bookkeeping is damaged";
    case TARN_ARRAY_NO_PLACE: return "the pool has no place for another member; reclaim dead ones";
  }
  return "unknown status";
}

/* inverse and shift are explained in tarn/detail/exact_index.h. */
typedef struct tarn_array_blocks {
  unsigned char* start;
  size_t block_bytes;
  size_t count;
  size_t inverse;
  unsigned shift;
} tarn_array_blocks;

/* Whether the blocks fit into an address space, so that the end of each has an offset. */
static inline int tarn_array_blocks_fit(size_t count, size_t block_bytes) {
  return count != 0 && block_bytes != 0 && count <= (size_t)PTRDIFF_MAX / 2 / block_bytes;
}

/* The blocks at `start`. pre: tarn_array_blocks_fit */
static inline tarn_array_blocks tarn_array_blocks_at(void* start, size_t count,
                                                     size_t block_bytes) {
  tarn_array_blocks blocks;
  blocks.start = (unsigned char*)start;
  blocks.block_bytes = block_bytes;
  blocks.count = count;
  blocks.inverse = tarn_exact_inverse(block_bytes);
  blocks.shift = tarn_exact_shift(block_bytes);
  return blocks;
}

/* The index of the block that starts at p; at least `count` for any other pointer. */
static inline size_t tarn_array_index_of(const tarn_array_blocks* blocks, const void* p) {
  return tarn_exact_index(blocks->start, p, blocks->inverse, blocks->shift);
}

/* The block with index i. pre: i < count */
static inline void* tarn_array_block_at(const tarn_array_blocks* blocks, size_t i) {
  return blocks->start + i * blocks->block_bytes;
}

/* Whether p, any pointer, lies in the blocks. */
static inline int tarn_array_in_blocks(const tarn_array_blocks* blocks, const void* p) {
  return (uintptr_t)p - (uintptr_t)blocks->start < blocks->count * blocks->block_bytes;
}

/* The largest power of two that all blocks are aligned to. */
static inline size_t tarn_array_alignment(const tarn_array_blocks* blocks) {
  const size_t bits = (size_t)(uintptr_t)blocks->start | blocks->block_bytes;
  return bits & (~bits + 1);
}

/* The checksum of the numbers in a pool's header that never change. With it a header is told from
 * other memory, and from one that was written over. */
static inline uint64_t tarn_array_checksum(const uint64_t* words, size_t count) {
  uint64_t sum = 0x9e3779b97f4a7c15u;
  for (size_t i = 0; i != count; ++i) {
    sum = (sum ^ words[i]) * 0xd6e8feb86659fd93u;
    sum ^= sum >> 32;
  }
  return sum;
}

#ifdef __cplusplus
}
#endif

#endif
#endif
