// Bins of free spans: their sizes, and which span is found. Random use: fuzz/span_bins.cpp.
//
// SPDX-License-Identifier: MIT
#include "engine/store/span_bins.hpp"

#include <deque>

#include <gtest/gtest.h>

namespace tarn {

struct SpanBinsAccess {
  static void mark(SpanBins& bins, std::size_t slices) {
    const std::size_t bin = SpanBins::bin_of(slices);
    bins.filled_[bin / 64] ^= std::uint64_t{1} << (bin % 64);
  }
};

namespace {

class SpanBinsTest : public testing::Test {
 protected:
  Span* insert(std::size_t slices, std::size_t first = 1 << 20) {
    Span& span = spans_.emplace_back();
    span.base = reinterpret_cast<std::byte*>(first << slice_shift);
    span.slices = static_cast<std::uint32_t>(slices);
    span.set_kind(SpanKind::clean);
    bins_.insert(&span);
    return &span;
  }
  ~SpanBinsTest() override { EXPECT_TRUE(bins_.check(SpanKind::clean)); }

  std::deque<Span> spans_;
  SpanBins bins_;
};

TEST(SpanBin, GrowsWithTheSizeAndLeavesNoGap) {
  std::size_t before = SpanBins::bin_of(1);
  EXPECT_EQ(before, 0u);
  for (std::size_t slices = 2; slices < 300000; ++slices) {
    const std::size_t bin = SpanBins::bin_of(slices);
    ASSERT_TRUE(bin == before || bin == before + 1) << slices;
    if (slices <= SpanBins::exact_bins) {
      ASSERT_EQ(bin, slices - 1);
    }
    before = bin;
  }
  EXPECT_EQ(SpanBins::bin_of(UINT32_MAX), SpanBins::bin_count - 1);
}

TEST(SpanBin, SizesInOneBinDifferByAtMostAnEighth) {
  std::size_t smallest = 33;
  for (std::size_t slices = 34; slices < 300000; ++slices) {
    if (SpanBins::bin_of(slices) != SpanBins::bin_of(smallest)) smallest = slices;
    ASSERT_LE((slices - smallest) * 8, smallest) << slices;
  }
}

TEST_F(SpanBinsTest, AnEmptySetFindsNothing) {
  EXPECT_EQ(bins_.find(1, 1), nullptr);
  EXPECT_EQ(bins_.find(SIZE_MAX, 1), nullptr);
  EXPECT_EQ(bins_.slices(), 0u);
}

TEST_F(SpanBinsTest, TheSmallestThatHoldsIt) {
  Span* const five = insert(5);
  Span* const nine = insert(9);
  Span* const large = insert(1000);
  EXPECT_EQ(bins_.slices(), 1014u);
  EXPECT_EQ(bins_.find(1, 1), five);
  EXPECT_EQ(bins_.find(5, 1), five);
  EXPECT_EQ(bins_.find(6, 1), nine);
  EXPECT_EQ(bins_.find(10, 1), large);
  EXPECT_EQ(bins_.find(1000, 1), large);
  EXPECT_EQ(bins_.find(1001, 1), nullptr);
  bins_.remove(nine);
  EXPECT_EQ(bins_.find(6, 1), large);
  EXPECT_EQ(bins_.slices(), 1005u);
}

TEST_F(SpanBinsTest, WithinABinTheSmallestFit) {
  ASSERT_EQ(SpanBins::bin_of(1030), SpanBins::bin_of(1100));
  insert(1100);
  Span* const best = insert(1050);
  insert(1030);
  insert(1080);
  EXPECT_EQ(bins_.find(1040, 1), best);
}

TEST_F(SpanBinsTest, ASpanInALaterBinThatFitsIsFoundBeyondAnyNumberThatDoNot) {
  for (int i = 0; i < 100; ++i) insert(1030);
  Span* const next = insert(1500);
  EXPECT_EQ(bins_.find(1040, 1), next);
}

TEST_F(SpanBinsTest, TheLongestOfThoseThatAreShorter) {
  EXPECT_EQ(bins_.find_less(20, 1), nullptr);
  Span* const five = insert(5);
  Span* const nine = insert(9);
  insert(20);
  EXPECT_EQ(bins_.find_less(20, 1), nine);
  EXPECT_EQ(bins_.find_less(9, 1), five) << "less, not as long";
  EXPECT_EQ(bins_.find_less(9, 6), nullptr);
  EXPECT_EQ(bins_.find_less(5, 4), nullptr);
  Span* const large = insert(1060);
  EXPECT_EQ(bins_.find_less(1100, 1050), large);
  EXPECT_EQ(bins_.find_less(1100, 1061), nullptr) << "of its bin, and too short";
  EXPECT_NE(bins_.find_less(1060, 1), large) << "of its bin, and too long";
}

TEST_F(SpanBinsTest, Alignment) {
  Span* const odd = insert(8, 1025);
  EXPECT_EQ(bins_.find(8, 2), nullptr);
  EXPECT_EQ(bins_.find(7, 2), odd);
  EXPECT_EQ(bins_.find(1, 8), odd) << "1032 is in it";
  EXPECT_EQ(bins_.find(2, 8), nullptr) << "1033 is not";
  Span* const even = insert(8, 2048);
  EXPECT_EQ(bins_.find(8, 8), even);
  EXPECT_EQ(bins_.find(8, 2048), even);
  EXPECT_EQ(bins_.find(8, 4096), nullptr);
}

TEST_F(SpanBinsTest, CheckFindsWhatIsWrong) {
  Span* const span = insert(40);
  EXPECT_TRUE(bins_.check(SpanKind::clean));
  for (const SpanKind other : {SpanKind::dirty, SpanKind::idle, SpanKind::large, SpanKind::page,
                               SpanKind::purging, SpanKind::lost}) {
    EXPECT_FALSE(bins_.check(other)) << static_cast<int>(other);
  }
  span->slices = 41;
  EXPECT_FALSE(bins_.check(SpanKind::clean)) << "the sum is wrong";
  span->slices = 4000;
  EXPECT_FALSE(bins_.check(SpanKind::clean)) << "the bin is wrong";
  span->slices = 40;
  Span* const other = insert(40);
  span->prev = nullptr;
  EXPECT_FALSE(bins_.check(SpanKind::clean)) << "the list does not lead back";
  span->prev = other;
  for (const std::size_t slices : {std::size_t{40}, std::size_t{5000}}) {
    SpanBinsAccess::mark(bins_, slices);
    EXPECT_FALSE(bins_.check(SpanKind::clean)) << "the mark is wrong";
    SpanBinsAccess::mark(bins_, slices);
  }
}

}  // namespace
}  // namespace tarn
