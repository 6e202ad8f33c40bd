// contents: calloc's zeros over memory that was used before, to the end of what may be used, and
// live blocks that never overlap.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "family.h"
#include "pattern.h"

namespace {

bool is_zero(const void* block, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(block);
  return size == 0 || (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

void soil_and_free(std::vector<void*>& blocks) {
  for (void* block : blocks) {
    ASSERT_NE(block, nullptr);
    std::memset(block, 0xA5, FAMILY(malloc_usable_size)(block));
  }
  for (void* block : blocks) FAMILY(free)(block);
}

void expect_zeroed_after_use(std::size_t size, std::size_t count) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) block = FAMILY(malloc)(size);
  soil_and_free(blocks);
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i] = i % 2 == 0 ? FAMILY(calloc)(1, size) : FAMILY(calloc)(size, 1);
    ASSERT_NE(blocks[i], nullptr);
    const std::size_t usable = FAMILY(malloc_usable_size)(blocks[i]);
    ASSERT_TRUE(is_zero(blocks[i], usable)) << size << ", block " << i << " of " << usable;
  }
  soil_and_free(blocks);
}

TEST(Contents, CallocIsZeroForReusedSmallBlocks) {
  for (std::size_t size = 1; size <= 2100; ++size) expect_zeroed_after_use(size, 6);
}

TEST(Contents, CallocIsZeroForReusedMediumBlocks) {
  for (std::size_t size = 2101; size < 600000; size += size / 19) expect_zeroed_after_use(size, 4);
}

TEST(Contents, CallocIsZeroForReusedLargeBlocks) {
  for (std::size_t size = 600000; size < 80000000 / TARN_TEST_DIVISOR; size += size / 2) {
    for (int round = 0; round < 3; ++round) expect_zeroed_after_use(size, 2);
  }
}

// A large block shrinks and another grows over what it gave up: none of that may look clean.
TEST(Contents, CallocIsZeroAfterBlocksShrink) {
  for (std::size_t size = 100000; size < 20000000; size *= 3) {
    void* block = FAMILY(malloc)(size);
    ASSERT_NE(block, nullptr);
    std::memset(block, 0x5A, size);
    block = FAMILY(realloc)(block, size / 4);
    ASSERT_NE(block, nullptr);
    std::array<void*, 6> zeroed{};
    for (std::size_t i = 0; i < zeroed.size(); ++i) {
      zeroed[i] = FAMILY(calloc)(1, size / (i + 1));
      ASSERT_NE(zeroed[i], nullptr);
      EXPECT_TRUE(is_zero(zeroed[i], FAMILY(malloc_usable_size)(zeroed[i]))) << size << ' ' << i;
    }
    for (void* each : zeroed) FAMILY(free)(each);
    FAMILY(free)(block);
  }
}

TEST(Contents, CallocMultiplies) {
  void* block = FAMILY(calloc)(1000, 77);
  ASSERT_NE(block, nullptr);
  ASSERT_GE(FAMILY(malloc_usable_size)(block), 77000u);
  EXPECT_TRUE(is_zero(block, 77000));
  FAMILY(free)(block);
}

struct Live {
  void* block;
  std::size_t size;
  unsigned seed;
};

Live take(uint64_t* state, unsigned seed) {
  const unsigned kind = static_cast<unsigned>(random_next(state) % 100);
  const std::size_t limit = kind < 80 ? 512 : kind < 98 ? 40000 : 2000000;
  Live live{nullptr, 1 + random_next(state) % limit, seed};
  switch (random_next(state) % 4) {
    case 0: live.block = FAMILY(calloc)(1, live.size); break;
    case 1: live.block = FAMILY(memalign)(std::size_t{16} << (seed % 6), live.size); break;
    default: live.block = FAMILY(malloc)(live.size);
  }
  if (live.block != nullptr) pattern_fill(live.block, live.size, seed);
  return live;
}

TEST(Contents, LiveBlocksNeverOverlap) {
  std::vector<Live> slots(2000, Live{nullptr, 0, 0});
  uint64_t state = 7;
  for (unsigned step = 0; step < 60000 / TARN_TEST_DIVISOR; ++step) {
    Live& slot = slots[random_next(&state) % slots.size()];
    ASSERT_TRUE(pattern_holds(slot.block, slot.size, slot.seed)) << slot.size;
    FAMILY(free)(slot.block);
    slot = take(&state, step);
    ASSERT_NE(slot.block, nullptr);
  }
  for (const Live& slot : slots) {
    ASSERT_TRUE(pattern_holds(slot.block, slot.size, slot.seed));
    FAMILY(free)(slot.block);
  }
}

}  // namespace
