// Bits of slices, beside a vector that is searched plainly.
//
// SPDX-License-Identifier: MIT
#include "engine/zones/slice_bits.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tarn {
namespace {

struct Bits {
  explicit Bits(std::size_t slices) : words(SliceBits::bytes_for(slices) / 8), used(slices) {
    bits.begin(words.data(), slices);
  }
  std::size_t find(std::size_t count, std::size_t base, std::size_t alignment) const {
    for (std::size_t at = 0; at + count <= used.size(); ++at) {
      if ((base + at) % alignment == 0 && is_free(at, count)) return at;
    }
    return SliceBits::none;
  }
  std::size_t find_last(std::size_t count) const {
    for (std::size_t at = used.size() + 1; at-- > 0;) {
      if (at + count <= used.size() && is_free(at, count)) return at;
    }
    return SliceBits::none;
  }
  bool is_free(std::size_t at, std::size_t count) const {
    for (std::size_t i = at; i < at + count; ++i) {
      if (used[i]) return false;
    }
    return true;
  }
  void set(std::size_t at, std::size_t count, bool value) {
    for (std::size_t i = at; i < at + count; ++i) used[i] = value;
    value ? bits.take(at, count) : bits.give(at, count);
  }

  std::vector<std::uint64_t> words;
  std::vector<bool> used;
  SliceBits bits;
};

TEST(SliceBitsTest, FindsWhatAPlainSearchFinds) {
  for (const std::size_t slices : {1u, 63u, 64u, 65u, 200u, 1000u}) {
    Bits bits(slices);
    std::mt19937 random(static_cast<unsigned>(slices));
    std::vector<std::pair<std::size_t, std::size_t>> runs;
    for (int i = 0; i < 5000; ++i) {
      const std::size_t count = random() % (i % 7 == 0 ? slices : 12) + 1;
      const std::size_t base = random() % 100;
      const std::size_t alignment = i % 5 == 0 ? std::size_t{1} << random() % 5 : 1;
      const std::size_t found = bits.bits.find(count, base, alignment);
      ASSERT_EQ(found, bits.find(count, base, alignment));
      ASSERT_EQ(bits.bits.find_last(count), bits.find_last(count));
      ASSERT_TRUE(bits.bits.check());
      if (found != SliceBits::none && random() % 4 != 0) {
        bits.set(found, count, true);
        runs.emplace_back(found, count);
      }
      while (!runs.empty() && (found == SliceBits::none || random() % 3 == 0)) {
        std::swap(runs[random() % runs.size()], runs.back());
        bits.set(runs.back().first, runs.back().second, false);
        runs.pop_back();
        if (random() % 2 == 0) break;
      }
      ASSERT_TRUE(bits.bits.check());
    }
  }
}

TEST(SliceBitsTest, NextUsedAndNextFree) {
  Bits bits(130);
  bits.set(64, 64, true);
  EXPECT_EQ(bits.bits.next(0, 130, true), 64u);
  EXPECT_EQ(bits.bits.next(64, 130, false), 128u);
  EXPECT_EQ(bits.bits.next(128, 130, true), 130u);
  EXPECT_EQ(bits.bits.next(70, 100, false), 100u);
  EXPECT_TRUE(bits.bits.all_free(0, 64));
  EXPECT_FALSE(bits.bits.all_free(0, 65));
  EXPECT_EQ(bits.bits.free_slices(), 66u);
  bits.bits.clear();
  EXPECT_EQ(bits.bits.free_slices(), 130u);
}

// A run that fills up is not searched from its start each time: a million would take minutes.
TEST(SliceBitsTest, FillingALongRunIsLinear) {
  constexpr std::size_t slices = std::size_t{1} << 20;
  Bits bits(slices);
  bits.set(0, 1, true);
  bits.set(3, 1, true);  // A hole that fits nothing.
  for (std::size_t at = 4; at + 4 <= slices; at += 4) {
    ASSERT_EQ(bits.bits.find(4, 0, 1), at);
    bits.bits.take(at, 4);
  }
  EXPECT_EQ(bits.bits.find(4, 0, 1), SliceBits::none);
  EXPECT_EQ(bits.bits.find(2, 0, 1), 1u);
}

}  // namespace
}  // namespace tarn
