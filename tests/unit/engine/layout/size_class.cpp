// Every size there is a class for, and every alignment, against a search through the table.
//
// SPDX-License-Identifier: MIT
#include "engine/layout/size_class.hpp"

#include <gtest/gtest.h>

namespace tarn {
namespace {

TEST(SizeClass, EverySizeGetsTheSmallestBlockThatHoldsIt) {
  std::size_t expected = 1;
  for (std::size_t bytes = 1; bytes <= block_bytes_max; ++bytes) {
    while (class_block_bytes[expected] < bytes) ++expected;
    ASSERT_EQ(class_of(bytes), expected) << bytes;
  }
  EXPECT_EQ(expected, class_count - 1);
  EXPECT_EQ(class_of(0), 0u);
}

TEST(SizeClass, TheTwoFormulasMeet) {
  EXPECT_EQ(linear_class_of(linear_bytes_max), linear_class_max);
  EXPECT_EQ(stepped_class_of(linear_bytes_max + 1), linear_class_max + 1);
  EXPECT_EQ(stepped_class_of(block_bytes_max), class_count - 1);
}

TEST(SizeClass, BlocksAreAlignedAndGrow) {
  EXPECT_EQ(class_block_bytes[0], block_align);
  for (std::size_t c = 1; c < class_count; ++c) {
    EXPECT_EQ(class_block_bytes[c] % block_align, 0u);
    if (c > 1) {
      EXPECT_GT(class_block_bytes[c], class_block_bytes[c - 1]);
    }
  }
  EXPECT_EQ(class_block_bytes[class_count - 1], block_bytes_max);
}

TEST(SizeClass, SlackIsBounded) {
  for (std::size_t bytes = 1; bytes <= block_bytes_max; ++bytes) {
    const std::size_t slack = class_block_bytes[class_of(bytes)] - bytes;
    if (bytes <= linear_bytes_max) {
      ASSERT_LT(slack, block_align) << bytes;
    } else {
      ASSERT_LT(slack * 9, class_block_bytes[class_of(bytes)]) << bytes;
    }
  }
}

// Where a class begins and ends, and the sizes beside; the fuzz target takes any size.
TEST(SizeClass, EveryAlignmentGetsTheSmallestBlockThatLiesOnIt) {
  for (std::size_t alignment = 1; alignment <= 2 * block_bytes_max; alignment *= 2) {
    for (std::size_t edge : class_block_bytes) {
      for (const std::size_t bytes : {edge - 1, edge, edge + 1}) {
        if (bytes > block_bytes_max) continue;
        std::size_t expected = 1;
        while (expected < class_count && (class_block_bytes[expected] < bytes ||
                                          class_block_bytes[expected] % alignment != 0)) {
          ++expected;
        }
        ASSERT_EQ(aligned_class_of(bytes, alignment), expected) << bytes << " on " << alignment;
      }
    }
    const std::size_t smallest = aligned_class_of(0, alignment);
    if (alignment > block_bytes_max) {
      EXPECT_EQ(smallest, class_count);
    } else {
      EXPECT_EQ(class_block_bytes[smallest], alignment < 16 ? 16 : alignment);
    }
  }
}

}  // namespace
}  // namespace tarn
