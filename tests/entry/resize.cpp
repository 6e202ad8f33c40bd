// resize: realloc and reallocarray keep contents and alignment along every path between sizes.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <vector>

#include "family.h"
#include "pattern.h"

namespace {

constexpr std::size_t steps[] = {
    1,     8,     16,    24,     100,    512,    1000,    1025,    4000,    4097,    16384,
    30000, 65536, 70001, 131072, 262145, 524288, 1048577, 2097152, 4194305, 9000000, 20000001};

TEST(Resize, EveryPairOfSizesKeepsTheCommonPrefix) {
  for (const std::size_t from : steps) {
    for (const std::size_t to : steps) {
      SCOPED_TRACE(testing::Message() << from << " -> " << to);
      void* block = FAMILY(malloc)(from);
      ASSERT_NE(block, nullptr);
      pattern_fill(block, from, 5);
      void* moved = FAMILY(realloc)(block, to);
      ASSERT_NE(moved, nullptr);
      ASSERT_TRUE(is_aligned(moved, to >= 16 ? 16 : 8));
      ASSERT_TRUE(pattern_holds_prefix(moved, std::min(from, to), from, 5));
      ASSERT_GE(FAMILY(malloc_usable_size)(moved), to);
      pattern_fill(moved, to, 6);
      ASSERT_TRUE(pattern_holds(moved, to, 6));
      FAMILY(free)(moved);
    }
  }
}

TEST(Resize, GrowingAndShrinkingStepwiseKeepsContents) {
  void* block = nullptr;
  std::size_t size = 0;
  for (std::size_t next = 1; next < 20000000; next += next / 7 + 1) {
    block = FAMILY(realloc)(block, next);
    ASSERT_NE(block, nullptr);
    ASSERT_TRUE(pattern_holds_prefix(block, size, size, 9)) << size << " -> " << next;
    pattern_fill(block, next, 9);
    size = next;
  }
  for (std::size_t next = size; next > 0; next -= next / 5 + 1) {
    block = FAMILY(realloc)(block, next);
    ASSERT_NE(block, nullptr);
    ASSERT_TRUE(pattern_holds_prefix(block, next, size, 9)) << size << " -> " << next;
    pattern_fill(block, next, 9);
    size = next;
  }
  FAMILY(free)(block);
}

TEST(Resize, RandomWalkAmongNeighboursKeepsContents) {
  struct Entry {
    void* block;
    std::size_t size;
  };
  std::vector<Entry> entries(64, Entry{nullptr, 0});
  uint64_t state = 42;
  for (int step = 0; step < 10000; ++step) {
    const std::size_t index = random_next(&state) % entries.size();
    const unsigned magnitude = static_cast<unsigned>(random_next(&state) % 20);
    const std::size_t size = 1 + random_next(&state) % (std::size_t{2} << magnitude);
    Entry& entry = entries[index];
    const unsigned seed = static_cast<unsigned>(index);
    void* moved = FAMILY(realloc)(entry.block, size);
    ASSERT_NE(moved, nullptr);
    ASSERT_TRUE(pattern_holds_prefix(moved, std::min(size, entry.size), entry.size, seed));
    pattern_fill(moved, size, seed);
    entry = {moved, size};
  }
  for (const Entry& entry : entries) FAMILY(free)(entry.block);
}

// realloc to what the block already holds is free of charge: neither a move nor a copy (S2.3).
TEST(Resize, StaysInPlaceWhileTheBlockSuffices) {
  for (const std::size_t size : steps) {
    void* block = FAMILY(malloc)(size);
    ASSERT_NE(block, nullptr);
    const std::size_t usable = FAMILY(malloc_usable_size)(block);
    void* const kept = FAMILY(realloc)(block, usable);
    EXPECT_EQ(kept, block) << size << " usable " << usable;
    FAMILY(free)(kept);
  }
}

TEST(Resize, ToZeroFreesAndReturnsNull) {
  for (const std::size_t size : steps) {
    void* block = FAMILY(malloc)(size);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(FAMILY(realloc)(block, opaque(0)), nullptr) << size;
  }
  void* block = FAMILY(malloc)(40);
  EXPECT_EQ(FAMILY(reallocarray)(block, opaque(0), 16), nullptr);
  block = FAMILY(malloc)(40);
  EXPECT_EQ(FAMILY(reallocarray)(block, 16, opaque(0)), nullptr);
}

// Were the block not freed, this would ask for 2 TiB in all and fail on the way.
TEST(Resize, ToZeroLeaksNothing) {
  for (int round = 0; round < 32768; ++round) {
    void* block = FAMILY(malloc)(std::size_t{64} << 20);
    ASSERT_NE(block, nullptr) << round;
    ASSERT_EQ(FAMILY(realloc)(block, opaque(0)), nullptr);
  }
}

TEST(Resize, AlignedBlocksKeepContents) {
  for (std::size_t alignment = 32; alignment <= 65536; alignment *= 2) {
    for (const std::size_t from : {std::size_t{40}, alignment, 3 * alignment}) {
      for (const std::size_t to : {std::size_t{1}, from / 2, from + 1, 20 * from}) {
        void* block = FAMILY(memalign)(alignment, from);
        ASSERT_NE(block, nullptr);
        pattern_fill(block, from, 11);
        void* moved = FAMILY(realloc)(block, to);
        ASSERT_NE(moved, nullptr);
        ASSERT_TRUE(pattern_holds_prefix(moved, std::min(from, to), from, 11));
        ASSERT_TRUE(is_aligned(moved, to >= 16 ? 16 : 8));
        FAMILY(free)(moved);
      }
    }
  }
}

TEST(Resize, ReallocarrayMultiplies) {
  void* block = FAMILY(reallocarray)(nullptr, 100, 12);
  ASSERT_NE(block, nullptr);
  ASSERT_GE(FAMILY(malloc_usable_size)(block), 1200u);
  pattern_fill(block, 1200, 2);
  block = FAMILY(reallocarray)(block, 1000, 120);
  ASSERT_NE(block, nullptr);
  ASSERT_GE(FAMILY(malloc_usable_size)(block), 120000u);
  EXPECT_TRUE(pattern_holds(block, 1200, 2));
  FAMILY(free)(block);
}

TEST(Resize, BlocksOfAnotherThreadKeepContents) {
  std::vector<void*> blocks(std::size(steps));
  std::thread([&blocks] {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      blocks[i] = FAMILY(malloc)(steps[i]);
      if (blocks[i] != nullptr) pattern_fill(blocks[i], steps[i], static_cast<unsigned>(i));
    }
  }).join();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    ASSERT_NE(blocks[i], nullptr);
    void* moved = FAMILY(realloc)(blocks[i], steps[i] * 2);
    ASSERT_NE(moved, nullptr);
    EXPECT_TRUE(pattern_holds(moved, steps[i], static_cast<unsigned>(i))) << steps[i];
    FAMILY(free)(moved);
  }
}

}  // namespace
