// chunk: the chunks of a pool, and where things lie in them. tarn/pool/pool.h has the hit paths and
// the structures of a pool and a chunk, docs/design/pool.md has the invariants.
//
//   chunk:  | tarn_pool_chunk | live bits | notes, if checked | block | block | ...
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "kinds/sources/checked_blocks.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "tarn/pool/pool.h"

namespace tarn {

inline constexpr std::size_t pool_cache = TARN_POOL_CACHE;
inline constexpr std::size_t capacity_max = INT32_MAX - 1;

// What is known of a block in a checked pool.
struct BlockNote {
  const void* allocated_at;
  const void* freed_at;
  std::uint32_t next;  // The block that was freed after this one; valid while this one is free.
};

// A chunk in a checked pool has its place in the tree besides, and a queue of its free blocks.
struct CheckedChunk : tarn_pool_chunk {
  CheckedChunk* left;
  CheckedChunk* right;
  std::uintptr_t name;   // By this a tool knows the chunk.
  std::uint32_t oldest;  // The free block that was freed first.
  std::uint32_t newest;  // The free block that was freed last.
};
inline constexpr std::uint32_t no_block = UINT32_MAX;

// What `state` holds beside the bits of OwnerState.
enum PoolState : std::uint32_t {
  pool_keeps_chunks = owner_own_bit,
  pool_is_walked = owner_own_bit << 1,
};

inline bool is_checked(const tarn_pool& pool) noexcept { return mode_of(pool) != TARN_MODE_FAST; }
inline bool is_walked(const tarn_pool& pool) noexcept { return (pool.state & pool_is_walked) != 0; }
inline bool keeps_chunks(const tarn_pool& pool) noexcept {
  return (pool.state & pool_keeps_chunks) != 0;
}

// pre: the chunk is a checked pool's
inline CheckedChunk& as_checked(const tarn_pool_chunk& chunk) noexcept {
  TARN_ASSERT(is_checked(*chunk.pool));
  return const_cast<CheckedChunk&>(static_cast<const CheckedChunk&>(chunk));
}

// The offset of the first block in a chunk with room for `capacity` blocks.
std::size_t first_offset(const tarn_pool& pool, std::size_t capacity) noexcept;
// The bytes of such a chunk; 0: it would be too large.
std::size_t span_for(const tarn_pool& pool, std::size_t capacity) noexcept;
inline std::size_t least_chunk(const tarn_pool& pool) noexcept {
  return span_for(pool, 1) + pool.colour_mask;
}
// How many blocks fit into a chunk of so many bytes; and how many a chunk that has begun has.
std::size_t capacity_of(const tarn_pool& pool, std::size_t bytes) noexcept;
inline std::size_t capacity_of(const tarn_pool_chunk& chunk) noexcept {
  return static_cast<std::size_t>(chunk.end - chunk.first) / chunk.pool->stride;
}
inline std::uint64_t* live_bits(const tarn_pool_chunk& chunk) noexcept {
  char* const start = reinterpret_cast<char*>(const_cast<tarn_pool_chunk*>(&chunk));
  const bool checked = is_checked(*chunk.pool);
  return reinterpret_cast<std::uint64_t*>(
      start + (checked ? sizeof(CheckedChunk) : sizeof(tarn_pool_chunk)));
}
BlockNote* notes_of(const tarn_pool_chunk& chunk) noexcept;

inline bool is_live(const tarn_pool_chunk& chunk, std::size_t index) noexcept {
  return (live_bits(chunk)[index / 64] >> (index % 64) & 1) != 0;
}
inline void set_live(tarn_pool_chunk& chunk, std::size_t index, bool live) noexcept {
  TARN_ASSERT(index < capacity_of(chunk));
  const std::uint64_t bit = std::uint64_t{1} << (index % 64);
  std::uint64_t& word = live_bits(chunk)[index / 64];
  word = live ? word | bit : word & ~bit;
}
inline std::size_t index_of(const tarn_pool_chunk& chunk, const void* p) noexcept {
  return static_cast<std::size_t>(static_cast<const char*>(p) - chunk.first) / chunk.pool->stride;
}
inline char* block_at(const tarn_pool_chunk& chunk, std::size_t index) noexcept {
  return chunk.first + index * chunk.pool->stride;
}
// How many blocks the pool has taken since the chunk was last empty, freed ones included.
inline std::size_t carved(const tarn_pool_chunk& chunk) noexcept {
  return static_cast<std::size_t>(chunk.fresh - chunk.first) / chunk.pool->stride;
}

// Where the header of a fast pool's chunk lies. The distance from the chunk's start differs from
// chunk to chunk, since headers at the same distance would share few sets of the processor's
// caches.
inline tarn_pool_chunk* header_in(const tarn_pool& pool, std::uintptr_t base) noexcept {
  return reinterpret_cast<tarn_pool_chunk*>(base +
                                            ((base >> pool.colour_shift) & pool.colour_mask));
}
inline tarn_pool_chunk* header_of(const tarn_pool& pool, const void* p) noexcept {
  return header_in(pool, address_of(p) & ~(pool.chunk_alignment - 1));
}
inline char* start_of(const tarn_pool_chunk& chunk) noexcept {
  const std::uintptr_t header = address_of(&chunk);
  const bool is_start = is_checked(*chunk.pool);
  return reinterpret_cast<char*>(is_start ? header : header & ~(chunk.pool->chunk_alignment - 1));
}

inline bool has_room(const tarn_pool_chunk& chunk) noexcept {
  return static_cast<std::size_t>(chunk.live) < capacity_of(chunk);
}

// How many fresh blocks a fast pool has at hand.
inline std::size_t fresh_blocks(const tarn_pool& pool) noexcept {
  if (pool.fresh == pool.fresh_end) return 0;
  return static_cast<std::size_t>(pool.fresh_end - pool.fresh) / pool.stride;
}
inline std::uint64_t live_blocks(const tarn_pool& pool) noexcept {
  return pool.taken - pool.cached - fresh_blocks(pool);
}
inline void note_peak(tarn_pool& pool) noexcept {
  if (pool.live_peak < live_blocks(pool)) pool.live_peak = live_blocks(pool);
}

// Calls visit(chunk) for each chunk. It may release that chunk.
template <class Visit>
void for_each_chunk(const tarn_pool& pool, Visit visit) noexcept {
  for (const tarn_pool_chunks* list : {&pool.open, &pool.full}) {
    for (tarn_pool_chunk* c = list->head; c != nullptr;) {
      tarn_pool_chunk* const next = c->next;
      visit(*c);
      c = next;
    }
  }
}

}  // namespace tarn
