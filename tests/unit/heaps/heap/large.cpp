// Blocks that are spans of their own.
//
// SPDX-License-Identifier: MIT
#include "heaps/heap/large.hpp"
#include "heaps/operations/trim.hpp"

#include <cerrno>
#include <cstring>
#include <vector>

#include "actor.hpp"
#include "engine/store/store.hpp"
#include "platform/os/fake/fake.hpp"
#include "tarn/tarn.h"

namespace tarn {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

class LargeTest : public testing::Test {
 protected:
  ~LargeTest() override {
    os::fake::fail_at(0, false);
    expect_nothing_in_use();
  }
  static void fill(void* p, std::size_t bytes, unsigned seed) {
    auto* const words = static_cast<std::uint32_t*>(p);
    for (std::size_t i = 0; i < bytes / 4; ++i) words[i] = static_cast<std::uint32_t>(i) * seed;
  }
  static bool is_filled(const void* p, std::size_t bytes, unsigned seed) {
    const auto* const words = static_cast<const std::uint32_t*>(p);
    for (std::size_t i = 0; i < bytes / 4; ++i) {
      if (words[i] != static_cast<std::uint32_t>(i) * seed) return false;
    }
    return true;
  }
  static std::size_t usable(void* p) { return tarn_malloc_usable_size(p); }
};

TEST_F(LargeTest, WholeSlices) {
  for (const std::size_t bytes : {block_bytes_max + 1, mib - 1, mib, mib + 1}) {
    void* const p = tarn_malloc(bytes);
    EXPECT_EQ(address_of(p) % slice_bytes, 0u);
    EXPECT_EQ(usable(p), slices_for(bytes) * slice_bytes);
    std::memset(p, 1, usable(p));
    tarn_free(p);
  }
}

TEST_F(LargeTest, ZeroedAlsoFromMemoryThatWasUsed) {
  for (int i = 0; i < 3; ++i) {
    auto* const p = static_cast<unsigned char*>(tarn_calloc(3, mib));
    for (std::size_t b = 0; b < 3 * mib; ++b) ASSERT_EQ(p[b], 0) << "turn " << i;
    std::memset(p, 0xff, 3 * mib);
    tarn_free(p);
  }
}

TEST_F(LargeTest, AnyAlignment) {
  for (std::size_t alignment = 1; alignment <= 64 * mib; alignment *= 2) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, mib}) {
      void* const p = tarn_aligned_alloc(alignment, bytes);
      ASSERT_NE(p, nullptr) << alignment;
      EXPECT_EQ(address_of(p) % alignment, 0u);
      EXPECT_GE(usable(p), bytes);
      tarn_free(p);
    }
  }
}

