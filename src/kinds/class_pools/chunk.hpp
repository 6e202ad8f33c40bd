// chunk: the classes and chunks of class pools, and where things lie in a chunk.
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

// Lies at the start of each chunk, behind its colour.
struct tarn_class_chunk {
  tarn_class_chunk* left;  // The children in the tree of all chunks by address.
  tarn_class_chunk* right;
  std::size_t bytes;  // From this header to the end of the chunk.
  std::size_t used;   // In a chunk of one block: the bytes that the program may have written to.
  tarn_class_pool* pool;
  char* first;             // The first block.
  tarn_class_chunk* next;  // The neighbours in the list of open chunks.
  tarn_class_chunk* prev;
  std::uint16_t free;      // The head of the list of free blocks.
  std::uint16_t fresh;     // Blocks from this one on were not handed out since the chunk was empty.
  std::uint16_t touched;   // Blocks from this one on were never handed out.
  std::uint16_t live;      // How many blocks are live.
  std::uint16_t capacity;  // How many blocks the chunk has.
  std::uint16_t colour;    // The bytes between the start of the granted memory and this header.
  bool is_lone;            // The chunk has one block, with an alignment of its own.
  bool is_watched;         // A tool is told of its blocks.
  bool is_zeros;           // Blocks from `touched` on read as zero.
};

// One class.
struct tarn_class_pool {
  std::size_t block_bytes;
  std::size_t stride;
  std::size_t inverse;  // Of the stride, with `shift`: see tarn/detail/exact_index.h.
  unsigned shift;
  tarn_class_chunk* open;  // The chunks that have room. Blocks are taken from the first one.
  tarn_class_chunk* open_end;
  tarn_class_chunk* spare;  // The chunk that became empty last.
  std::size_t chunk_bytes;  // The size of the next chunk.
  std::uint64_t chunks;
  std::uint64_t held_bytes;  // The bytes of all chunks.
  std::uint64_t capacity;    // How many blocks all chunks have, live or not.
  std::uint64_t unseen;      // During a check: blocks in use that it has not come to yet.
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
inline constexpr std::size_t line_bytes = 64;   // The alignment of a chunk's first block.
inline constexpr std::size_t least_block = 16;  // The alignment of each block, and the least size.
inline constexpr std::size_t tuned_max = 1000;
// Larger blocks do not fit into an address space: x86-64 has 2^47 bytes of addresses.
inline constexpr std::size_t block_bytes_most = std::size_t{1}
                                                << (sizeof(std::size_t) == 8 ? 46 : 30);

inline constexpr unsigned bucket_steps_log2 = 2;

// The entry of `first` for a request: one for each 16 bytes up to 64, then four for each doubling.
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
// The index of the block that starts at p; at least the capacity if none does.
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
