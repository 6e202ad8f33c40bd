// page_plan: how many slices a page of a class takes. A class that is little used gets small pages,
// a busy one large ones: the next page of a class in a thread heap is four times as large as all
// that it has, up to the full size, and a class of MiBs gets longer ones: they are taken and given
// less often, and neighbours in memory are neighbours in time. Pages are carved lazily, so slices
// that are not reached cost address space only, unless their memory was used before.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/layout/geometry.hpp"
#include "engine/layout/size_class.hpp"
#include "platform/base/check.hpp"

namespace tarn {

inline constexpr std::size_t page_slices_full = 4;  // 16 KiB, the least size of a busy page.
inline constexpr std::size_t page_blocks_min = 8;   // The fewest blocks of a busy page.
// The fewest of the first page of a class: as many, where they have no more bytes than this, or
// two. Memory that was used before is resident, reached or not.
constexpr std::size_t first_page_blocks(std::size_t block_bytes) noexcept {
  constexpr std::size_t bytes_most = 32 * 1024;
  const std::size_t fit = bytes_most / block_bytes;
  return fit > page_blocks_min ? page_blocks_min : fit < 2 ? 2 : fit;
}
// The fewest of a busy page with blocks above wide_bytes_min: what is not reached costs nothing.
inline constexpr std::size_t page_blocks_wide = 16;
inline constexpr std::size_t wide_bytes_min = 8192;
inline constexpr std::size_t touched_tolerance = 200;  // A 200th more is as good.

struct PagePlan {
  std::uint16_t first;  // Slices of the first page of a class.
  std::uint16_t full;   // Slices of a busy page.
};

constexpr std::size_t power_of_two_slices(std::size_t bytes) noexcept {
  return std::bit_ceil(slices_for(bytes));
}

// The memory that a block takes in a page of so many slices whose blocks have all been in use, with
// its part of the page's last slice. In 1/1024 of a byte.
constexpr std::size_t touched_bytes(std::size_t block_bytes, std::size_t slices) noexcept {
  const std::size_t blocks = slices * slice_bytes / block_bytes;
  return ((slices_for(blocks * block_bytes) << slice_shift) << 10) / blocks;
}

// The fewest slices from `least` to twice as many with which hardly more is touched than with any
// other number of them: with a power of two, pages of blocks of 1,150 bytes would waste 6 %.
constexpr std::size_t frugal_slices(std::size_t block_bytes, std::size_t least) noexcept {
  TARN_ASSERT(least * slice_bytes >= block_bytes);
  std::size_t best = SIZE_MAX;
  for (std::size_t slices = least; slices <= 2 * least; ++slices) {
    const std::size_t touched = touched_bytes(block_bytes, slices);
    if (touched < best) best = touched;
  }
  std::size_t slices = least;
  while (touched_bytes(block_bytes, slices) > best + best / touched_tolerance) ++slices;
  return slices;
}

// The plan for blocks of so many bytes. Its full size is a power of two.
constexpr PagePlan make_page_plan(std::size_t block_bytes) noexcept {
  const std::size_t blocks = block_bytes > wide_bytes_min ? page_blocks_wide : page_blocks_min;
  std::size_t first = power_of_two_slices(block_bytes * first_page_blocks(block_bytes));
  std::size_t full = power_of_two_slices(block_bytes * blocks);
  if (full < page_slices_full) full = page_slices_full;
  if (first > full) first = full;
  return {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(full)};
}

constexpr std::array<PagePlan, class_count> make_page_plans() noexcept {
  std::array<PagePlan, class_count> table{};
  for (std::size_t c = 0; c < class_count; ++c) {
    const std::size_t bytes = class_block_bytes[c];
    table[c] = make_page_plan(bytes);
    if (bytes > wide_bytes_min) continue;
    table[c].full = static_cast<std::uint16_t>(frugal_slices(bytes, table[c].full));
  }
  return table;
}

inline constexpr auto page_plans = make_page_plans();

// has: the slices of all pages that the class has in the thread heap already.
constexpr std::size_t page_slices(PagePlan plan, std::size_t has) noexcept {
  if (has >= plan.full) return plan.full;
  const std::size_t grown = 4 * has;
  return grown < plan.first ? plan.first : grown < plan.full ? grown : plan.full;
}

constexpr std::size_t page_slices(std::size_t size_class, std::size_t has) noexcept {
  TARN_ASSERT(size_class < class_count);
  return page_slices(page_plans[size_class], has);
}

// The fewest slices of a page of malloc's own heap that fills a hole: room for four blocks, as with
// fewer it would be full, and empty, all the time.
constexpr std::size_t page_slices_least(std::size_t block_bytes, std::size_t slices) noexcept {
  constexpr std::size_t blocks_least = 4;
  const std::size_t least = slices_for(blocks_least * block_bytes);
  return least < slices ? least : slices;
}

inline constexpr std::size_t page_blocks_max = (1u << 14) - 1;  // The most blocks of a page.

// A long page has at most one in so many slices of its class. A page of malloc's own heap goes back
// when all of it is free, so it is to be a small part.
inline constexpr std::size_t main_long_part = 32;
// Another heap gives all of its pages back at once, so what counts is how few there are.
inline constexpr std::size_t heap_long_part = 4;

inline constexpr std::size_t page_slices_longest = (std::size_t{256} << 10) >> slice_shift;

// A page of at least so many slices, and of as many times these as come to 64 or 256 KiB at most
// where the class has much more.
constexpr std::size_t long_page_slices(std::size_t block_bytes, std::size_t slices, std::size_t has,
                                       std::size_t part) noexcept {
  constexpr std::size_t slices_long = (std::size_t{64} << 10) >> slice_shift;
  if (has < part * slices_long) return slices;
  std::size_t most = has < part * page_slices_longest ? slices_long : page_slices_longest;
  const std::size_t countable = page_blocks_max * block_bytes >> slice_shift;
  if (most > countable) most = countable;
  return slices < most ? most - most % slices : slices;
}

// Slices of a page in malloc's own heap.
constexpr std::size_t main_page_slices(std::size_t size_class, std::size_t has) noexcept {
  const std::size_t slices = page_slices(size_class, has);
  return long_page_slices(class_block_bytes[size_class], slices, has, main_long_part);
}

// Slices of a page in another heap. part: heap_long_part, or main_long_part
constexpr std::size_t heap_page_slices(std::size_t block_bytes, std::size_t has,
                                       std::size_t part = heap_long_part) noexcept {
  TARN_ASSERT(block_bytes != 0 && block_bytes <= block_bytes_max);
  const std::size_t slices = page_slices(make_page_plan(block_bytes), has);
  TARN_ASSERT(slices * slice_bytes >= block_bytes);
  return long_page_slices(block_bytes, slices, has, part);
}

// The number of blocks of the page of malloc's own heap that holds the most.
consteval std::size_t page_blocks_most() noexcept {
  std::size_t most = 0;
  for (std::size_t c = 0; c < class_count; ++c) {
    const std::size_t blocks = main_page_slices(c, SIZE_MAX) * slice_bytes / class_block_bytes[c];
    if (blocks > most) most = blocks;
  }
  return most;
}

consteval bool page_plans_are_sound() noexcept {
  for (std::size_t c = 0; c < class_count; ++c) {
    const PagePlan plan = page_plans[c];
    const std::size_t bytes = class_block_bytes[c];
    if (plan.first * slice_bytes < bytes * first_page_blocks(bytes)) return false;
    if (plan.first > plan.full || page_slices(c, 0) != plan.first) return false;
    if (page_slices(c, SIZE_MAX) != plan.full) return false;
  }
  return true;
}
static_assert(page_plans_are_sound());

}  // namespace tarn
