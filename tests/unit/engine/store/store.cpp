// Taking and giving spans. Random use against a model: fuzz/store.cpp.
//
// SPDX-License-Identifier: MIT
#include "engine/store/store.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "platform/os/fake/fake.hpp"
#include "survey.hpp"

namespace tarn {
namespace {

// The store is the process's; each test begins and ends with nothing in use and nothing dirty.
class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    store.configure(3600000, std::size_t{1} << 40);  // Nothing goes back by itself.
    settle();
  }
  void TearDown() override { settle(); }

  static void settle() {
    os::fake::fail_at(0, false);
    store.purge(time_in(0), 0, 0);
    ASSERT_TRUE(store.check());
    ASSERT_TRUE(all_joined());
    ASSERT_EQ(store.totals().committed_bytes, 0u);
  }
};

TEST_F(StoreTest, ASpanIsExactlyWhatWasAskedFor) {
  for (const std::size_t slices : {1u, 2u, 7u, 16u, 33u, 1000u, 5000u, 40000u}) {
    Span* const span = take_span(slices);
    ASSERT_NE(span, nullptr);
    EXPECT_EQ(span->slices, slices);
    EXPECT_EQ(address_of(span->base) % slice_bytes, 0u);
    EXPECT_EQ(span->end(), span->base + slices * slice_bytes);
    EXPECT_EQ(store.totals().committed_bytes, slices * slice_bytes);
    std::memset(span->base, 1, slice_bytes);
    std::memset(span->end() - slice_bytes, 1, slice_bytes);
    give_span(span);
    EXPECT_TRUE(store.check());
    store.purge(time_in(0), 0, 0);
  }
}

TEST_F(StoreTest, Alignments) {
  std::vector<Span*> spans;
  for (std::size_t alignment = 1; alignment <= (std::size_t{1} << 14); alignment *= 2) {
    for (const std::size_t slices : {1u, 3u, 70u}) {
      Span* const span = take_span(slices, alignment);
      ASSERT_NE(span, nullptr);
      EXPECT_EQ(address_of(span->base) % (alignment * slice_bytes), 0u);
      EXPECT_EQ(span->slices, slices);
      spans.push_back(span);
      EXPECT_TRUE(store.check());
    }
  }
  for (Span* span : spans) give_span(span);
}

TEST_F(StoreTest, SpansDoNotOverlapAndNeighboursJoinInAnyOrder) {
  std::vector<Span*> spans;
  for (std::size_t i = 0; i < 200; ++i) {
    spans.push_back(take_span(i % 7 + 1));
    std::memset(spans[i]->base, static_cast<int>(i), spans[i]->bytes());
  }
  for (std::size_t i = 0; i < 200; ++i) {
    for (std::size_t b = 0; b < spans[i]->bytes(); b += 512) {
      ASSERT_EQ(spans[i]->base[b], static_cast<std::byte>(i));
    }
  }
  for (std::size_t i = 0; i < 200; ++i) {
    give_span(spans[i * 67 % 200]);  // 67 and 200 share no factor: each once.
    ASSERT_TRUE(store.check());
    ASSERT_TRUE(all_joined());
  }
  EXPECT_EQ(free_slices(SpanKind::dirty), store.totals().committed_bytes >> slice_shift);
}

TEST_F(StoreTest, WarmMemoryFirst) {
  Span* const span = take_span(100);
  std::byte* const base = span->base;
  std::memset(base, 1, 100 * slice_bytes);
  give_span(span);
  Span* const again = take_span(100);
  EXPECT_EQ(again->base, base);
  EXPECT_FALSE(again->zeroed);
  give_span(again);
  Span* const larger = take_span(101);
  EXPECT_TRUE(larger->zeroed) << "the warm one is too small";
  give_span(larger);
}

class StoreHolesTest : public StoreTest {
 protected:
  void TearDown() override {
    for (Span* span : between_) give_span(span);
    StoreTest::TearDown();
  }
  static std::size_t page_slices(std::size_t least, std::size_t most) {
    Span* const span = store.take_page(least, most);
    const std::size_t slices = span->slices;
    give_span(span);
    return slices;
  }

  std::vector<Span*> between_;
};

TEST_F(StoreHolesTest, APageFillsAHoleBeforeCleanMemoryIsTaken) {
  between_ = make_holes(std::vector<std::size_t>{3, 5});
  EXPECT_EQ(page_slices(1, 8), 5u) << "the longest that is there";
  EXPECT_EQ(page_slices(4, 5), 5u);
  EXPECT_EQ(page_slices(3, 4), 4u) << "part of one that is not much longer";
  EXPECT_EQ(page_slices(1, 2), 2u);
  EXPECT_EQ(page_slices(6, 8), 8u) << "no hole of as many: clean memory";
}

