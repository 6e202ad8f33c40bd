// When free memory goes back to the OS, and how much of it.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "platform/os/fake/fake.hpp"
#include "platform/os/vm.hpp"
#include "survey.hpp"

namespace tarn {
namespace {

constexpr std::size_t keep_everything = std::size_t{1} << 40;

class PurgeTest : public testing::Test {
 protected:
  void SetUp() override {
    store.configure(3600000, keep_everything);
    store.purge(time_in(0), 0, 0);
  }
  void TearDown() override {
    os::fake::fail_at(0, false);
    for (Span* span : between_) give_span(span);
    store.purge(time_in(0), 0, 0);
    EXPECT_TRUE(store.check());
    EXPECT_TRUE(all_joined());
    EXPECT_EQ(store.totals().committed_bytes, 0u);
  }

  // `count` dirty spans that do not touch each other.
  void make_dirty(std::size_t count, std::size_t slices) {
    std::vector<Span*> spans;
    for (std::size_t i = 0; i < count; ++i) {
      spans.push_back(take_span(slices));
      do {
        between_.push_back(take_span(1));  // Smaller holes elsewhere are filled first.
      } while (between_.back()->base != spans[i]->end());
      std::memset(spans[i]->base, 1, spans[i]->bytes());
    }
    for (Span* span : spans) give_span(span);
  }

  std::vector<Span*> between_;
};

TEST_F(PurgeTest, NothingGoesBeforeItsTime) {
  make_dirty(3, 10);
  EXPECT_EQ(store.purge(time_in(0), 1000, 0), 0u);
  EXPECT_EQ(store.purge(time_in(500), 1000, 0), 0u);
  EXPECT_EQ(free_slices(SpanKind::dirty), 30u);
  EXPECT_EQ(store.purge(time_in(1000), 1000, 0), 30 * slice_bytes);
  EXPECT_EQ(free_slices(SpanKind::dirty), 0u);
}

// A span may be younger than the time that a purge began with, by another thread.
TEST_F(PurgeTest, ASpanFromTheFutureStays) {
  make_dirty(2, 10);
  EXPECT_EQ(store.purge(time_in(0) - 100, 1000, 0), 0u);
  EXPECT_EQ(free_slices(SpanKind::dirty), 20u);
}

TEST_F(PurgeTest, KeepsWhatItShould) {
  make_dirty(10, 10);
  EXPECT_EQ(store.purge(time_in(0), 0, 35 * slice_bytes), 60 * slice_bytes);
  EXPECT_EQ(free_slices(SpanKind::dirty), 40u) << "another span would leave too little";
  EXPECT_EQ(store.purge(time_in(0), 0, 40 * slice_bytes), 0u);
  EXPECT_EQ(store.purge(time_in(0), 0, 0), 40 * slice_bytes);
}

TEST_F(PurgeTest, MoreSpansThanOnePassTakes) {
  make_dirty(150, 2);
  EXPECT_EQ(free_slices(SpanKind::dirty), 300u);
  const std::size_t before = os::fake::bytes_purged();
  EXPECT_EQ(store.purge(time_in(0), 0, 0), 300 * slice_bytes);
  EXPECT_EQ(os::fake::bytes_purged() - before, 300 * slice_bytes);
}

TEST_F(PurgeTest, GivingPurgesWhatIsOldByItself) {
  store.configure(0, 0);
  Span* const span = take_span(20);
  std::memset(span->base, 1, span->bytes());
  give_span(span);
  EXPECT_EQ(free_slices(SpanKind::dirty), 0u);
  EXPECT_TRUE(store.check());
}

TEST_F(PurgeTest, GivingKeepsWhatIsYoung) {
  store.configure(3600000, 0);
  Span* const span = take_span(20);
  give_span(span);
  EXPECT_EQ(free_slices(SpanKind::dirty), 20u);
}

TEST_F(PurgeTest, AHugeSpanGoesBackWithItsAddresses) {
  const std::size_t slices = (std::size_t{192} << 20) >> slice_shift;
  const std::size_t before = os::fake::bytes_reserved();
  Span* const span = take_span(slices);
  ASSERT_NE(span, nullptr);
  const std::uint64_t purged = store.totals().purged_bytes;
  give_span(span);
  EXPECT_GE(store.purge(time_in(0), 0, 0), slices * slice_bytes);
  EXPECT_LE(os::fake::bytes_reserved(), before + (std::size_t{64} << 20));
  EXPECT_EQ(store.totals().purged_bytes, purged);
}

TEST_F(PurgeTest, ARefusalEndsThePurgeAndLosesNothing) {
  make_dirty(5, 10);
  os::fake::fail_at(1, true);
  EXPECT_EQ(store.purge(time_in(0), 0, 0), 0u);
  os::fake::fail_at(0, false);
  EXPECT_TRUE(store.check());
  EXPECT_EQ(free_slices(SpanKind::dirty), 50u);
  EXPECT_EQ(store.totals().committed_bytes, (50 + between_.size()) * slice_bytes);
  EXPECT_EQ(store.purge(time_in(0), 0, 0), 50 * slice_bytes);
}

// What is due goes in steps, whoever comes by.
TEST_F(PurgeTest, WhatIsDueGoesInSteps) {
  constexpr std::size_t step = (std::size_t{32} << 20) >> slice_shift;
  store.configure(100, keep_everything);
  give_span(take_span(2 * step));
  store.configure(100, 0);
  store.purge_when_due(time_in(100));
  EXPECT_EQ(free_slices(SpanKind::dirty), step);
  store.purge_when_due(time_in(100));
  EXPECT_EQ(free_slices(SpanKind::dirty), step) << "not at once";
  store.purge_when_due(time_in(120));
  EXPECT_EQ(free_slices(SpanKind::dirty), 0u);
  EXPECT_TRUE(store.check());
}

TEST_F(PurgeTest, APartOfASpanGoesWhenThatIsEnough) {
  make_dirty(1, 100);
  EXPECT_EQ(store.purge_some(time_in(0), 30 * slice_bytes), 30 * slice_bytes);
  EXPECT_EQ(free_slices(SpanKind::dirty), 70u);
  EXPECT_TRUE(store.check());
}

// What is free and more than is likely to be wanted again goes at once: see docs/design/source.md.
class SurplusTest : public PurgeTest {
 protected:
  static constexpr std::size_t mib = (std::size_t{1} << 20) >> slice_shift;
  static constexpr std::size_t enough = 48 * mib;

