// chunk: see chunk.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/pools/chunk.hpp"

namespace tarn {

namespace {

std::size_t notes_offset(const tarn_pool& pool, std::size_t capacity) noexcept {
  const std::size_t header = is_checked(pool) ? sizeof(CheckedChunk) : sizeof(tarn_pool_chunk);
  return header + (capacity + 63) / 64 * sizeof(std::uint64_t);
}

}  // namespace

std::size_t first_offset(const tarn_pool& pool, std::size_t capacity) noexcept {
  TARN_ASSERT(is_power_of_two(pool.alignment));
  const std::size_t notes = is_checked(pool) ? capacity * sizeof(BlockNote) : 0;
  return align_up(notes_offset(pool, capacity) + notes, pool.alignment);
}

std::size_t span_for(const tarn_pool& pool, std::size_t capacity) noexcept {
  constexpr std::size_t limit = PTRDIFF_MAX / 4;
  std::size_t blocks = 0;
  std::size_t notes = 0;
  if (capacity > capacity_max || !checked_multiply(capacity, pool.stride, &blocks) ||
      !checked_multiply(capacity, sizeof(BlockNote) + 1, &notes) || blocks > limit ||
      notes > limit || pool.alignment > limit) {
    return 0;
  }
  return first_offset(pool, capacity) + blocks;
}

std::size_t capacity_of(const tarn_pool& pool, std::size_t bytes) noexcept {
  std::size_t capacity = bytes / pool.stride;
  if (capacity > capacity_max) capacity = capacity_max;
  while (capacity > 0) {
    const std::size_t span = span_for(pool, capacity);
    if (span != 0 && span <= bytes) break;
    // Lowered by no more than is certainly too much, since each block has a bit and a note besides.
    const std::size_t each = pool.stride + sizeof(BlockNote) + 1;
    const std::size_t excess = span == 0 ? capacity / 2 : (span - bytes) / each;
    capacity -= excess == 0 ? 1 : excess;
  }
  return capacity;
}

BlockNote* notes_of(const tarn_pool_chunk& chunk) noexcept {
  char* const start = reinterpret_cast<char*>(const_cast<tarn_pool_chunk*>(&chunk));
  TARN_ASSERT(is_checked(*chunk.pool));
  return reinterpret_cast<BlockNote*>(start + notes_offset(*chunk.pool, capacity_of(chunk)));
}

}  // namespace tarn
