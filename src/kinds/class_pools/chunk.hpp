// chunk: what class pools' classes, chunks and blocks are, and where things lie in a chunk.
// docs/design/class_pools.md has the invariants.
//
//   chunk:  | colour | tarn_class_chunk | a word for each block | to 64 | block | block | ...
//   word:   the next free block of the list, `no_index`, or `live_block`
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/base/address_tree.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/list.hpp"
#include "tarn/detail/exact_index.h"
#include "tarn/detail/steps.h"
#include "tarn/pool/class_pools.h"

// At the start of each chunk.
struct tarn_class_chunk {
  tarn_class_chunk* left;  // Children in the tree of all chunks by address.
  tarn_class_chunk* right;
  std::size_t bytes;  // From this header to the end of the chunk.
  std::size_t used;   // If it has one block: bytes that the program may have written to.
  tarn_class_pool* pool;
  char* first;             // The first block.
  tarn_class_chunk* next;  // Neighbours in the list of open chunks.
  tarn_class_chunk* prev;
  std::uint16_t free;     // The head of the list of free blocks.
  std::uint16_t fresh;    // Blocks from this one on were not handed out since it was empty.
  std::uint16_t touched;  // Blocks from this one on were never handed out.
  std::uint16_t live;
  std::uint16_t capacity;
  std::uint16_t colour;  // Bytes from the start of what was granted to this header.
  bool is_lone;          // It has one block, with an alignment of its own.
  bool is_watched;       // A tool is told of its blocks.
  bool is_zeros;         // Blocks from `touched` on read as zero.
};

// One class.
struct tarn_class_pool {
  std::size_t block_bytes;
  std::size_t stride;
  std::size_t inverse;  // Of the stride: tarn/detail/exact_index.h.
  unsigned shift;
  tarn_class_chunk* open;  // Chunks that have room; blocks are taken from the first one.
  tarn_class_chunk* open_end;
  tarn_class_chunk* spare;  // The chunk that became empty last.
  std::size_t chunk_bytes;  // Of the next chunk.
  std::uint64_t chunks;
  std::uint64_t held_bytes;  // Of all chunks.
  std::uint64_t capacity;    // Blocks in all chunks, live or not.
  std::uint64_t unseen;      // In a check: blocks in use that it has not yet come to.
  std::uint64_t in_use;      // allocations - deallocations
  std::uint64_t in_use_peak;
  std::uint64_t allocations;
  std::uint64_t failures;
  std::uint64_t requested_bytes;
  std::size_t requested_min;
  std::size_t requested_max;
};

namespace tarn {

using ClassTree = AddressTree<tarn_class_chunk>;
using OpenChunks = ListEnds<tarn_class_chunk>;

inline constexpr std::uint16_t live_block = UINT16_MAX;
inline constexpr std::uint16_t no_index = UINT16_MAX - 1;
inline constexpr std::size_t chunk_blocks_max = UINT16_MAX - 2;
inline constexpr std::size_t line_bytes = 64;   // Alignment of the first block of a chunk.
inline constexpr std::size_t least_block = 16;  // Alignment of each block, and the smallest size.
inline constexpr std::size_t tuned_max = 1000;
// No address space has more: 2^47 bytes of addresses on x86-64.
inline constexpr std::size_t block_bytes_most = std::size_t{1}
                                                << (sizeof(std::size_t) == 8 ? 46 : 30);

inline constexpr unsigned bucket_steps_log2 = 2;

// Four entries for each doubling of the request, one for each 16 bytes up to 64.
constexpr std::size_t bucket_of(std::size_t bytes) noexcept {
  return tarn_step_of((bytes == 0 ? 0 : bytes - 1) / least_block, bucket_steps_log2);
}
constexpr std::size_t least_of_bucket(std::size_t bucket) noexcept {
  return tarn_step_begin(bucket, bucket_steps_log2) * least_block + 1;
}
static_assert(bucket_of(64) == 3 && bucket_of(65) == 4 && bucket_of(128) == 7);
static_assert(least_of_bucket(4) == 65 && least_of_bucket(7) == 113 && least_of_bucket(8) == 129);
static_assert(bucket_of(least_of_bucket(77)) == 77 && bucket_of(least_of_bucket(77) - 1) == 76);

inline std::size_t class_bytes_most(const tarn_class_pools& pools) noexcept {
  return pools.class_count == 0 ? 0 : pools.classes[pools.class_count - 1].block_bytes;
}
// pre: bytes <= class_bytes_most(pools)
inline tarn_class_pool* class_for(const tarn_class_pools& pools, std::size_t bytes) noexcept {
  tarn_class_pool* pool = pools.classes + pools.first[bucket_of(bytes)];
  while (pool->block_bytes < bytes) ++pool;
  return pool;
}

inline std::uint16_t* words_of(tarn_class_chunk& chunk) noexcept {
  return reinterpret_cast<std::uint16_t*>(&chunk + 1);
}
inline const std::uint16_t* words_of(const tarn_class_chunk& chunk) noexcept {
  return reinterpret_cast<const std::uint16_t*>(&chunk + 1);
}
inline char* block_at(const tarn_class_chunk& chunk, std::size_t index) noexcept {
  return chunk.first + index * chunk.pool->stride;
}
// The index of the block that starts at p; not below the capacity: none does.
inline std::size_t index_of(const tarn_class_chunk& chunk, const void* p) noexcept {
  return tarn_exact_index(chunk.first, p, chunk.pool->inverse, chunk.pool->shift);
}

// Calls visit(chunk) for each chunk, by address. It may release that chunk.
template <class Visit>
void for_each_chunk(const tarn_class_pools& pools, Visit visit) noexcept {
  std::uintptr_t at = 0;
  while (tarn_class_chunk* const chunk =
             ClassTree::find_from(pools.root, reinterpret_cast<const void*>(at))) {
    at = address_of(chunk) + chunk->bytes;
    visit(*chunk);
  }
}

}  // namespace tarn