TEST_F(LargeTest, SizesAndAlignmentsThatCannotBe) {
  for (const std::size_t bytes :
       {SIZE_MAX, request_bytes_max + 1, request_bytes_max, std::size_t{1} << 47}) {
    errno = 0;
    EXPECT_EQ(tarn_malloc(bytes), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(tarn_aligned_alloc(64, bytes), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
  errno = 0;
  EXPECT_EQ(tarn_aligned_alloc(std::size_t{1} << 63, 1), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST_F(LargeTest, GrowsInPlaceOverFreeMemory) {
  void* const room = tarn_malloc(8 * mib);
  tarn_free(room);
  void* const p = tarn_malloc(mib);
  fill(p, mib, 5);
  void* const grown = tarn_realloc(p, 4 * mib);
  EXPECT_EQ(grown, p);
  EXPECT_TRUE(is_filled(grown, mib, 5));
  EXPECT_EQ(usable(grown), 4 * mib);
  tarn_free(grown);
}

TEST_F(LargeTest, MovesWhenTheNeighbourIsInUse) {
  // Below and above the size from which on it moves by page tables.
  for (const std::size_t bytes : {std::size_t{150} * 1024, 4 * mib}) {
    void* const whole = tarn_malloc(2 * bytes);
    tarn_free(whole);
    void* const p = tarn_malloc(bytes);
    void* const neighbour = tarn_malloc(bytes);
    fill(p, bytes, 3);
    fill(neighbour, bytes, 4);
    void* const moved = tarn_realloc(p, 3 * bytes);
    ASSERT_NE(moved, nullptr);
    if (static_cast<std::byte*>(neighbour) == static_cast<std::byte*>(p) + usable(neighbour)) {
      EXPECT_NE(moved, p);
    }
    EXPECT_TRUE(is_filled(moved, bytes, 3));
    EXPECT_TRUE(is_filled(neighbour, bytes, 4));
    std::memset(moved, 1, 3 * bytes);
    EXPECT_TRUE(is_filled(neighbour, bytes, 4));
    auto* const zero = static_cast<std::byte*>(tarn_calloc(1, bytes));
    for (std::size_t i = 0; i < bytes; i += 8) ASSERT_EQ(zero[i], std::byte{0});
    tarn_free(zero);
    tarn_free(moved);
    tarn_free(neighbour);
  }
}

// Warm room is taken first; else the OS moves the block, and when it refuses, bytes are copied.
TEST_F(LargeTest, GrowsIntoWarmRoomOrByPageTablesOrByACopy) {
  enum class Way { warm, page_tables, copy };
  for (const Way way : {Way::warm, Way::page_tables, Way::copy}) {
    trim(0);
    void* const most = tarn_malloc(store.totals().reserved_bytes);  // Little is clean beside it.
    void* const p = tarn_malloc(mib);
    void* const neighbour = tarn_malloc(mib);
    std::vector<void*> rooms;
    if (way != Way::page_tables) rooms.push_back(tarn_malloc((way == Way::warm ? 20 : 4) * mib));
    for (void* room : rooms) tarn_free(room);
    fill(p, mib, 9);
    const std::uint64_t map_calls = store.totals().map_calls;
    if (way == Way::copy) os::fake::fail_at(1, true);
    void* const grown = tarn_realloc(p, 3 * mib);
    os::fake::fail_at(0, false);
    ASSERT_NE(grown, nullptr);
    EXPECT_TRUE(is_filled(grown, mib, 9));
    EXPECT_EQ(store.totals().map_calls - map_calls, way == Way::page_tables ? 1u : 0u);
    std::memset(grown, 1, 3 * mib);
    auto* const zeroed = static_cast<std::uint64_t*>(tarn_calloc(1, mib));
    for (std::size_t w = 0; w < mib / 8; ++w) ASSERT_EQ(zeroed[w], 0u);
    tarn_free(zeroed);
    tarn_free(grown);
    tarn_free(neighbour);
    tarn_free(most);
  }
}

// Growing needs address space for the difference alone, whatever the size of the block.
TEST_F(LargeTest, GrowsWhenTwoBlocksDoNotFit) {
  for (const std::size_t bytes : {std::size_t{150} * 1024, 4 * mib}) {
    trim(0);
    std::vector<void*> fillers;  // Nothing is free afterwards.
    void* const p = tarn_malloc(bytes);
    os::fake::fail_at(1, true);
    for (std::size_t size = 64 * mib; size > block_bytes_max; size -= slice_bytes) {
      for (void* f = tarn_malloc(size); f != nullptr; f = tarn_malloc(size)) fillers.push_back(f);
    }
    os::fake::fail_at(0, false);
    os::fake::limit_bytes(os::fake::bytes_reserved() + bytes + 4 * mib);
    fill(p, bytes, 13);
    void* const grown = tarn_realloc(p, bytes + bytes / 2);
    os::fake::limit_bytes(0);
    ASSERT_NE(grown, nullptr);
    EXPECT_TRUE(is_filled(grown, bytes, 13));
    tarn_free(grown);
    for (void* f : fillers) tarn_free(f);
  }
}

TEST_F(LargeTest, ShrinkingGivesTheTailBackUnlessItIsSmall) {
  void* const p = tarn_malloc(10 * mib);
  fill(p, 10 * mib, 7);
  EXPECT_EQ(tarn_realloc(p, 10 * mib - 100), p);
  EXPECT_EQ(tarn_realloc(p, 9 * mib), p);
  EXPECT_EQ(usable(p), 10 * mib) << "an eighth more stays";
  EXPECT_EQ(tarn_realloc(p, 3 * mib), p);
  EXPECT_EQ(usable(p), 3 * mib);
  EXPECT_TRUE(is_filled(p, 3 * mib, 7));
  void* const small = tarn_realloc(p, 100);
  EXPECT_TRUE(is_filled(small, 100, 7));
  EXPECT_LE(usable(small), block_bytes_max);
  tarn_free(small);
}

TEST_F(LargeTest, AFailedReallocLeavesTheBlockAsItWas) {
  void* const p = tarn_malloc(mib);
  fill(p, mib, 11);
  for (const std::size_t bytes : {SIZE_MAX, std::size_t{1} << 46}) {
    errno = 0;
    EXPECT_EQ(tarn_realloc(p, bytes), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
  os::fake::fail_at(1, true);
  errno = 0;
  EXPECT_EQ(tarn_realloc(p, 4000 * mib), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  os::fake::fail_at(0, false);
  EXPECT_TRUE(is_filled(p, mib, 11));
  EXPECT_EQ(usable(p), mib);
  tarn_free(p);
}

// Where there is no memory to move to, a block that shrinks stays, and nobody hears of it.
TEST_F(LargeTest, ASmallerSizeIsToBeHadWithoutMemory) {
  for (const std::size_t bytes : {mib, std::size_t{60'000}}) {
    void* const p = tarn_malloc(bytes);
    fill(p, 500, 3);
    os::fake::fail_at(1, true);
    std::vector<void*> taken;
    for (void* q = tarn_malloc(500); q != nullptr; q = tarn_malloc(500)) taken.push_back(q);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(tarn_realloc(p, 500), p);
    EXPECT_EQ(errno, 0);
    EXPECT_TRUE(is_filled(p, 500, 3));
    os::fake::fail_at(0, false);
    for (void* q : taken) tarn_free(q);
    tarn_free(p);
  }
}

}  // namespace
}  // namespace tarn
