// chunks: see chunks.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/pools/chunks.hpp"

#include <new>

#include "kinds/pools/checked_chunk.hpp"
#include "kinds/pools/chunk_tree.hpp"
#include "kinds/sources/source_contract.hpp"
#include "platform/base/list.hpp"

namespace tarn {

namespace {

using Ends = ListEnds<tarn_pool_chunk>;

void push_front(tarn_pool_chunks& list, tarn_pool_chunk* chunk) noexcept {
  Ends::push_front(list.head, list.tail, chunk);
}
void push_back(tarn_pool_chunks& list, tarn_pool_chunk* chunk) noexcept {
  Ends::push_back(list.head, list.tail, chunk);
}
void remove(tarn_pool_chunks& list, tarn_pool_chunk* chunk) noexcept {
  Ends::remove(list.head, list.tail, chunk);
}

}  // namespace

tarn_chunk acquire_memory(tarn_pool& pool, std::size_t bytes) noexcept {
  // A free of a fast pool finds the chunk by masking the pointer, so chunks are aligned for that.
  const std::size_t least =
      pool.alignment < alignof(CheckedChunk) ? alignof(CheckedChunk) : pool.alignment;
  const std::size_t alignment = is_checked(pool) ? least : pool.chunk_alignment;
  TARN_ASSERT(is_power_of_two(alignment) && alignment % pool.alignment == 0);
  const tarn_chunk chunk = acquire_from(pool.source, bytes, alignment);
  if (chunk.data == nullptr) return {};
  ++pool.acquired;
  pool.held_bytes += chunk.bytes;
  const std::uint64_t chunks = pool.acquired - pool.released;
  if (chunks > pool.chunks_peak) pool.chunks_peak = static_cast<std::size_t>(chunks);
  return chunk;
}

void release_memory(tarn_pool& pool, tarn_chunk memory) noexcept {
  TARN_ASSERT(pool.released < pool.acquired && memory.bytes <= pool.held_bytes);
  ++pool.released;
  pool.held_bytes -= memory.bytes;
  release_to(pool.source, memory);
}

tarn_pool_chunk* begin_chunk(tarn_pool& pool, tarn_chunk memory) noexcept {
  const bool checked = is_checked(pool);
  const std::size_t usable =
      checked || memory.bytes < pool.chunk_alignment ? memory.bytes : pool.chunk_alignment;
  const std::uintptr_t base = address_of(memory.data);
  auto* const place =
      checked ? static_cast<char*>(memory.data) : reinterpret_cast<char*>(header_in(pool, base));
  std::size_t capacity = capacity_of(pool, usable - (address_of(place) - base));
  if (is_lone(pool)) capacity = 1;  // The block ends with the chunk.
  TARN_ASSERT(capacity > 0);

  tarn_pool_chunk* const chunk =
      checked ? new (place) CheckedChunk{} : new (place) tarn_pool_chunk{};
  chunk->pool = &pool;
  chunk->bytes = memory.bytes;
  chunk->first = place + first_offset(pool, capacity);
  chunk->end = chunk->first + capacity * pool.stride;
  chunk->fresh = chunk->first;
  TARN_ASSERT(address_of(chunk->end) - base <= usable);
  TARN_ASSERT(is_aligned(chunk->first, pool.alignment));
  // A free of a fast pool finds the chunk from any of its blocks.
  TARN_ASSERT(checked ||
              (header_of(pool, chunk->first) == chunk && header_of(pool, chunk->end - 1) == chunk));
  if (checked) begin_checks(*chunk);
  push_back(pool.open, chunk);  // Chunks that have freed blocks are used first.
  return chunk;
}

tarn_pool_chunk* new_chunk(tarn_pool& pool) noexcept {
  if (pool.reserved.data != nullptr) {
    const tarn_chunk reserved = pool.reserved;
    pool.reserved = {};
    return begin_chunk(pool, reserved);
  }
  const std::size_t least = least_chunk(pool);
  std::size_t bytes = pool.chunk_bytes;
  tarn_chunk memory = acquire_memory(pool, bytes);
  while (memory.data == nullptr && bytes > least) {
    bytes = bytes / 2 > least ? bytes / 2 : least;
    memory = acquire_memory(pool, bytes);
  }
  if (memory.data == nullptr && pool.colour_mask != 0 && pool.held_bytes == 0) {
    pool.colour_mask = 0;  // Small chunks have no room for colours.
    return new_chunk(pool);
  }
  if (memory.data == nullptr) return nullptr;
  if (pool.chunk_bytes < pool.chunk_bytes_max) {
    const bool fits = pool.chunk_bytes <= pool.chunk_bytes_max / 2;
    pool.chunk_bytes = fits ? pool.chunk_bytes * 2 : pool.chunk_bytes_max;
  }
  TARN_ASSERT(pool.chunk_bytes <= pool.chunk_bytes_max);
  return begin_chunk(pool, memory);
}

void release_chunk(tarn_pool& pool, tarn_pool_chunk* chunk) noexcept {
  TARN_ASSERT(chunk->pool == &pool);
  remove(chunk->is_full != 0 ? pool.full : pool.open, chunk);
  if (pool.spare == chunk) pool.spare = nullptr;
  if (pool.current == chunk) pool.current = nullptr;
  const tarn_chunk memory{start_of(*chunk), chunk->bytes};  // Read while the header is still there.
  if (is_checked(pool)) end_checks(*chunk);
  release_memory(pool, memory);
}

void reset_chunk(tarn_pool_chunk& chunk) noexcept {
  TARN_ASSERT(chunk.live == 0);
  if (chunk.is_full != 0) {
    chunk.is_full = 0;
    remove(chunk.pool->full, &chunk);
    push_back(chunk.pool->open, &chunk);
  }
  chunk.free = nullptr;
  chunk.fresh = chunk.first;
  chunk.live = 0;
}

tarn_pool_chunk* chunk_with_room(tarn_pool& pool) noexcept {
  TARN_ASSERT(pool.open.head == nullptr || has_room(*pool.open.head));
  return pool.open.head != nullptr ? pool.open.head : new_chunk(pool);
}

void note_taken(tarn_pool& pool, tarn_pool_chunk& chunk, std::size_t blocks) noexcept {
  TARN_ASSERT(chunk.is_full == 0 && !is_walked(pool));
  chunk.live += static_cast<std::int32_t>(blocks);
  pool.taken += blocks;
  note_peak(pool);  // The caller has the blocks at hand, but for a checked one, which is live.
  TARN_ASSERT(static_cast<std::size_t>(chunk.live) <= capacity_of(chunk));
  if (has_room(chunk)) return;
  chunk.is_full = 1;
  remove(pool.open, &chunk);
  push_back(pool.full, &chunk);
}

void note_given(tarn_pool& pool, tarn_pool_chunk& chunk, std::size_t blocks) noexcept {
  TARN_ASSERT(blocks <= pool.taken);
  chunk.live -= static_cast<std::int32_t>(blocks);
  pool.taken -= blocks;
  TARN_ASSERT(chunk.live >= 0 && has_room(chunk));
  if (chunk.is_full == 0) return;
  chunk.is_full = 0;
  remove(pool.full, &chunk);
  push_front(pool.open, &chunk);
}

void note_empty(tarn_pool& pool, tarn_pool_chunk* chunk) noexcept {
  TARN_ASSERT(chunk->live == 0 && chunk->is_full == 0);
  if (is_lone(pool)) return release_chunk(pool, chunk);
  // Blocks are taken from partly filled chunks first.
  remove(pool.open, chunk);
  push_back(pool.open, chunk);
  tarn_pool_chunk* const other = pool.spare;
  pool.spare = chunk;
  if (!keeps_chunks(pool) && other != nullptr && other != chunk && other->live == 0) {
    release_chunk(pool, other);
  }
}

tarn_pool_chunk* find_chunk(const tarn_pool& pool, const void* p) noexcept {
  if (is_checked(pool)) return find_by_address(pool, p);
  // The address tells which chunk it would be; the lists tell whether there is such a chunk.
  const tarn_pool_chunk* const wanted = header_of(pool, p);
  tarn_pool_chunk* found = nullptr;
  for_each_chunk(pool, [&](tarn_pool_chunk& chunk) {
    if (&chunk == wanted) found = &chunk;
  });
  return found;
}

}  // namespace tarn
