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
    std::size_t has = page_slices(c, 0);
    EXPECT_GE(has * slice_bytes / bytes, first_page_blocks(bytes)) << c;
    for (int page = 1; page < 5; ++page) {
      const std::size_t slices = page_slices(c, has);
      EXPECT_GE(slices * slice_bytes / bytes, page_blocks_min) << c;
      has += slices;
    }
    EXPECT_GE(page_slices(c, SIZE_MAX), page_slices_full) << c;
  }
}

TEST(PagePlan, TheFirstPageIsTheSmallestThatDoes) {
  for (std::size_t c = 0; c < class_count; ++c) {
    const std::size_t first = page_slices(c, 0);
    EXPECT_TRUE(is_power_of_two(first));
    if (first == 1 || first == page_slices(c, SIZE_MAX)) continue;
    const std::size_t bytes = class_block_bytes[c];
    EXPECT_LT(first / 2 * slice_bytes / bytes, first_page_blocks(bytes)) << c;
  }
  EXPECT_EQ(page_slices(class_of(16), 0), 1u) << "a class that is hardly used takes little";
  EXPECT_EQ(page_slices(class_of(100'000), 0) * slice_bytes / 100'000, 2u);
}

TEST(PagePlan, EachPageIsFourTimesAllBeforeBetweenTheFirstAndTheFullSize) {
  for (std::size_t c = 0; c < class_count; ++c) {
    const std::size_t first = page_plans[c].first;
    const std::size_t full = page_plans[c].full;
    for (std::size_t has = 0; has < 2 * full; ++has) {
      EXPECT_EQ(page_slices(c, has), std::clamp(4 * has, first, full)) << c << ", has " << has;
    }
    EXPECT_EQ(page_slices(c, SIZE_MAX), full);
  }
}

TEST(PagePlan, AHoleHoldsFourBlocksOrAsManyAsThePage) {
  for (std::size_t c = 0; c < class_count; ++c) {
    const std::size_t bytes = class_block_bytes[c];
    for (const std::size_t slices : {page_slices(c, 0), page_slices(c, SIZE_MAX)}) {
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

TEST(PagePlan, AClassOfMiBsGetsLongerPagesThatAreASmallPartOfIt) {
  constexpr std::size_t mib = (1u << 20) / slice_bytes;
  for (std::size_t c = 0; c < class_count; ++c) {
    const std::size_t bytes = class_block_bytes[c];
    const std::size_t full = page_plans[c].full;
    std::size_t has = 0;
    for (int page = 0; page < 1000; ++page) {
      const std::size_t slices = main_page_slices(c, has);
      const bool is_long = slices != page_slices(c, has);
      EXPECT_TRUE(!is_long || 32 * slices <= has) << c << ", page " << page;
      EXPECT_LE(slices, std::max(full, page_slices_longest)) << "one that begins a huge page";
      EXPECT_TRUE(!is_long || slices % full == 0) << "as little is wasted, class " << c;
      EXPECT_LE(slices * slice_bytes / bytes, page_blocks_max) << c;
      has += slices;
    }
    EXPECT_EQ(main_page_slices(c, 2 * mib - 1), full) << c;
    EXPECT_GT(main_page_slices(c, 2 * mib) + full, 16u) << "as long as it may be, class " << c;
    EXPECT_GE(main_page_slices(c, 8 * mib) + full, 64u) << "as long as it may be, class " << c;
  }
}

TEST(PagePlan, KnowsTheMostBlocksOfAPage) {
  std::size_t most = 0;
  for (std::size_t c = 0; c < class_count; ++c) {
    most = std::max(most, main_page_slices(c, SIZE_MAX) * slice_bytes / class_block_bytes[c]);
  }
  EXPECT_EQ(page_blocks_most(), most);
}

}  // namespace
}  // namespace tarn
