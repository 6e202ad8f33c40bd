// blocks: see blocks.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/class_pools/blocks.hpp"

#include "kinds/class_pools/chunks.hpp"
#include "platform/base/check.hpp"
#include "platform/base/config.hpp"
#include "platform/os/watchers.hpp"

namespace tarn {

namespace {

void note_request(tarn_class_pool& pool, std::size_t bytes) noexcept {
  TARN_ASSERT(bytes <= pool.block_bytes && pool.in_use < pool.capacity);
  ++pool.allocations;
  if (++pool.in_use > pool.in_use_peak) pool.in_use_peak = pool.in_use;
  pool.requested_bytes += bytes;
  if (bytes < pool.requested_min) pool.requested_min = bytes;
  if (bytes > pool.requested_max) pool.requested_max = bytes;
}

// Takes a block of the chunk. pre: the chunk has room
void* take(tarn_class_pools& pools, tarn_class_chunk& chunk, std::size_t bytes,
           bool* zero) noexcept {
  tarn_class_pool& pool = *chunk.pool;
  TARN_ASSERT(chunk.live < chunk.capacity && chunk.fresh <= chunk.touched);
  *zero = false;
  std::size_t index = chunk.free;
  if (index != no_index) {
    TARN_ASSERT(index < chunk.fresh && words_of(chunk)[index] != live_block);
    chunk.free = words_of(chunk)[index];
  } else {
    index = chunk.fresh++;
    TARN_ASSERT(index < chunk.capacity);
    if (index == chunk.touched) {
      ++chunk.touched;
      *zero = chunk.is_zeros;
    }
  }
  words_of(chunk)[index] = live_block;
  chunk.used = bytes;
  if (++chunk.live == chunk.capacity && !chunk.is_lone) {
    OpenChunks::remove(pool.open, pool.open_end, &chunk);
  }
  note_request(pool, bytes);
  void* const block = block_at(chunk, index);
  if (TARN_UNLIKELY(chunk.is_watched)) {
    os::watch_allocated(&pools, block, pool.block_bytes);
    *zero = false;  // Memcheck considers its contents undefined.
  }
  return block;
}

// The first class from `pool` on whose blocks are all aligned so; null: there is none of about the
// size. The first block of a chunk is aligned to a line, so a stride that is a multiple will do, as
// that of a power of two is.
tarn_class_pool* class_aligned(const tarn_class_pools& pools, tarn_class_pool* pool,
                               std::size_t alignment) noexcept {
  const tarn_class_pool* const end = pools.classes + pools.class_count;
  const std::size_t least = pool->stride < line_bytes ? line_bytes : pool->stride;
  while (pool != end && pool->stride % alignment != 0) ++pool;
  TARN_ASSERT(is_power_of_two(alignment) && alignment <= line_bytes);
  return pool == end || pool->stride / 4 > least ? nullptr : pool;
}

// A chunk with room. lone_alignment: the alignment of a chunk with one block; 0: an ordinary chunk
// is wanted. Null: there is no memory, and no block of the class was freed while the source was
// called.
tarn_class_chunk* chunk_for(tarn_class_pools& pools, tarn_class_pool& pool,
                            std::size_t lone_alignment, bool zeros) noexcept {
  if (lone_alignment != 0) return new_lone_chunk(pools, pool, lone_alignment, zeros);
  tarn_class_chunk* const chunk = new_chunk(pools, pool, zeros);
  return chunk != nullptr ? chunk : pool.open;
}

}  // namespace

void* allocate_block(tarn_class_pools& pools, std::size_t bytes, std::size_t alignment,
                     bool* zero) noexcept {
  if (TARN_UNLIKELY(bytes > class_bytes_most(pools) || pools.class_count == 0)) {
    ++pools.failures;
    return nullptr;
  }
  tarn_class_pool* pool = class_for(pools, bytes);
  bool is_lone = false;
  if (TARN_UNLIKELY(alignment > least_block)) {
    tarn_class_pool* const aligned =
        alignment <= line_bytes ? class_aligned(pools, pool, alignment) : nullptr;
    is_lone = aligned == nullptr;
    if (!is_lone) pool = aligned;
  }
  tarn_class_chunk* chunk = is_lone ? nullptr : pool->open;
  if (TARN_UNLIKELY(chunk == nullptr)) {
    const std::size_t lone_alignment = is_lone ? alignment : 0;
    chunk = chunk_for(pools, *pool, lone_alignment, *zero);
    // The source may have memory when the spares of other classes have gone back.
    if (chunk == nullptr && release_spares(pools)) {
      chunk = chunk_for(pools, *pool, lone_alignment, *zero);
    }
    if (chunk == nullptr) {
      ++pool->failures;
      return nullptr;
    }
  }
  TARN_ASSERT(chunk->pool == pool && chunk->is_lone == is_lone);
  return take(pools, *chunk, bytes, zero);
}

namespace {

Found foreign_in(tarn_class_chunk& chunk, const void* p) noexcept {
  Found found{Verdict::foreign, &chunk, 0};
  if (p >= chunk.first && p < block_at(chunk, chunk.touched)) {
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(p) - chunk.first);
    found.start = block_at(chunk, offset / chunk.pool->stride);
    found.bytes = chunk.pool->block_bytes;
  }
  return found;
}

}  // namespace

