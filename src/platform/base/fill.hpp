// fill: what is written into memory that nobody may use: blocks that have been freed, the bytes
// behind those that have not, and secrets.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"

namespace tarn {

inline constexpr unsigned char freed_byte = 0xdf;
inline constexpr unsigned char canary_byte = 0xfc;
inline constexpr std::size_t canary_bytes = 8;  // A canary has so many bytes at least.

// The first byte that is not `value`; null when none has been changed. Byte: char or std::byte.
template <class Byte>
const Byte* first_changed(const Byte* from, const Byte* to, unsigned char value) noexcept {
  constexpr std::uint64_t each = 0x0101010101010101;
  TARN_ASSERT(from <= to);
  const auto is_changed = [value](Byte byte) { return static_cast<unsigned char>(byte) != value; };
  while (from != to && (address_of(from) % 8 != 0 || to - from < 8)) {
    if (is_changed(*from)) return from;
    ++from;
  }
  for (; to - from >= 8; from += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, sizeof word);
    if (word != each * value) break;
  }
  while (from != to && !is_changed(*from)) ++from;
  return from == to ? nullptr : from;
}

// A canary is what lies from the end of a checked block to `to`.
template <class Byte>
void write_canary(Byte* from, Byte* to) noexcept {
  std::memset(from, canary_byte, static_cast<std::size_t>(to - from));
}

// Overwrites memory with zeros, whatever a compiler thinks of it.
inline void wipe(void* start, std::size_t bytes) noexcept {
  std::memset(start, 0, bytes);
  __asm__ volatile("" : : "r"(start) : "memory");
}

}  // namespace tarn
