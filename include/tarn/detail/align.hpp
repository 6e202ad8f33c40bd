// align: power-of-two arithmetic and checked products, for programs and for the library. No state,
// no OS; C++11.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_ALIGN_HPP
#define TARN_ALIGN_HPP

#include "language.h"
#if defined(TARN_LANGUAGE)

#include <cstddef>
#include <cstdint>

namespace tarn {

constexpr bool is_power_of_two(std::size_t n) noexcept { return n != 0 && (n & (n - 1)) == 0; }

// The least multiple of alignment that is at least n. Wraps to a smaller value on overflow, so
// callers bound n first. pre: alignment is a power of two
constexpr std::size_t align_up(std::size_t n, std::size_t alignment) noexcept {
  return (n + alignment - 1) & ~(alignment - 1);
}

// The greatest multiple of alignment that is at most n. pre: alignment is a power of two
constexpr std::size_t align_down(std::size_t n, std::size_t alignment) noexcept {
  return n & ~(alignment - 1);
}

// The largest alignment that an object or an array of so many bytes can need: the largest power of
// two that divides the size, and at most `most`, which may be 1.
constexpr std::size_t natural_alignment(std::size_t bytes,
                                        std::size_t most = alignof(std::max_align_t)) noexcept {
  return bytes % most == 0 ? most : bytes & (~bytes + 1);
}

// Multiplies. False when the product does not fit; *product is meaningless then.
TARN_CONSTANT bool checked_multiply(std::size_t a, std::size_t b, std::size_t* product) noexcept {
  return !__builtin_mul_overflow(a, b, product);
}

inline std::uintptr_t address_of(const void* p) noexcept {
  return reinterpret_cast<std::uintptr_t>(p);
}

inline bool is_aligned(const void* p, std::size_t alignment) noexcept {
  return (address_of(p) & (alignment - 1)) == 0;
}

}  // namespace tarn

#endif
#endif