Found find_block(tarn_class_pools& pools, const void* p) noexcept {
  tarn_class_chunk* const chunk = find_chunk(pools, p);
  if (chunk == nullptr) return {Verdict::foreign, nullptr, 0};
  const std::size_t index = index_of(*chunk, p);
  if (TARN_UNLIKELY(index >= chunk->touched)) return foreign_in(*chunk, p);
  const bool is_live = words_of(*chunk)[index] == live_block;
  TARN_ASSERT(!is_live || index < chunk->fresh);
  return {is_live ? Verdict::live : Verdict::dead, chunk, index};
}

// The chunk comes to the front of the list, so that the block is the next one of its class. A chunk
// that becomes empty goes to the end.
void free_block(tarn_class_pools& pools, const Found& found) noexcept {
  tarn_class_chunk& chunk = *found.chunk;
  tarn_class_pool& pool = *chunk.pool;
  TARN_ASSERT(words_of(chunk)[found.index] == live_block && found.index < chunk.fresh);
  TARN_ASSERT(chunk.live != 0 && pool.in_use != 0);
  if (TARN_UNLIKELY(chunk.is_watched)) {
    os::watch_freed(&pools, block_at(chunk, found.index), pool.block_bytes);
  }
  words_of(chunk)[found.index] = chunk.free;
  chunk.free = static_cast<std::uint16_t>(found.index);
  --pool.in_use;
  const bool was_full = chunk.live-- == chunk.capacity;
  if (!chunk.is_lone && pool.open != &chunk) {
    if (!was_full) OpenChunks::remove(pool.open, pool.open_end, &chunk);
    OpenChunks::push_front(pool.open, pool.open_end, &chunk);
  }
  if (TARN_UNLIKELY(chunk.live == 0)) note_empty(pools, &chunk);
}

Resized resize_block(tarn_class_pools& pools, void* p, std::size_t bytes) noexcept {
  Resized resized{find_block(pools, p)};
  if (resized.found.verdict != Verdict::live) return resized;
  tarn_class_chunk& chunk = *resized.found.chunk;
  const bool is_one = chunk.capacity == 1;
  const std::size_t room = chunk.pool->block_bytes;
  if (bytes <= room) {
    if (is_one && bytes > chunk.used) chunk.used = bytes;
    resized.block = p;
    return resized;
  }
  resized.contents = is_one ? chunk.used : room;
  TARN_ASSERT(resized.contents <= room && room < bytes);
  bool zero = false;
  resized.block = allocate_block(pools, bytes, least_block, &zero);
  return resized;
}

}  // namespace tarn
