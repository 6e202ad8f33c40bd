// random: numbers that look random, for decisions that no program is to foresee.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace tarn {

// Each bit of the result depends on each of n. (The finish of splitmix64: Steele, Lea, Flood: Fast
// splittable pseudorandom number generators, 2014.)
constexpr std::uint64_t mixed_bits(std::uint64_t n) noexcept {
  n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9;
  n = (n ^ n >> 27) * 0x94d049bb133111eb;
  return n ^ n >> 31;
}

// A sequence that a seed begins: splitmix64.
class Random {
 public:
  constexpr void seed(std::uint64_t seed) noexcept { state_ = seed == 0 ? 1 : seed; }
  constexpr bool is_seeded() const noexcept { return state_ != 0; }
  constexpr std::uint64_t next() noexcept { return mixed_bits(state_ += 0x9e3779b97f4a7c15); }
  // pre: 0 < n <= 2^32
  constexpr std::uint64_t below(std::uint64_t n) noexcept { return (next() >> 32) * n >> 32; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace tarn
