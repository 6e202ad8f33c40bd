// How many slices the pages of each class take.
//
// SPDX-License-Identifier: MIT
#include "engine/layout/page_plan.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace tarn {
namespace {

TEST(PagePlan, PagesHoldEnoughBlocks) {
  for (std::size_t c = 0; c < class_count; ++c) {
    const std::size_t bytes = class_block_bytes[c];
    EXPECT_GE(page_slices(c, 0) * slice_bytes / bytes, first_page_blocks(bytes)) << c;
    for (std::size_t pages = 1; pages < 5; ++pages) {
      EXPECT_GE(page_slices(c, pages) * slice_bytes / bytes, page_blocks_min) << c;
    }
    EXPECT_GE(page_slices(c, 99), page_slices_full) << c;
  }
}

TEST(PagePlan, TheFirstPageIsTheSmallestThatDoes) {
  for (std::size_t c = 0; c < class_count; ++c) {
    const std::size_t first = page_slices(c, 0);
    EXPECT_TRUE(is_power_of_two(first));
    if (first == 1 || first == page_slices(c, 99)) continue;
    const std::size_t bytes = class_block_bytes[c];
    EXPECT_LT(first / 2 * slice_bytes / bytes, first_page_blocks(bytes)) << c;
  }
  EXPECT_EQ(page_slices(class_of(16), 0), 1u) << "a class that is hardly used takes little";
  EXPECT_EQ(page_slices(class_of(100'000), 0) * slice_bytes / 100'000, 2u);
}

TEST(PagePlan, EachPageIsFourTimesTheOneBeforeUpToTheFullSize) {
  for (std::size_t c = 0; c < class_count; ++c) {
    const std::size_t full = page_plans[c].full;
    for (std::size_t pages = 0; pages < 10; ++pages) {
      const std::size_t next = page_slices(c, pages + 1);
      EXPECT_EQ(next, std::min(page_slices(c, pages) * 4, full)) << c << ", page " << pages;
    }
    EXPECT_EQ(page_slices(c, SIZE_MAX), full);
  }
}

TEST(PagePlan, AHoleHoldsFourBlocksOrAsManyAsThePage) {
  for (std::size_t c = 0; c < class_count; ++c) {
    const std::size_t bytes = class_block_bytes[c];
    for (const std::size_t slices : {page_slices(c, 0), page_slices(c, 99)}) {
      const std::size_t least = page_slices_least(bytes, slices);
      EXPECT_LE(least, slices);
      EXPECT_GE(least * slice_bytes / bytes,
                std::min<std::size_t>(4, slices * slice_bytes / bytes));
    }
  }
  EXPECT_EQ(page_slices_least(64, 4), 1u);
  EXPECT_EQ(page_slices_least(4096, 8), 4u);
}

// Of random small sizes, as a program has that asks for whatever its strings and nodes need.
TEST(PagePlan, LittleIsTouchedBesideTheBlocks) {
  double wasted = 0;
  std::size_t sizes = 0;
  for (std::size_t bytes = 16; bytes < 2016; ++bytes, ++sizes) {
    const std::size_t block = class_block_bytes[class_of(bytes)];
    const std::size_t blocks = page_plans[class_of(bytes)].full * slice_bytes / block;
    const std::size_t touched = slices_for(blocks * block) * slice_bytes;
    wasted += static_cast<double>(touched) / static_cast<double>(blocks * bytes) - 1;
  }
  EXPECT_LT(wasted / static_cast<double>(sizes), 0.05);
}

TEST(PagePlan, AClassWithHundredsOfPagesGetsLongerOnesThatAreASmallPartOfIt) {
  for (std::size_t c = 0; c < class_count; ++c) {
    const std::size_t bytes = class_block_bytes[c];
    std::size_t total = 0;
    for (std::size_t pages = 0; pages < 1000; ++pages) {
      const std::size_t slices = main_page_slices(c, pages);
      const bool is_long = slices != page_slices(c, pages);
      EXPECT_TRUE(!is_long || (pages >= 128 && 30 * slices <= total)) << c << ", page " << pages;
      EXPECT_LE(slices * slice_bytes / bytes, page_blocks_max) << c;
      total += slices;
    }
    EXPECT_GE(main_page_slices(c, 128), 16u) << c;
    EXPECT_GE(main_page_slices(c, 256), bytes == 16 ? 32u : 64u) << c;  // 16,383 blocks at most.
  }
}

TEST(PagePlan, KnowsTheMostBlocksOfAPage) {
  std::size_t most = 0;
  for (std::size_t c = 0; c < class_count; ++c) {
    most = std::max(most, main_page_slices(c, 1000) * slice_bytes / class_block_bytes[c]);
  }
  EXPECT_EQ(page_blocks_most(), most);
}

}  // namespace
}  // namespace tarn
