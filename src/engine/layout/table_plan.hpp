// table_plan: ready-made tables of block sizes. A table divides each doubling from its least size
// on into equal steps, and ends with the largest size asked for:
//
//   least 32, steps 4:   32 40 48 56 | 64 80 96 112 | 128 160 ...
//
// With uniformly distributed sizes, k steps a doubling fill 3k / (3k + 1) of what they reserve.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"

namespace tarn {

inline constexpr unsigned table_steps_max = 64;  // The most steps a doubling.
inline constexpr std::size_t table_grain_max = 4096;

// What a table is made from. grain: all sizes are rounded up to its multiples.
struct TablePlan {
  unsigned steps;
  std::size_t least;
  std::size_t most;
  std::size_t grain;
};

constexpr bool is_sound(const TablePlan& plan) noexcept {
  return plan.steps >= 1 && plan.steps <= table_steps_max && plan.least >= 1 &&
         plan.least <= plan.most && plan.most <= PTRDIFF_MAX && is_power_of_two(plan.grain) &&
         plan.grain <= table_grain_max;
}

// Step `step` of the doubling that begins at `base`, rounded up. Less than twice the base.
constexpr std::size_t size_at_step(std::size_t base, unsigned step, unsigned steps) noexcept {
  TARN_ASSERT(step < steps);
  return base + base / steps * step + (base % steps * step + steps - 1) / steps;
}

// Calls visit(bytes) for each size, ascending, none twice. pre: is_sound(plan)
template <class Visit>
constexpr void for_each_size(const TablePlan& plan, Visit visit) noexcept {
  TARN_ASSERT(is_sound(plan));
  const std::size_t last = align_up(plan.most, plan.grain);
  std::size_t before = 0;
  for (std::size_t base = plan.least;; base *= 2) {  // Does not wrap: what is doubled was < most.
    for (unsigned step = 0; step < plan.steps; ++step) {
      const std::size_t exact = size_at_step(base, step, plan.steps);
      if (exact >= plan.most) return visit(last);
      const std::size_t bytes = align_up(exact, plan.grain);
      if (bytes == last) return visit(last);
      if (bytes > before) visit(bytes);
      before = bytes;
    }
  }
}

consteval std::size_t sizes_in(const TablePlan& plan) noexcept {
  std::size_t count = 0;
  for_each_size(plan, [&](std::size_t) { ++count; });
  return count;
}
static_assert(sizes_in({1, 32, 8 << 20, 1}) == 19 && sizes_in({2, 32, 8 << 20, 1}) == 37 &&
              sizes_in({4, 32, 8 << 20, 1}) == 73 && sizes_in({8, 32, 8 << 20, 1}) == 145);
static_assert(sizes_in({1, 5, 5, 1}) == 1 && sizes_in({64, PTRDIFF_MAX, PTRDIFF_MAX, 1}) == 1);
static_assert(sizes_in({1, 1, PTRDIFF_MAX, 1}) == 64 && sizes_in({1, 3, PTRDIFF_MAX, 4096}) == 53);

// The part that is asked for of the bytes that a table reserves for one request of each size from
// `least` to `most`. pre: ascending sizes; 1 <= least <= most <= the last of them
constexpr double fill_of_table(const std::size_t* class_bytes, std::size_t count, std::size_t least,
                               std::size_t most) noexcept {
  TARN_ASSERT(least != 0 && least <= most && count != 0 && most <= class_bytes[count - 1]);
  double asked = 0;
  double reserved = 0;
  std::size_t from = least;
  for (std::size_t i = 0; i < count && from <= most; ++i) {
    if (class_bytes[i] < from) continue;
    const std::size_t to = class_bytes[i] < most ? class_bytes[i] : most;
    const double sizes = static_cast<double>(to - from) + 1;
    asked += sizes * (static_cast<double>(from) + static_cast<double>(to)) / 2;
    reserved += sizes * static_cast<double>(class_bytes[i]);
    from = to + 1;
  }
  TARN_ASSERT(from == most + 1);
  return asked / reserved;
}

}  // namespace tarn