TEST_F(StoreHolesTest, AHoleIsFilledBeforeALongOneIsCut) {
  between_ = make_holes(std::vector<std::size_t>{3, 40, 9});
  EXPECT_EQ(page_slices(2, 4), 3u);
  EXPECT_EQ(page_slices(4, 8), 8u);
  EXPECT_EQ(page_slices(4, 20), 20u) << "twice as long is not much longer";
  EXPECT_EQ(page_slices(4, 19), 9u);
}

TEST_F(StoreTest, ARoomySpanIsFreeAlreadyAndCanGrowByAQuarter) {
  store.purge(time_in(0), 0, 0);
  give_span(take_span(500));
  Span* const span = take_span(250, 1, Fit::roomy);
  ASSERT_NE(span, nullptr);
  EXPECT_EQ(span->slices, 250u);
  EXPECT_FALSE(span->zeroed);
  EXPECT_EQ(take_span(201, 1, Fit::roomy), nullptr) << "250 warm slices are left";
  Span* const cold = take_span(201, 1, Fit::roomy_cold);
  ASSERT_NE(cold, nullptr);
  EXPECT_TRUE(cold->zeroed);
  EXPECT_TRUE(store.extend(cold, 201 + 50));
  EXPECT_TRUE(store.extend(span, 500));
  EXPECT_EQ(free_slices(SpanKind::dirty), 0u);
  const std::uint64_t map_calls = store.totals().map_calls;
  EXPECT_EQ(take_span(free_slices(SpanKind::clean), 1, Fit::roomy_cold), nullptr);
  EXPECT_EQ(store.totals().map_calls, map_calls);
  give_span(cold);
  give_span(span);
}

// Growing blocks use clean space up before they take new addresses.
TEST_F(StoreTest, ARemapWithASpareIsRefusedWhenMuchIsClean) {
  Span* const span = take_span(64);
  give_span(take_span(8192));
  store.purge(time_in(0), 0, 0);
  ASSERT_GT(free_slices(SpanKind::clean), 8000u);
  EXPECT_FALSE(store.remap(span, 100, 100));
  std::vector<Span*> used;
  while (free_slices(SpanKind::clean) > 2048) used.push_back(take_span(1024));
  EXPECT_TRUE(store.remap(span, 100, 100));
  for (Span* each : used) give_span(each);
  give_span(span);
}

// The OS moves it, or makes it longer where it is.
TEST_F(StoreTest, RemapKeepsTheContents) {
  for (const std::size_t spare : {0u, 64u, 3000u}) {
    Span* const filler = take_span(free_slices(SpanKind::clean) + 1);  // Else a spare is refused.
    Span* const span = take_span(64);
    Span* const neighbour = take_span(64);
    auto* const words = reinterpret_cast<std::uint64_t*>(span->base);
    for (std::size_t i = 0; i < span->bytes() / 8; ++i) words[i] = i;
    std::byte* const base = span->base;
    const std::size_t reserved = store.totals().reserved_bytes;
    ASSERT_TRUE(store.remap(span, 100, spare));
    EXPECT_EQ(span->slices, 100u);
    EXPECT_EQ(page_map.span_of(span->base), span);
    EXPECT_EQ(page_map.span_of(span->end() - 1), span);
    if (span->base != base) {
      EXPECT_EQ(page_map.span_of(base), page_map.foreign());
      EXPECT_EQ(page_map.span_of(base + 63 * slice_bytes), page_map.foreign());
    }
    EXPECT_EQ(store.totals().reserved_bytes, reserved + (36 + spare) * slice_bytes);
    const auto* const moved = reinterpret_cast<const std::uint64_t*>(span->base);
    for (std::size_t i = 0; i < 64 * slice_bytes / 8; ++i) ASSERT_EQ(moved[i], i);
    for (std::size_t i = 64 * slice_bytes / 8; i < span->bytes() / 8; ++i) ASSERT_EQ(moved[i], 0u);
    EXPECT_TRUE(store.check());
    EXPECT_TRUE(all_joined());
    if (spare != 0) {
      EXPECT_TRUE(store.extend(span, 100 + spare));
    }
    give_span(span);
    give_span(neighbour);
    give_span(filler);
  }
}

