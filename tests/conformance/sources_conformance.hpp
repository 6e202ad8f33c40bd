// sources_conformance: the behaviour that every Source must show (tarn/source/concepts.hpp), run
// once for each of them, as a typed test.
//
//   struct OfABuffer { tarn::BufferSource source; static constexpr std::size_t bytes_max = 100; };
//
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "tarn/detail/align.hpp"
#include "tarn/source/concepts.hpp"

namespace conformance {

// What a fixture says of its source: `source`, and
//   bytes_max, alignment_max   the largest request that it serves
//   chunks                     how many of them it surely has at the same time
//   nothing_lost()             true when nothing is out
template <class Fixture>
class Sources : public testing::Test {
 protected:
  using Source = std::remove_reference_t<decltype(Fixture::source)>;
  static_assert(tarn::Source<Source>);

  struct Held {
    tarn::Chunk chunk;
    unsigned char value;
  };

  static unsigned char* bytes_of(const tarn::Chunk& chunk) {
    return static_cast<unsigned char*>(chunk.data);
  }
  static bool is_filled(const Held& held) {
    for (std::size_t i = 0; i < held.chunk.bytes; ++i) {
      if (bytes_of(held.chunk)[i] != held.value) return false;
    }
    return true;
  }

  Fixture fixture_;
};

TYPED_TEST_SUITE_P(Sources);

TYPED_TEST_P(Sources, ChunksAreAlignedLargeEnoughAndApart) {
  using Held = typename Sources<TypeParam>::Held;
  auto& source = this->fixture_.source;
  std::mt19937 random(1);
  std::vector<Held> out;
  for (int step = 0; step < 3'000; ++step) {
    if (out.size() < TypeParam::chunks && random() % 2 == 0) {
      const std::size_t bytes = random() % (TypeParam::bytes_max + 1);
      std::size_t alignment = std::size_t{1} << (random() % 22);
      while (alignment > TypeParam::alignment_max) alignment /= 2;
      const tarn::Chunk chunk = source.acquire(bytes, alignment);
      ASSERT_NE(chunk.data, nullptr) << "step " << step;
      ASSERT_GE(chunk.bytes, bytes);
      ASSERT_TRUE(tarn::is_aligned(chunk.data, alignment));
      for (const Held& other : out) {
        ASSERT_TRUE(this->bytes_of(chunk) + chunk.bytes <= this->bytes_of(other.chunk) ||
                    this->bytes_of(other.chunk) + other.chunk.bytes <= this->bytes_of(chunk));
      }
      const auto value = static_cast<unsigned char>(random());
      std::memset(chunk.data, value, chunk.bytes);
      out.push_back({chunk, value});
    } else if (!out.empty()) {
      std::swap(out[random() % out.size()], out.back());
      ASSERT_TRUE(this->is_filled(out.back())) << "step " << step;
      source.release(out.back().chunk);
      out.pop_back();
    }
  }
  for (const Held& held : out) {
    ASSERT_TRUE(this->is_filled(held));
    source.release(held.chunk);
  }
  EXPECT_TRUE(this->fixture_.nothing_lost());
}

// Over and over, in three orders: what comes back is there again, whole.
TYPED_TEST_P(Sources, EverythingReleasedCanBeHadAgain) {
  auto& source = this->fixture_.source;
  for (int round = 0; round < 60; ++round) {
    std::vector<tarn::Chunk> out;
    for (std::size_t i = 0; i < TypeParam::chunks; ++i) {
      out.push_back(source.acquire(TypeParam::bytes_max, 16));
      ASSERT_NE(out.back().data, nullptr) << "round " << round << ", chunk " << i;
    }
    if (round % 3 == 1) std::reverse(out.begin(), out.end());
    if (round % 3 == 2) std::shuffle(out.begin(), out.end(), std::mt19937(7));
    for (const tarn::Chunk& chunk : out) source.release(chunk);
  }
  EXPECT_TRUE(this->fixture_.nothing_lost());
}

TYPED_TEST_P(Sources, AbsurdSizesAreNull) {
  auto& source = this->fixture_.source;
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX - 4096, SIZE_MAX / 2 + 1}) {
    for (const std::size_t alignment : {std::size_t{1}, std::size_t{16}, std::size_t{1} << 21}) {
      EXPECT_EQ(source.acquire(bytes, alignment).data, nullptr) << bytes;
    }
  }
  EXPECT_EQ(source.acquire(16, std::size_t{1} << 63).data, nullptr);
  EXPECT_TRUE(this->fixture_.nothing_lost());
  const tarn::Chunk chunk = source.acquire(1, 1);
  ASSERT_NE(chunk.data, nullptr);
  source.release(chunk);
}

REGISTER_TYPED_TEST_SUITE_P(Sources, ChunksAreAlignedLargeEnoughAndApart,
                            EverythingReleasedCanBeHadAgain, AbsurdSizesAreNull);

}  // namespace conformance
