// The workloads' own generator of random numbers, so that every run does the same on every libc.
//
// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014): three
// multiplications and shifts, which is little beside a malloc.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tarn {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // Below `bound`, which is at most 2^32: the high half of a product, so without a division.
  std::uint64_t below(std::uint64_t bound) { return ((next() >> 32) * bound) >> 32; }

  std::size_t between(std::size_t low, std::size_t high) {
    return low + static_cast<std::size_t>(below(high - low + 1));
  }

  // Log-uniform: every doubling from `low` to `low << doublings` is as likely as any other, which
  // is nearer to what programs ask for than a uniform size.
  std::size_t log_size(std::size_t low, unsigned doublings) {
    const std::uint64_t bits = next();
    const std::size_t base = low << (((bits >> 32) * doublings) >> 32);
    return base + static_cast<std::size_t>(((bits & 0xffffffffu) * base) >> 32);
  }

 private:
  std::uint64_t state_;
};

// Ranks 1..count with P(rank) ~ 1 / rank^exponent, by a table of the inverse distribution.
class Zipf {
 public:
  Zipf(std::size_t count, double exponent) : ranks_(table_size) {
    std::vector<double> cumulative(count);
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      sum += 1.0 / std::pow(static_cast<double>(i + 1), exponent);
      cumulative[i] = sum;
    }
    std::size_t rank = 0;
    for (std::size_t i = 0; i < table_size; ++i) {
      const double target = sum * (static_cast<double>(i) + 0.5) / table_size;
      while (cumulative[rank] < target) {
        ++rank;
      }
      ranks_[i] = static_cast<std::uint32_t>(rank + 1);
    }
  }

  std::size_t draw(Random& random) const { return ranks_[random.next() >> (64 - table_bits)]; }

 private:
  static constexpr unsigned table_bits = 14;
  static constexpr std::size_t table_size = std::size_t{1} << table_bits;
  std::vector<std::uint32_t> ranks_;
};

}  // namespace tarn
