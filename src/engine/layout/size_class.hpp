// size_class: the one place that turns a request in bytes into a block size.
//
//   class   0   1   2  ...   64 |   65   66  ...   72 |   73 ...
//   bytes  16  16  32  ... 1024 | 1152 1280  ... 2048 | 2304 ...  up to block_bytes_max
//          `---- step 16 -----' | `--- step 128 ----'   `- step 256: eight steps a doubling
//
// Class 0 is that of a request for no bytes: it has blocks of its own so that the hit path needs no
// case for zero. Requests up to 1 KiB waste at most 15 bytes, larger ones less than 1/9.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "tarn/detail/steps.h"

namespace tarn {

using SizeClass = std::uint8_t;

inline constexpr std::size_t block_align = 16;
inline constexpr std::size_t linear_bytes_max = 1024;       // One class per 16 bytes up to here.
inline constexpr std::size_t block_bytes_max = 128 * 1024;  // Larger blocks are spans of their own.
inline constexpr unsigned steps_log2 = 3;  // Eight classes a doubling above the linear part.
inline constexpr std::size_t linear_class_max = linear_bytes_max / block_align;

// pre: bytes <= linear_bytes_max
constexpr std::size_t linear_class_of(std::size_t bytes) noexcept {
  TARN_ASSERT(bytes <= linear_bytes_max);
  return (bytes + block_align - 1) / block_align;
}

// pre: linear_bytes_max < bytes <= block_bytes_max
constexpr std::size_t stepped_class_of(std::size_t bytes) noexcept {
  TARN_ASSERT(bytes > linear_bytes_max && bytes <= block_bytes_max);
  return 1 + tarn_step_after((bytes - 1) / block_align, log2_floor(linear_class_max), steps_log2);
}

// pre: bytes <= block_bytes_max
constexpr std::size_t class_of(std::size_t bytes) noexcept {
  return bytes <= linear_bytes_max ? linear_class_of(bytes) : stepped_class_of(bytes);
}

inline constexpr std::size_t class_count = class_of(block_bytes_max) + 1;

// A heap may have classes of its own for blocks of exact sizes; they are numbered after the others.
inline constexpr std::size_t fixed_classes_max = 128;
inline constexpr std::size_t bin_count = class_count + fixed_classes_max;
static_assert(bin_count <= 256, "a page keeps its class in one byte");
inline constexpr std::size_t no_class = bin_count;  // Stands for a large block.

constexpr std::array<std::uint32_t, class_count> make_block_bytes() noexcept {
  std::array<std::uint32_t, class_count> table{};
  table[0] = block_align;
  for (std::size_t bytes = block_align; bytes <= block_bytes_max; bytes += block_align) {
    table[class_of(bytes)] = static_cast<std::uint32_t>(bytes);  // The last writer is the largest.
  }
  return table;
}

inline constexpr auto class_block_bytes = make_block_bytes();

// 2^64 / size, rounded up: a number below 2^32 is a multiple of the size if its product with this
// wraps to less than this. (Lemire, Kaser, Kurz: Faster remainder by direct computation, 2019.)
constexpr std::array<std::uint64_t, class_count> make_block_inverses() noexcept {
  std::array<std::uint64_t, class_count> table{};
  for (std::size_t c = 0; c < class_count; ++c) table[c] = UINT64_MAX / class_block_bytes[c] + 1;
  return table;
}

inline constexpr auto class_block_inverses = make_block_inverses();

// pre, here and for the next one: n < 2^32
constexpr bool is_multiple_by(std::uint64_t n, std::uint64_t inverse) noexcept {
  return n * inverse <= inverse - 1;
}
constexpr bool is_multiple_of_block(std::size_t n, std::size_t size_class) noexcept {
  return is_multiple_by(n, class_block_inverses[size_class]);
}

// The smallest class whose blocks hold `bytes` and lie at multiples of `alignment` from an aligned
// page; class_count when there is none. pre: alignment is a power of two, bytes <= block_bytes_max
constexpr std::size_t aligned_class_of(std::size_t bytes, std::size_t alignment) noexcept {
  TARN_ASSERT(bytes <= block_bytes_max && is_power_of_two(alignment));
  const std::size_t wanted = align_up(bytes == 0 ? 1 : bytes, alignment);
  if (wanted > block_bytes_max) return class_count;
  for (std::size_t c = class_of(wanted); c < class_count; ++c) {
    if (class_block_bytes[c] % alignment == 0) return c;
  }
  return class_count;
}

consteval bool size_classes_are_sound() noexcept {
  if (class_of(0) != 0 || class_of(1) != 1 || class_block_bytes[0] != block_align) return false;
  for (std::size_t c = 1; c < class_count; ++c) {
    const std::size_t size = class_block_bytes[c];
    const std::size_t below = c == 1 ? 0 : class_block_bytes[c - 1];
    if (size % block_align != 0 || size <= below) return false;
    if (class_of(size) != c || class_of(below + 1) != c) return false;
    const std::size_t waste_worst = size - (below + 1);
    const bool linear = size <= linear_bytes_max;
    if (linear ? waste_worst >= block_align : waste_worst * 9 >= size) return false;
  }
  return class_block_bytes[class_count - 1] == block_bytes_max;
}
static_assert(size_classes_are_sound());

}  // namespace tarn
