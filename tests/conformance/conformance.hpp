// conformance: the behaviour that every BlockAllocator must show (tarn/source/concepts.hpp), run
// once for each of them, as a typed test.
//
//   struct ThePool { tarn::Pool allocator{64}; static constexpr std::size_t bytes_max = 64; ... };
//
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "tarn/detail/align.hpp"
#include "tarn/source/concepts.hpp"

namespace conformance {

// What a fixture says of its allocator: `allocator`, and
//   bytes_max, alignment_max   the largest request that it serves
//   blocks                     how many of them it surely has at the same time
//   frees                      whether a freed block's memory is used again
//   knows                      if it is there: that it cannot tell its blocks from others
template <class Fixture>
class BlockAllocators : public testing::Test {
 protected:
  using Allocator = decltype(Fixture::allocator);
  static_assert(tarn::BlockAllocator<Allocator>);

  struct Block {
    unsigned char* p;
    std::size_t bytes;
    std::size_t alignment;
    unsigned char value;
  };

  static void fill(const Block& block) {
    if (block.bytes != 0) std::memset(block.p, block.value, block.bytes);
  }
  static bool is_filled(const Block& block) {
    for (std::size_t i = 0; i < block.bytes; ++i) {
      if (block.p[i] != block.value) return false;
    }
    return true;
  }
  static bool overlap(const Block& a, const Block& b) {
    return a.p < b.p + b.bytes && b.p < a.p + a.bytes;
  }

  Block allocate(std::mt19937& random) {
    Block block{};
    block.bytes = random() % (Fixture::bytes_max + 1);
    do {
      block.alignment = std::size_t{1} << (random() % 13);
    } while (block.alignment > Fixture::alignment_max);
    block.value = static_cast<unsigned char>(random());
    auto& allocator = fixture_.allocator;
    block.p = static_cast<unsigned char*>(allocator.try_allocate(block.bytes, block.alignment));
    return block;
  }

  bool is_known(const void* p) const {
    if constexpr (requires { Fixture::knows; }) {
      return true;
    } else {
      return fixture_.allocator.owns(p);
    }
  }

  void deallocate(const Block& block) {
    fixture_.allocator.deallocate(block.p, block.bytes, block.alignment);
  }

  Fixture fixture_;
};

TYPED_TEST_SUITE_P(BlockAllocators);

TYPED_TEST_P(BlockAllocators, KeepsWhatIsWritten) {
  using Block = typename BlockAllocators<TypeParam>::Block;
  auto& allocator = this->fixture_.allocator;
  std::mt19937 random(1);
  std::vector<Block> live;
  for (int step = 0; step < 20'000; ++step) {
    if (live.size() < TypeParam::blocks && random() % 3 != 0) {
      const Block block = this->allocate(random);
      ASSERT_NE(block.p, nullptr) << "step " << step;
      ASSERT_TRUE(tarn::is_aligned(block.p, block.alignment));
      ASSERT_TRUE(this->is_known(block.p));
      this->fill(block);
      live.push_back(block);
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      ASSERT_TRUE(this->is_filled(live.back())) << "step " << step;
      this->deallocate(live.back());
      live.pop_back();
    }
    if (step % 64 == 0) {
      ASSERT_TRUE(allocator.check()) << "step " << step;
    }
  }
  for (std::size_t i = 0; i < live.size(); ++i) {
    ASSERT_TRUE(this->is_filled(live[i]));
    for (std::size_t j = 0; j < i; ++j) ASSERT_FALSE(this->overlap(live[i], live[j]));
  }
  for (const Block& block : live) this->deallocate(block);
  EXPECT_TRUE(allocator.check());
}

TYPED_TEST_P(BlockAllocators, UsesMemoryAgain) {
  auto& allocator = this->fixture_.allocator;
  if (!TypeParam::frees) return;
  for (std::size_t i = 0; i < 20 * TypeParam::blocks; ++i) {
    void* const p = allocator.try_allocate(TypeParam::bytes_max, 1);
    ASSERT_NE(p, nullptr) << i;
    allocator.deallocate(p, TypeParam::bytes_max, 1);
  }
  EXPECT_TRUE(allocator.check());
}

TYPED_TEST_P(BlockAllocators, RefusesWhatItCannotHold) {
  auto& allocator = this->fixture_.allocator;
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 64, SIZE_MAX / 2 + 1, SIZE_MAX - 4096}) {
    for (const std::size_t alignment : {std::size_t{1}, std::size_t{16}, std::size_t{4096}}) {
      EXPECT_EQ(allocator.try_allocate(bytes, alignment), nullptr) << bytes;
    }
  }
  EXPECT_TRUE(allocator.check());
}

TYPED_TEST_P(BlockAllocators, KnowsItsOwn) {
  auto& allocator = this->fixture_.allocator;
  int elsewhere = 0;
  EXPECT_FALSE(allocator.owns(&elsewhere));
  EXPECT_FALSE(allocator.owns(nullptr));
  EXPECT_FALSE(allocator.owns(reinterpret_cast<void*>(UINTPTR_MAX)));
  allocator.deallocate(nullptr, 8, 8);
  void* const p = allocator.try_allocate(1, 1);
  ASSERT_NE(p, nullptr);
  EXPECT_TRUE(this->is_known(p));
  allocator.deallocate(p, 1, 1);
  EXPECT_TRUE(allocator.check());
}

REGISTER_TYPED_TEST_SUITE_P(BlockAllocators, KeepsWhatIsWritten, UsesMemoryAgain,
                            RefusesWhatItCannotHold, KnowsItsOwn);

}  // namespace conformance
