// bits: questions about the binary form of an integer, and tarn/detail/align.hpp's arithmetic.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tarn/detail/align.hpp"

namespace tarn {

// pre: n > 0
constexpr unsigned log2_floor(std::size_t n) noexcept {
  return static_cast<unsigned>(std::bit_width(n)) - 1;
}

}  // namespace tarn
