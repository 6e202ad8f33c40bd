// chunks: see chunks.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/class_pools/chunks.hpp"

#include <new>

#include "kinds/class_pools/check.hpp"
#include "kinds/sources/checked_blocks.hpp"
#include "kinds/sources/source_contract.hpp"
#include "platform/base/check.hpp"
#include "platform/base/config.hpp"
#include "platform/os/watchers.hpp"

namespace tarn {

namespace {

constexpr std::size_t watched_most = std::size_t{64} << 20;
constexpr std::size_t coloured_least = 64 * 1024;
constexpr std::size_t colours = 32;
constexpr std::size_t zeros_least = 128 * 1024;  // Below, malloc's heap would write the zeros, too.

// The entry of `recent`, the cache of lookups, for an address. A large chunk may be in several.
constexpr unsigned recent_shift = 18;
tarn_class_chunk** recent_of(tarn_class_pools& pools, std::uintptr_t address) noexcept {
  return &pools.recent[(address >> recent_shift) & (pools.recent_count - 1)];
}

void use_recent(tarn_class_pools& pools, tarn_class_chunk** entries, std::size_t count) noexcept {
  TARN_ASSERT(is_power_of_two(count));
  pools.recent = entries;
  pools.recent_count = count;
  __builtin_memset(entries, 0, count * sizeof *entries);
}
// Replaces the memory of the entries of `recent`, of which there may be none, and gives back the
// old. Returns the bytes of that.
std::size_t exchange_recents(tarn_class_pools& pools, tarn_chunk memory) noexcept {
  const tarn_chunk before = pools.recents;
  TARN_ASSERT(before.bytes <= pools.held_bytes);
  pools.recents = memory;
  pools.held_bytes += memory.bytes;
  pools.held_bytes -= before.bytes;
  if (before.data != nullptr) release_to(pools.source, before);
  return before.bytes;
}

// Makes `recent` sixteen times as large, if there is memory.
void grow_recent(tarn_class_pools& pools) noexcept {
  const std::size_t count = pools.recent_count * 16;
  const tarn_chunk memory =
      acquire_from(pools.source, count * sizeof(tarn_class_chunk*), line_bytes);
  if (memory.data == nullptr) return;
  // Another thread may have done it meanwhile.
  if (pools.recent_count >= count) return release_to(pools.source, memory);
  use_recent(pools, static_cast<tarn_class_chunk**>(memory.data), count);
  exchange_recents(pools, memory);
}

tarn_chunk granted(const tarn_class_chunk& chunk) noexcept {
  char* const start = reinterpret_cast<char*>(const_cast<tarn_class_chunk*>(&chunk));
  return {start - chunk.colour, chunk.bytes + chunk.colour};
}

std::size_t first_offset(std::size_t capacity, std::size_t alignment) noexcept {
  return align_up(sizeof(tarn_class_chunk) + capacity * sizeof(std::uint16_t), alignment);
}

// How many blocks make a chunk of about `bytes`; at least one.
std::size_t capacity_for(const tarn_class_pool& pool, std::size_t bytes) noexcept {
  const std::size_t colour_most = bytes >= coloured_least ? colours * line_bytes : 0;
  const std::size_t header = sizeof(tarn_class_chunk) + line_bytes + colour_most;
  if (bytes <= header) return 1;
  const std::size_t blocks = (bytes - header) / (pool.stride + sizeof(std::uint16_t));
  if (blocks == 0) return 1;
  return blocks < chunk_blocks_max ? blocks : chunk_blocks_max;
}

tarn_class_chunk* begin_chunk(tarn_class_pools& pools, tarn_class_pool& pool, std::size_t capacity,
                              std::size_t alignment, bool zeros) noexcept {
  const std::size_t blocks_bytes = capacity * pool.stride;
  // Without colours the headers of large chunks would share few sets of the processor's caches.
  const std::size_t colour =
      capacity > 1 && blocks_bytes >= coloured_least ? pools.acquired % colours * line_bytes : 0;
  const std::size_t offset = first_offset(capacity, alignment);
  const std::size_t bytes = colour + offset + blocks_bytes;
  if (pools.acquired - pools.released >= pools.recent_count) grow_recent(pools);
  const bool asks_for_zeros =
      zeros && pools.acquire_zeros != nullptr && capacity == 1 && bytes > zeros_least;
  const tarn_chunk memory = asks_for_zeros ? pools.acquire_zeros(bytes, alignment)
                                           : acquire_from(pools.source, bytes, alignment);
  if (memory.data == nullptr) return nullptr;
  ++pools.acquired;
  pools.held_bytes += memory.bytes;
  ++pool.chunks;
  pool.held_bytes += memory.bytes;
  pool.capacity += capacity;
  char* const start = static_cast<char*>(memory.data) + colour;
  auto* const chunk = new (start) tarn_class_chunk{};
  chunk->bytes = memory.bytes - colour;
  chunk->colour = static_cast<std::uint16_t>(colour);
  chunk->is_zeros = asks_for_zeros || pools.source.zeroed != 0;
  chunk->pool = &pool;
  chunk->first = start + offset;
  chunk->free = no_index;
  chunk->capacity = static_cast<std::uint16_t>(capacity);
  TARN_ASSERT(offset + blocks_bytes <= chunk->bytes && is_aligned(chunk->first, alignment));
  TARN_ASSERT(ClassTree::find(pools.root, chunk) == nullptr);
  ClassTree::insert(pools.root, chunk);
  // Tools keep a byte for every few bytes of the program, which takes too long for very large
  // chunks.
  chunk->is_watched = pools.is_watched != 0 && blocks_bytes <= watched_most;
  if (chunk->is_watched) os::watch_close(chunk->first, blocks_bytes);
  return chunk;
}

}  // namespace

tarn_class_chunk* find_chunk(tarn_class_pools& pools, const void* p) noexcept {
  if (TARN_UNLIKELY(pools.root == nullptr)) return nullptr;
  tarn_class_chunk** const recent = recent_of(pools, address_of(p));
  if (*recent != nullptr && ClassTree::is_in(**recent, p)) return *recent;
  tarn_class_chunk* const chunk = ClassTree::find(pools.root, p);
  if (chunk != nullptr) *recent = chunk;
  return chunk;
}

// If the source refuses a chunk, one half as large is asked for, and so on down to one block.
tarn_class_chunk* new_chunk(tarn_class_pools& pools, tarn_class_pool& pool, bool zeros) noexcept {
  std::size_t capacity = capacity_for(pool, pool.chunk_bytes);
  tarn_class_chunk* chunk = begin_chunk(pools, pool, capacity, line_bytes, zeros);
  while (chunk == nullptr && capacity > 1) {
    capacity /= 2;
    chunk = begin_chunk(pools, pool, capacity, line_bytes, zeros);
  }
  if (chunk == nullptr) return nullptr;
  if (pool.chunk_bytes < pools.chunk_bytes_max) {
    const bool fits = pool.chunk_bytes <= pools.chunk_bytes_max / 2;
    pool.chunk_bytes = fits ? pool.chunk_bytes * 2 : pools.chunk_bytes_max;
  }
  TARN_ASSERT(pool.chunk_bytes <= pools.chunk_bytes_max);
  OpenChunks::push_front(pool.open, pool.open_end, chunk);
  TARN_ASSERT(!is_check_due(pools.acquired) || check_class_pools(pools));
  return chunk;
}

tarn_class_chunk* new_lone_chunk(tarn_class_pools& pools, tarn_class_pool& pool,
                                 std::size_t alignment, bool zeros) noexcept {
  if (alignment > block_bytes_most) return nullptr;
  const std::size_t at_least = alignment < line_bytes ? line_bytes : alignment;
  tarn_class_chunk* const chunk = begin_chunk(pools, pool, 1, at_least, zeros);
  if (chunk == nullptr) return nullptr;
  chunk->is_lone = true;
  TARN_ASSERT(!is_check_due(pools.acquired) || check_class_pools(pools));
  return chunk;
}

void release_chunk(tarn_class_pools& pools, tarn_class_chunk* chunk) noexcept {
  tarn_class_pool& pool = *chunk->pool;
  if (!chunk->is_lone && chunk->live < chunk->capacity) {
    OpenChunks::remove(pool.open, pool.open_end, chunk);
  }
  if (pool.spare == chunk) pool.spare = nullptr;
  ClassTree::remove(pools.root, chunk);
  const std::uintptr_t begin = address_of(chunk);
  for (std::size_t i = 0; i < pools.recent_count; ++i) {
    const std::size_t distance = i << recent_shift;
    if (distance >= chunk->bytes + (std::size_t{1} << recent_shift)) break;
    tarn_class_chunk** const recent = recent_of(pools, begin + distance);
    if (*recent == chunk) *recent = nullptr;
  }
  const tarn_chunk memory = granted(*chunk);  // Read while the header is still there.
  TARN_ASSERT(pools.released < pools.acquired && memory.bytes <= pool.held_bytes);
  TARN_ASSERT(pool.chunks != 0 && chunk->capacity <= pool.capacity);
  if (chunk->is_watched) os::watch_open(chunk->first, chunk->capacity * pool.stride);
  ++pools.released;
  pools.held_bytes -= memory.bytes;
  --pool.chunks;
  pool.held_bytes -= memory.bytes;
  pool.capacity -= chunk->capacity;
  release_to(pools.source, memory);
}

// pre: the chunk is open, or lone
void note_empty(tarn_class_pools& pools, tarn_class_chunk* chunk) noexcept {
  TARN_ASSERT(chunk->live == 0);
  tarn_class_pool& pool = *chunk->pool;
  const bool keeps = (pools.flags & TARN_CLASS_POOLS_KEEP_CHUNKS) != 0;
  const bool is_large = chunk->capacity == 1 && chunk->bytes > 2 * pools.chunk_bytes_max;
  if (chunk->is_lone || (is_large && !keeps)) return release_chunk(pools, chunk);
  chunk->free = no_index;
  chunk->fresh = 0;
  // Blocks are taken from partly filled chunks first.
  if (chunk != pool.open_end) {
    OpenChunks::remove(pool.open, pool.open_end, chunk);
    OpenChunks::push_back(pool.open, pool.open_end, chunk);
  }
  tarn_class_chunk* const other = pool.spare;
  pool.spare = chunk;
  if (!keeps && other != nullptr && other != chunk && other->live == 0) {
    release_chunk(pools, other);
  }
}

// If the options keep chunks, none is a spare.
bool release_spares(tarn_class_pools& pools) noexcept {
  const std::uint64_t before = pools.released;
  if ((pools.flags & TARN_CLASS_POOLS_KEEP_CHUNKS) != 0) return false;
  for (std::size_t i = 0; i < pools.class_count; ++i) {
    tarn_class_chunk* const spare = pools.classes[i].spare;
    if (spare != nullptr && spare->live == 0) release_chunk(pools, spare);
  }
  TARN_ASSERT(!is_check_due(pools.released) || check_class_pools(pools));
  return pools.released != before;
}

std::size_t trim(tarn_class_pools& pools) noexcept {
  std::size_t given = 0;
  for_each_chunk(pools, [&](tarn_class_chunk& chunk) {
    if (chunk.live != 0) return;
    given += granted(chunk).bytes;
    release_chunk(pools, &chunk);
  });
  if (pools.root == nullptr && pools.recents.data != nullptr) {
    TARN_ASSERT(pools.acquired == pools.released);
    use_recent(pools, pools.recent_first, TARN_CLASS_POOLS_RECENT);
    given += exchange_recents(pools, {});
  }
  TARN_ASSERT(check_class_pools(pools));
  return given;
}

}  // namespace tarn