  void SetUp() override {
    PurgeTest::SetUp();
    give_span(take_span(200 * mib));  // More than any test takes: no room has to be made.
    store.purge(time_in(0), 0, 0);
    store.configure(3600000, 0);
    purged_before_ = store.totals().purged_bytes;
  }
  void TearDown() override {
    store.configure(3600000, keep_everything);
    PurgeTest::TearDown();
  }

  // As many spans of 4 MiB, no two of which touch each other, become free.
  void free_apart(std::size_t count) {
    std::vector<Span*> spans;
    while (spans.size() < 2 * count) spans.push_back(take_span(4 * mib));
    std::sort(spans.begin(), spans.end(), [](Span* a, Span* b) { return a->base < b->base; });
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (i % 2 != 0) between_.push_back(spans[i]);
    }
    for (std::size_t i = 0; i < spans.size(); i += 2) give_span(spans[i]);
  }

  std::uint64_t purged_before_ = 0;
};

TEST_F(SurplusTest, ShortSpansMayGrowTogetherYet) {
  free_apart(15);
  EXPECT_EQ(free_slices(SpanKind::dirty), 60 * mib);
  EXPECT_EQ(store.totals().purged_bytes, purged_before_) << "nothing was due";
}

TEST_F(SurplusTest, TwiceAsMuchIsTooMuchInAnySpans) {
  free_apart(25);
  EXPECT_LT(free_slices(SpanKind::dirty), 2 * enough);
  EXPECT_GE(free_slices(SpanKind::dirty), enough);
}

// Of 96 MiB becomes free, in spans of less than 8 MiB, what leaves an eighth of that in use.
TEST_F(SurplusTest, WhereLittleIsInUseShortSpansGoToo) {
  free_apart(12);
  for (std::size_t i = 0; i < 9; ++i) ASSERT_TRUE(store.shrink(between_[i], 1));
  EXPECT_EQ(free_slices(SpanKind::dirty), 84 * mib - 9);
  ASSERT_TRUE(store.shrink(between_[9], 1));  // 32 MiB go at a time.
  ASSERT_TRUE(store.shrink(between_[10], 1));
  EXPECT_LE(free_slices(SpanKind::dirty), enough);
  EXPECT_GT(free_slices(SpanKind::dirty), enough - 2 * mib);
}

TEST_F(SurplusTest, OfALongSpanWholeWindowsGo) {
  free_apart(11);
  make_dirty(1, 300);
  Span* const span = take_span(12 * mib + 5);
  const std::byte* const base = span->base;
  give_span(span);
  // 56 MiB and 305 slices were free, so as much as that is above 48 MiB goes, up to somewhere in
  // a window, and the rest of the window.
  const std::size_t left = free_slices(SpanKind::dirty);
  EXPECT_LE(left, enough);
  EXPECT_GT(left, enough - 2 * mib);
  const Span* const rest = page_map.span_of(base);
  ASSERT_EQ(rest->kind_now(), SpanKind::dirty);
  EXPECT_EQ(address_of(rest->end()) % os::huge_page_bytes, 0u);
}

TEST_F(SurplusTest, NoWholeWindowGoesOfWhatIsToBeKept) {
  store.configure(3600000, (60 * mib) << slice_shift);
  free_apart(11);
  make_dirty(1, 300);
  give_span(take_span(20 * mib + 5));
  EXPECT_EQ(free_slices(SpanKind::dirty), 60 * mib);
}

TEST(EarlyPurges, WhatWasPurgedLongAgoIsNotMissed) {
  constexpr std::uint64_t delay_ms = 10000;
  const std::uint64_t now = os::clock_coarse_ms();
  EarlyPurges purges;
  purges.note_purged(100, now - delay_ms - 1, delay_ms);
  purges.note_purged(10, now, delay_ms);
  purges.note_taken_clean(50, delay_ms);
  const std::size_t missed_once = purges.missed();
  EXPECT_NE(missed_once, 0u);
  purges.note_purged(10, now, delay_ms);
  purges.note_purged(10, now, delay_ms);
  purges.note_taken_clean(50, delay_ms);
  EXPECT_EQ(purges.missed(), 3 * missed_once);
}

TEST_F(SurplusTest, WhatIsMissedStaysTheNextTime) {
  std::size_t purged = 0;
  for (int round = 0; round < 4; ++round) {
    const std::uint64_t before = store.totals().purged_bytes;
    give_span(take_span(70 * mib));
    purged = store.totals().purged_bytes - before;
    if (round == 0) {
      EXPECT_GT(purged, 0u);
    }
  }
  EXPECT_EQ(purged, 0u);
}

TEST_F(PurgeTest, SaysWhenSomethingIsDue) {
  store.configure(1000, 0);
  EXPECT_EQ(store.purge_due_ms(), UINT64_MAX);
  const std::uint64_t before = time_in(0);
  make_dirty(1, 100);
  EXPECT_GE(store.purge_due_ms(), before + 1000);
  EXPECT_LE(store.purge_due_ms(), time_in(1000));
  store.configure(1000, 101 * slice_bytes);
  EXPECT_EQ(store.purge_due_ms(), UINT64_MAX) << "it stays";
  store.configure(3600000, 0);
}

TEST_F(PurgeTest, SaysWhenWhatIsKeptServesNobody) {
  store.configure(1000, keep_everything);
  EXPECT_EQ(store.rest_due_ms(), UINT64_MAX);
  make_dirty(1, 10);
  EXPECT_EQ(store.purge_due_ms(), UINT64_MAX);
  EXPECT_GT(store.rest_due_ms(), time_in(1000));
  EXPECT_LE(store.rest_due_ms(), time_in(4000));
  store.configure(3600000, 0);
}

// Clean memory on top of dirty memory that cannot serve would make the process larger than it was.
class PeakTest : public PurgeTest {
 protected:
  void SetUp() override {
    PurgeTest::SetUp();
    // The peak that other tests have left: all of it in use.
    const std::size_t peak = store.totals().committed_bytes_peak >> slice_shift;
    if (peak != 0) base_ = take_span(peak);
    make_dirty(4, 1000);
    store.configure(3600000, 0);
    peak_ = store.totals().committed_bytes_peak;
    ASSERT_EQ(store.totals().committed_bytes, peak_);
  }
  void TearDown() override {
    store.configure(3600000, keep_everything);
    if (base_ != nullptr) give_span(base_);
    PurgeTest::TearDown();
  }