TEST_F(StoreTest, ARemapOfMoreThanThereIsChangesNothing) {
  Span* const span = take_span(64);
  std::memset(span->base, 7, span->bytes());
  std::byte* const base = span->base;
  os::fake::fail_at(1, true);
  EXPECT_FALSE(store.remap(span, 100, 0));
  os::fake::fail_at(0, false);
  EXPECT_FALSE(store.remap(span, span_slices_max + 1, 0));
  EXPECT_FALSE(store.remap(span, 100, span_slices_max));
  EXPECT_EQ(span->base, base);
  EXPECT_EQ(span->slices, 64u);
  EXPECT_EQ(page_map.span_of(base + 63 * slice_bytes), span);
  for (std::size_t i = 0; i < span->bytes(); ++i) ASSERT_EQ(base[i], std::byte{7});
  give_span(span);
}

TEST_F(StoreTest, CleanMemoryReadsAsZero) {
  Span* const span = take_span(50);
  std::memset(span->base, 1, span->bytes());
  give_span(span);
  store.purge(time_in(0), 0, 0);
  EXPECT_EQ(free_slices(SpanKind::dirty), 0u);
  Span* const again = take_span(50);
  ASSERT_TRUE(again->zeroed);
  for (std::size_t i = 0; i < again->bytes(); ++i) ASSERT_EQ(again->base[i], std::byte{0});
  give_span(again);
}

TEST_F(StoreTest, ExtendGrowsOverAFreeNeighbour) {
  Span* const whole = take_span(100);
  ASSERT_TRUE(store.shrink(whole, 40));
  EXPECT_EQ(whole->slices, 40u);
  EXPECT_EQ(free_slices(SpanKind::dirty), 60u);
  std::memset(whole->base, 7, whole->bytes());
  ASSERT_TRUE(store.extend(whole, 70));
  EXPECT_EQ(whole->slices, 70u);
  EXPECT_FALSE(whole->zeroed);
  EXPECT_EQ(free_slices(SpanKind::dirty), 30u);
  EXPECT_EQ(page_map.span_of(whole->end() - 1), whole);
  EXPECT_EQ(page_map.span_of(whole->base + 39 * slice_bytes), page_map.foreign());
  ASSERT_TRUE(store.extend(whole, 100));
  EXPECT_EQ(free_slices(SpanKind::dirty), 0u);
  for (std::size_t i = 0; i < 40 * slice_bytes; i += 100) ASSERT_EQ(whole->base[i], std::byte{7});
  give_span(whole);
}

TEST_F(StoreTest, ExtendStopsAtWhatIsInUseOrTooSmall) {
  Span* const whole = take_span(100);
  ASSERT_TRUE(store.shrink(whole, 40));
  Span* const neighbour = take_span(60);
  ASSERT_EQ(neighbour->base, whole->end()) << "the warm tail is taken again";
  EXPECT_FALSE(store.extend(whole, 41));
  EXPECT_EQ(whole->slices, 40u);
  EXPECT_FALSE(store.extend(whole, std::size_t{1} << 40));
  ASSERT_TRUE(store.shrink(neighbour, 59));
  EXPECT_FALSE(store.extend(whole, 41)) << "the free slice is not next to it";
  give_span(neighbour);
  EXPECT_TRUE(store.extend(whole, 41));
  give_span(whole);
}

TEST_F(StoreTest, SizesThatNoSpanCanHave) {
  os::fake::fail_at(0, false);
  EXPECT_EQ(store.take(SIZE_MAX, 1), nullptr);
  EXPECT_EQ(store.take(std::size_t{1} << 32, 1), nullptr);
  EXPECT_EQ(store.take(1, std::size_t{1} << 40), nullptr);
  EXPECT_EQ(store.take(UINT32_MAX, UINT32_MAX / 2 + 1), nullptr);
  EXPECT_EQ(os::fake::calls(), 0u) << "refused without asking the OS";
}

TEST_F(StoreTest, TotalsCountPeaksAndCalls) {
  const StoreTotals before = store.totals();
  constexpr std::size_t slices = 3000;
  Span* const span = take_span(slices);
  give_span(span);
  const std::uint64_t peak = store.totals().committed_bytes_peak;
  EXPECT_EQ(peak, std::max<std::uint64_t>(before.committed_bytes_peak, slices * slice_bytes));
  EXPECT_EQ(store.totals().committed_bytes, slices * slice_bytes) << "dirty, not yet given back";
  store.purge(time_in(0), 0, 0);
  EXPECT_EQ(store.totals().purged_bytes, before.purged_bytes + slices * slice_bytes);
  EXPECT_EQ(store.totals().purge_calls, before.purge_calls + 1);
  EXPECT_EQ(store.totals().committed_bytes_peak, peak);

  const std::uint64_t map_calls = store.totals().map_calls;
  give_span(take_span(free_slices(SpanKind::clean) + 1));
  EXPECT_GT(store.totals().map_calls, map_calls) << "a new chunk";
}

