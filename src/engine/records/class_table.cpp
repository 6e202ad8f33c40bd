// class_table: see class_table.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/records/class_table.hpp"

#include <cerrno>

#include "platform/base/check.hpp"

namespace tarn {

static_assert(fixed_classes_max <= UINT16_MAX && class_count <= UINT8_MAX);
static_assert(block_bytes_max % block_align == 0 && block_bytes_max / block_align <= UINT16_MAX);

int class_table_error(const tarn_heap_options& options) noexcept {
  if ((options.class_bytes == nullptr) != (options.class_count == 0)) return EINVAL;
  if (options.class_count > fixed_classes_max) return ENOSPC;
  std::size_t below = 0;
  for (std::size_t i = 0; i < options.class_count; ++i) {
    const std::size_t bytes = options.class_bytes[i];
    if (bytes <= below || bytes > block_bytes_max || bytes % block_align != 0) return EINVAL;
    below = bytes;
  }
  return 0;
}

// A binary search without branches: requests come in no order that a processor could foresee.
std::size_t table_class_of(HeapRecord& record, std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t count = record.table_count.load(std::memory_order_relaxed);
  TARN_ASSERT(count != 0 && is_power_of_two(alignment) && alignment <= slice_bytes);
  std::size_t first = 0;
  for (std::size_t left = count; left > 1;) {
    const std::size_t half = left / 2;
    const bool too_small = record.fixed(first + half - 1).block_bytes < bytes;
    first += half * static_cast<std::size_t>(too_small);
    left -= half;
  }
  first += static_cast<std::size_t>(record.fixed(first).block_bytes < bytes);
  if (alignment > block_align) {  // Pages begin at slices, so blocks lie as their size is aligned.
    while (first < count && (record.fixed(first).block_bytes & (alignment - 1)) != 0) ++first;
  }
  TARN_ASSERT(first == count || record.fixed(first).block_bytes >= bytes);
  TARN_ASSERT(first == 0 || alignment > block_align || record.fixed(first - 1).block_bytes < bytes);
  return first == count ? no_class : class_count + first;
}

// The common classes between the next smaller size of the table and its own. A common class that a
// size of the table divides has requests of two classes of the table: these take the slow path.
Entries table_entries(HeapRecord& record, std::size_t size_class) noexcept {
  TARN_ASSERT(size_class >= class_count && size_class < bin_count);
  const std::size_t at = size_class - class_count;
  if (at >= record.table_count.load(std::memory_order_relaxed)) return {};
  const std::size_t first = at == 0 ? 0 : class_of(record.fixed(at - 1).block_bytes) + 1;
  const std::size_t own = record.fixed(at).block_bytes;
  const std::size_t last = class_of(own);
  const std::size_t end = last + static_cast<std::size_t>(class_block_bytes[last] == own);
  TARN_ASSERT(end <= class_count);
  if (first >= end) return {};
  return {static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(end)};
}

}  // namespace tarn