  Span* base_ = nullptr;
  std::uint64_t peak_ = 0;
};

TEST_F(PeakTest, AsMuchIsPurgedAsIsTakenClean) {
  Span* const span = take_span(2500);
  EXPECT_EQ(store.totals().committed_bytes_peak, peak_);
  EXPECT_EQ(free_slices(SpanKind::dirty), 1500u);
  give_span(span);
}

TEST_F(PeakTest, WhatFitsStaysWarm) {
  Span* const span = take_span(900);
  EXPECT_FALSE(span->zeroed);
  EXPECT_EQ(free_slices(SpanKind::dirty), 3100u);
  give_span(span);
}

TEST_F(PeakTest, TheProcessGrowsWhenNothingDirtyIsLeft) {
  Span* const span = take_span(5000);
  EXPECT_EQ(free_slices(SpanKind::dirty), 0u);
  EXPECT_EQ(store.totals().committed_bytes_peak, peak_ + 1000 * slice_bytes);
  give_span(span);
}

TEST_F(PeakTest, WhatIsToStayStays) {
  store.configure(3600000, 3500 * slice_bytes);
  Span* const span = take_span(2500);
  EXPECT_EQ(free_slices(SpanKind::dirty), 3500u);
  give_span(span);
}

// A program that changes what it does is one thing, one that goes to and fro another.
TEST_F(PeakTest, WhoMakesRoomAgainAndAgainGetsSome) {
  std::size_t strict = 0;
  std::size_t easy = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    const std::uint64_t purged = store.totals().purged_bytes;
    Span* const span = take_span(1001 + i);  // No hole is so large.
    between_.push_back(take_span(1));
    give_span(span);
    ++(store.totals().purged_bytes != purged ? strict : easy);
  }
  EXPECT_GE(strict, 1u);
  EXPECT_GE(easy, 10u);
  EXPECT_LE(store.totals().committed_bytes_peak, peak_ + peak_ / 2);
}