TEST_F(StoreTest, ThePeakIsNotedWhereverMoreIsCommitted) {
  const std::uint64_t peak = store.totals().committed_bytes_peak;
  Span* const span = take_span((peak >> slice_shift) + 10);
  ASSERT_NE(span, nullptr);
  EXPECT_EQ(store.totals().committed_bytes_peak, peak + 10 * slice_bytes);
  give_span(span);
  settle();
  Span* const grown = take_span((peak >> slice_shift) + 10);
  ASSERT_TRUE(store.remap(grown, grown->slices + 3, 0));
  EXPECT_EQ(store.totals().committed_bytes_peak, peak + 13 * slice_bytes);
  give_span(grown);
}

TEST_F(StoreTest, RecordsAreApartFromSpans) {
  void* const record = store.allocate_record(100);
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(page_map.span_of(record), page_map.foreign());
}

TEST_F(StoreTest, CheckFindsADamagedSpan) {
  Span* const span = take_span(10);
  std::byte* const base = span->base;
  give_span(span);
  Span* const free = page_map.span_of(base);
  free->set_kind(SpanKind::clean);
  EXPECT_FALSE(store.check());
  free->set_kind(SpanKind::dirty);
  EXPECT_TRUE(store.check());
  page_map.clear(free->base, 1);
  EXPECT_FALSE(store.check());
  page_map.set_ends(free);
}

TEST_F(StoreTest, CheckFindsADamagedCleanSpan) {
  give_span(take_span(10));
  store.purge(time_in(0), 0, 0);
  ASSERT_NE(free_slices(SpanKind::clean), 0u);
  Span* free = nullptr;
  store.for_each_span([&](Span* span) {
    if (span->kind_now() == SpanKind::clean) free = span;
  });
  free->set_kind(SpanKind::dirty);
  EXPECT_FALSE(store.check());
  free->set_kind(SpanKind::clean);
  EXPECT_TRUE(store.check());
}

TEST_F(StoreTest, CheckFindsASpareDescriptorThatIsNotIdle) {
  Span* const first = take_span(10);
  Span* const second = take_span(10);
  ASSERT_EQ(first->end(), second->base);
  give_span(first);
  give_span(second);
  Span* const spare = first->kind_now() == SpanKind::idle ? first : second;
  ASSERT_EQ(spare->kind_now(), SpanKind::idle) << "the two are one now";
  spare->set_kind(SpanKind::large);
  EXPECT_FALSE(store.check());
  spare->set_kind(SpanKind::idle);
  EXPECT_TRUE(store.check());
}

#ifdef TARN_DEBUG
TEST_F(StoreTest, ASpanThatIsGivenWhileAddressesLeadToItIsADefect) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Span* const span = take_span(10);
  EXPECT_DEATH(store.give(span), "is_clear");
  page_map.clear_ends(span->base, span->slices);
  page_map.set(span->base + 4 * slice_bytes, 1, span);
  EXPECT_DEATH(store.give(span), "is_clear");
  page_map.clear(span->base, span->slices);
  store.give(span);
  EXPECT_DEATH(store.give(span), "does not hold") << "twice";
}

TEST_F(StoreTest, WhatASpanIsForBeginsWithNothing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Span* const span = take_span(1);
  span->set_kind(SpanKind::page);
  EXPECT_DEATH(span->set_kind(SpanKind::checked), "may_become");
  EXPECT_DEATH(span->set_kind(SpanKind::unmapping), "may_become");
  span->set_kind(SpanKind::large);
  give_span(span);
}
#endif

// What is taken of memory that was never used, from some size on.
class HugeStoreTest : public StoreTest {
 protected:
  static constexpr std::size_t window_slices = (std::size_t{2} << 20) / slice_bytes;

