// bits: power-of-two arithmetic and products that say when they overflow.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tarn {

// pre: n > 0
constexpr unsigned log2_floor(std::size_t n) noexcept {
  return static_cast<unsigned>(std::bit_width(n)) - 1;
}

constexpr bool is_power_of_two(std::size_t n) noexcept { return n != 0 && (n & (n - 1)) == 0; }

// pre: alignment is a power of two. Wraps to a smaller value on overflow: callers bound n first.
constexpr std::size_t align_up(std::size_t n, std::size_t alignment) noexcept {
  return (n + alignment - 1) & ~(alignment - 1);
}

// False when the product does not fit; then *product is not meaningful.
constexpr bool checked_multiply(std::size_t a, std::size_t b, std::size_t* product) noexcept {
  return !__builtin_mul_overflow(a, b, product);
}

inline std::uintptr_t address_of(const void* p) noexcept {
  return reinterpret_cast<std::uintptr_t>(p);
}

}  // namespace tarn