TEST_F(PeakTest, ARefusalIsNotAskedForAgain) {
  const std::size_t too_many = free_slices(SpanKind::clean) + 4000;
  const auto calls_of_a_take = [&] {
    os::fake::fail_at(1, true);
    EXPECT_EQ(store.take(too_many, 1), nullptr);
    return os::fake::calls();
  };
  const std::uint64_t first = calls_of_a_take();
  EXPECT_EQ(calls_of_a_take(), first - 4) << "without those for four dirty spans";
  os::fake::fail_at(0, false);
  EXPECT_TRUE(store.check());
}

TEST_F(PeakTest, WhatIsToReadAsZeroTakesCleanMemoryFirst) {
  store.purge_some(time_in(0), 3000 * slice_bytes);  // Three of the four.
  Span* const span = take_span(600, 1, Fit::zero);
  EXPECT_TRUE(span->zeroed);
  EXPECT_EQ(free_slices(SpanKind::dirty), 1000u);
  give_span(span);
}

TEST_F(PeakTest, MuchDirtyMemoryIsTakenFirstEvenSo) {
  store.purge_some(time_in(0), 1000 * slice_bytes);
  Span* const span = take_span(900, 1, Fit::zero);
  EXPECT_FALSE(span->zeroed);
  EXPECT_EQ(free_slices(SpanKind::dirty), 2100u);
  give_span(span);
}

TEST_F(PeakTest, GrowingInPlaceCountsToo) {
  Span* const span = take_span(900);
  store.purge(time_in(0), 0, 0);  // What is behind it, too.
  give_span(take_span(3050));
  ASSERT_EQ(store.totals().committed_bytes, peak_ - 50 * slice_bytes);
  ASSERT_EQ(free_slices(SpanKind::dirty), 3050u);
  ASSERT_TRUE(store.extend(span, 1000));
  EXPECT_EQ(store.totals().committed_bytes_peak, peak_);
  EXPECT_LT(free_slices(SpanKind::dirty), 3000u);
  give_span(span);
}

}  // namespace
}  // namespace tarn