  void SetUp() override {
    StoreTest::SetUp();
    policy.huge_from_slices.store(4 * window_slices);
  }
  void TearDown() override {
    for (Span* span : spans_) give_span(span);
    policy.huge_from_slices.store(before_);
    os::fake::tell_resident(false);
    StoreTest::TearDown();
  }
  // The number of windows that were to be huge while the store grew to `slices` by spans of `each`.
  std::size_t grow(std::size_t slices, std::size_t each) {
    std::size_t windows = 0;
    const void* last = os::fake::filled_huge();
    while (store.totals().committed_bytes < slices * slice_bytes) {
      spans_.push_back(take_span(each));
      const void* const filled = os::fake::filled_huge();
      if (filled == last) continue;
      EXPECT_EQ(address_of(filled) % (window_slices * slice_bytes), 0u);
      EXPECT_GE(filled, spans_.back()->base);
      EXPECT_LT(filled, spans_.back()->end());
      last = filled;
      ++windows;
    }
    return windows;
  }

  // Whether windows were to be huge when such a span was taken.
  bool fills(std::size_t slices, Fit fit = Fit::warm) {
    const void* const last = os::fake::filled_huge();
    spans_.push_back(take_span(slices, 1, fit));
    return os::fake::filled_huge() != last;
  }
  void write_last() { std::memset(spans_.back()->base, 1, spans_.back()->bytes()); }

  std::vector<Span*> spans_;

 private:
  std::size_t before_ = policy.huge_from_slices.load();
};

TEST_F(HugeStoreTest, FromItsSizeOnItGrowsByWindows) {
  EXPECT_EQ(grow(4 * window_slices, 16), 0u);
  const std::size_t windows = grow(24 * window_slices, 16);
  EXPECT_GE(windows, 15u);
  EXPECT_LE(windows, 20u);
}

TEST_F(HugeStoreTest, NotForLongSpansNorForWhatIsWarm) {
  grow(4 * window_slices, 16);
  EXPECT_EQ(grow(24 * window_slices, 3 * window_slices), 0u) << "the one before was not written to";
  for (Span* span : std::exchange(spans_, {})) give_span(span);
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(fills(16)) << "dirty memory";
}

TEST_F(HugeStoreTest, ForLongSpansIfTheOneBeforeWasWrittenTo) {
  os::fake::tell_resident(true);
  grow(5 * window_slices, 16);
  EXPECT_FALSE(fills(4 * window_slices));
  EXPECT_FALSE(fills(4 * window_slices)) << "the one before was not written to";
  write_last();
  EXPECT_TRUE(fills(4 * window_slices));
  EXPECT_GE(os::fake::filled_huge_bytes(), 2 * window_slices * slice_bytes);
  EXPECT_FALSE(fills(4 * window_slices)) << "what was filled was not written to";
  write_last();
  EXPECT_TRUE(fills(20 * window_slices));
  EXPECT_LE(os::fake::filled_huge_bytes(), 8 * window_slices * slice_bytes) << "not all of it";
}

TEST_F(HugeStoreTest, ForLongPagesOfSmallBlocks) {
  constexpr std::size_t longest = (std::size_t{256} << 10) / slice_bytes;
  grow(5 * window_slices, 16);
  const auto filled_by = [this](std::size_t slices, Fit fit) {
    int filled = 0;
    for (std::size_t i = 0; i < 4 * window_slices / slices; ++i) filled += fills(slices, fit);
    return filled;
  };
  EXPECT_EQ(filled_by(longest, Fit::warm), 0);
  EXPECT_GE(filled_by(longest, Fit::small), 3);
  EXPECT_EQ(filled_by(longest + 1, Fit::small), 0);
}

TEST_F(HugeStoreTest, TheEndOfALongSpanIsLeftOut) {
  os::fake::tell_resident(true);
  grow(5 * window_slices, 16);
  std::size_t filled = 0;
  for (const std::size_t half : {3u, 4u, 5u, 6u, 7u, 19u, 21u}) {
    const bool fill = fills(half * window_slices / 2 + half % 2);
    write_last();
    if (!fill) continue;
    const auto* const start = static_cast<std::byte*>(os::fake::filled_huge());
    EXPECT_GE(start, spans_.back()->base);
    EXPECT_LT(start + os::fake::filled_huge_bytes(), spans_.back()->end());
    ++filled;
  }
  EXPECT_GE(filled, 4u);
}

TEST_F(HugeStoreTest, NeverWhenItIsOffOrTheOsHasNone) {
  policy.huge_from_slices.store(0);
  EXPECT_EQ(grow(16 * window_slices, 16), 0u);
  policy.huge_from_slices.store(4 * window_slices);
  os::fake::fail_at(1, true);
  EXPECT_LE(grow(20 * window_slices, 16), 1u);
  EXPECT_EQ(policy.huge_from_slices.load(), 0u);
}

}  // namespace
}  // namespace tarn
