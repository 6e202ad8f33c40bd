// Power-of-two arithmetic against loops and wide integers.
//
// SPDX-License-Identifier: MIT
#include "platform/base/bits.hpp"

#include <gtest/gtest.h>

#include "tarn/detail/steps.h"

namespace tarn {
namespace {

TEST(Bits, Log2FloorAtEveryPowerAndItsNeighbours) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::size_t power = std::size_t{1} << bit;
    EXPECT_EQ(log2_floor(power), bit);
    if (bit != 0) {
      EXPECT_EQ(log2_floor(power - 1), bit - 1);
    }
    if (bit > 1) {
      EXPECT_EQ(log2_floor(power + 1), bit);
    }
  }
  EXPECT_EQ(log2_floor(SIZE_MAX), 63u);
}

TEST(Bits, PowersOfTwo) {
  EXPECT_FALSE(is_power_of_two(0));
  EXPECT_TRUE(is_power_of_two(1));
  EXPECT_FALSE(is_power_of_two(3));
  EXPECT_FALSE(is_power_of_two(24));
  for (unsigned bit = 2; bit < 64; ++bit) {
    const std::size_t power = std::size_t{1} << bit;
    EXPECT_TRUE(is_power_of_two(power));
    EXPECT_FALSE(is_power_of_two(power - 1));
    EXPECT_FALSE(is_power_of_two(power + 1));
  }
}

TEST(Bits, AlignUp) {
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (std::size_t n = 0; n < 3 * alignment; n += alignment / 7 + 1) {
      std::size_t expected = n;
      while (expected % alignment != 0) ++expected;
      EXPECT_EQ(align_up(n, alignment), expected) << n << " to " << alignment;
      EXPECT_EQ(align_down(n, alignment), n - n % alignment) << n << " to " << alignment;
    }
  }
}

TEST(Bits, CheckedMultiply) {
  std::size_t product = 1;
  EXPECT_TRUE(checked_multiply(0, SIZE_MAX, &product));
  EXPECT_EQ(product, 0u);
  EXPECT_TRUE(checked_multiply(SIZE_MAX, 1, &product));
  EXPECT_EQ(product, SIZE_MAX);
  EXPECT_TRUE(checked_multiply(std::size_t{1} << 32, (std::size_t{1} << 32) - 1, &product));
  EXPECT_EQ(product, SIZE_MAX - ((std::size_t{1} << 32) - 1));
  EXPECT_FALSE(checked_multiply(std::size_t{1} << 32, std::size_t{1} << 32, &product));
  EXPECT_FALSE(checked_multiply(SIZE_MAX, 2, &product));
  EXPECT_FALSE(checked_multiply(SIZE_MAX / 3 + 1, 3, &product));
  EXPECT_TRUE(checked_multiply(SIZE_MAX / 3, 3, &product));
}

TEST(Steps, FollowEachOtherAndBeginWhereTheyShould) {
  for (unsigned log2 = 0; log2 <= 6; ++log2) {
    std::size_t step = 0;
    for (std::size_t n = 0; n < 20000; ++n) {
      const std::size_t now = tarn_step_of(n, log2);
      if (now != step) {
        ASSERT_EQ(now, step + 1) << n;
        ASSERT_EQ(tarn_step_begin(now, log2), n);
        step = now;
      }
      ASSERT_LE((n - tarn_step_begin(now, log2)) << log2, n) << "a step is too wide";
    }
    const std::size_t last = tarn_step_of(SIZE_MAX, log2);
    EXPECT_EQ(last, ((65 - log2) << log2) - 1) << "as many steps for each doubling";
    EXPECT_EQ(tarn_step_of(tarn_step_begin(last, log2) - 1, log2), last - 1);
  }
}

TEST(Steps, MayBeginAfterExactOnes) {
  for (std::size_t n = 0; n < 20000; ++n) {
    const std::size_t step = tarn_step_after(n, 5, 3);
    if (n < 40) {
      ASSERT_EQ(step, n < 32 ? n : 32 + (n - 32) / 4);
    } else {
      ASSERT_EQ(step - tarn_step_after(n / 2, 5, 3), n < 64 ? step - n / 2 : 8u) << n;
    }
  }
}

}  // namespace
}  // namespace tarn
