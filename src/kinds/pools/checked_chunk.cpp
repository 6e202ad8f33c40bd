// checked_chunk: see checked_chunk.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/pools/checked_chunk.hpp"

#include <cstring>

#include "kinds/pools/chunk_tree.hpp"
#include "platform/os/watchers.hpp"

namespace tarn {

void begin_checks(tarn_pool_chunk& begun) noexcept {
  CheckedChunk& chunk = as_checked(begun);
  tarn_pool& pool = *chunk.pool;
  const std::size_t capacity = capacity_of(chunk);
  TARN_ASSERT(address_of(notes_of(chunk) + capacity) <= address_of(chunk.first));
  std::memset(live_bits(chunk), 0, (capacity + 63) / 64 * sizeof(std::uint64_t));
  chunk.oldest = chunk.newest = no_block;
  insert_by_address(pool, &chunk);
  if (!is_watched(pool)) return;
  const auto bytes = static_cast<std::size_t>(chunk.end - chunk.first);
  os::watch_close(chunk.first, bytes);
  os::watch_pool_begin(&chunk);
  chunk.name = os::watch_name(chunk.first, bytes, "chunk of the pool", pool.name);
}

void end_checks(tarn_pool_chunk& ended) noexcept {
  CheckedChunk& chunk = as_checked(ended);
  tarn_pool& pool = *chunk.pool;
  remove_by_address(pool, &chunk);
  if (!is_watched(pool)) return;
  os::watch_forget(chunk.name);
  os::watch_pool_end(&chunk);
  os::watch_open(&chunk, chunk.bytes);
}

void reset_checks(CheckedChunk& chunk) noexcept {
  const tarn_pool& pool = *chunk.pool;
  const std::size_t blocks = carved(chunk);
  TARN_ASSERT(chunk.live == 0 && blocks <= capacity_of(chunk));
  if (is_watched(pool)) {
    for (std::size_t i = 0; i < blocks; ++i) {
      if (is_live(chunk, i)) os::watch_freed(&chunk, block_at(chunk, i), pool.block_bytes);
    }
  }
  std::memset(live_bits(chunk), 0, (blocks + 63) / 64 * sizeof(std::uint64_t));
  chunk.oldest = chunk.newest = no_block;
}

// live blocks + queue + fresh blocks == capacity, and each block of the queue is free.
bool check_checked(const tarn_pool_chunk& chunk) noexcept {
  const CheckedChunk& own = as_checked(chunk);
  const std::size_t blocks = carved(chunk);
  std::size_t live = 0;
  for (std::size_t i = 0; i < blocks; ++i) live += is_live(chunk, i);
  std::size_t queued = 0;
  std::uint32_t last = no_block;
  for (std::uint32_t i = own.oldest; i != no_block; i = notes_of(chunk)[i].next) {
    if (i >= blocks || is_live(chunk, i) || ++queued > blocks) return false;
    last = i;
  }
  return last == own.newest && chunk.free == nullptr && live + queued == blocks &&
         live == static_cast<std::size_t>(chunk.live) &&
         find_by_address(*chunk.pool, &chunk) == &chunk;
}

OwnerReport report_about(const tarn_pool& pool, const tarn_pool_chunk* chunk,
                         const void* p) noexcept {
  OwnerReport report = report_of(pool, p);
  if (chunk == nullptr || p < chunk->first || p >= chunk->fresh) return report;
  const std::size_t index = index_of(*chunk, p);
  TARN_ASSERT(chunk->pool == &pool && index < capacity_of(*chunk));
  const BlockNote& note = notes_of(*chunk)[index];
  report.start = block_at(*chunk, index);
  report.bytes = pool.block_bytes;
  report.allocated_at = note.allocated_at;
  report.freed_at = note.freed_at;
  return report;
}

}  // namespace tarn
