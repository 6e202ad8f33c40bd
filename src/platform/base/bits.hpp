// bits: questions about the binary form of an integer, and tarn/detail/align.hpp's arithmetic.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tarn/detail/align.hpp"

namespace tarn {

// A place for n in a table of 2^bits places: multiplicative hashing by 2^64 over the golden ratio
// (Knuth, The Art of Computer Programming, 6.4). pre: 0 < bits < 64
constexpr std::size_t hashed_place(std::uint64_t n, unsigned bits) noexcept {
  return static_cast<std::size_t>(n * 0x9e3779b97f4a7c15 >> (64 - bits));
}

// pre: n > 0
constexpr unsigned log2_floor(std::size_t n) noexcept {
  return static_cast<unsigned>(std::bit_width(n)) - 1;
}

}  // namespace tarn
