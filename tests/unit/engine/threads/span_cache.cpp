// Large blocks that a thread has freed: which serve again, how many are kept and for how long
// (engine/threads/span_cache.cpp).
//
// SPDX-License-Identifier: MIT
#include "engine/threads/span_cache.hpp"

#include <cstring>

#include "actor.hpp"
#include "engine/pages/seal.hpp"
#include "engine/records/live_bytes.hpp"
#include "engine/records/record.hpp"
#include "engine/records/totals.hpp"
#include "heaps/heap/large.hpp"
#include "malloc/process/account.hpp"
#include "platform/os/fake/fake.hpp"

namespace tarn {
namespace {

class SpanCacheTest : public testing::Test {
 protected:
  static constexpr std::size_t bytes = 200 * 1024;
  static constexpr std::size_t kept_bytes_always = kept_slices_always << slice_shift;

  ~SpanCacheTest() override {
    for (void* block : live_) free(block);
    actor_.end();
    expect_nothing_in_use();
  }
  void* take(std::size_t size = bytes, bool zero = false) {
    void* p = nullptr;
    actor_.run([&] { p = large_allocate(size, 1, zero); });
    return p;
  }
  void free(void* p) {
    actor_.run([&] { large_free(page_map.span_of(p)); });
  }
  void age() {
    actor_.run([] { span_cache_age(*current_thread); });
  }
  std::size_t count() {
    std::size_t count = 0;
    actor_.record().span_cache.for_each([&](const Span&) { ++count; });
    return count;
  }
  std::size_t bytes_kept() {
    std::size_t kept = 0;
    actor_.record().span_cache.for_each([&](const Span& span) { kept += span.bytes(); });
    return kept;
  }
  static SpanKind kind_of(const void* p) { return page_map.span_of(p)->kind_now(); }

  Actor actor_;
  std::vector<void*> live_;
};

TEST_F(SpanCacheTest, WhatWasFreedServesTheNextBlockOfItsSize) {
  void* const p = take();
  Span* const span = page_map.span_of(p);
  free(p);
  EXPECT_EQ(span->kind_now(), SpanKind::kept);
  EXPECT_EQ(count(), 1u);
  EXPECT_EQ(take(), p);
  EXPECT_EQ(span->kind_now(), SpanKind::large);
  EXPECT_EQ(static_cast<Page*>(span)->requested_now(), bytes);
  EXPECT_EQ(count(), 0u);
  live_.push_back(p);
}

TEST_F(SpanCacheTest, ABlockMayBeLongerByAnEighth) {
  void* const p = take(9 * 64 * 1024);
  free(p);
  live_.push_back(take(8 * 64 * 1024));
  EXPECT_EQ(live_.back(), p);
  EXPECT_EQ(static_cast<Page*>(page_map.span_of(p))->requested_now(), 8u * 64 * 1024);
}

TEST_F(SpanCacheTest, OneThatIsLongerStillGoesToTheStoreThatCutsIt) {
  void* const p = take(16 * 64 * 1024);
  free(p);
  live_.push_back(take(8 * 64 * 1024));
  EXPECT_EQ(count(), 0u);
  EXPECT_EQ(live_.back(), p) << "it was warm";
}

TEST_F(SpanCacheTest, AShorterOneStays) {
  live_.push_back(take(3 * bytes));
  free(take());
  live_.push_back(take(2 * bytes));
  EXPECT_EQ(count(), 1u);
}

TEST_F(SpanCacheTest, ZeroedBlocksAreZero) {
  void* const p = take();
  memset(p, 0xff, page_map.span_of(p)->bytes());
  free(p);
  auto* const again = static_cast<const unsigned char*>(take(bytes - 4096, true));
  EXPECT_EQ(again, p);
  live_.push_back(p);
  for (std::size_t i = 0; i < page_map.span_of(p)->bytes(); ++i) ASSERT_EQ(again[i], 0) << i;
}

TEST_F(SpanCacheTest, AlignedRequestsGoToTheStore) {
  free(take());
  actor_.run([&] { live_.push_back(large_allocate(bytes, 1 << 20, false)); });
  EXPECT_TRUE(is_aligned(live_.back(), 1 << 20));
  EXPECT_EQ(count(), 1u);
}

TEST_F(SpanCacheTest, ItsBytesAreBounded) {
  for (int i = 0; i < 30; ++i) live_.push_back(take(bytes));
  while (!live_.empty()) {
    free(live_.back());
    live_.pop_back();
    EXPECT_LE(bytes_kept(), kept_together_most << slice_shift);
  }
  EXPECT_EQ(count(), 2u);
  free(take(4 * bytes));
  EXPECT_EQ(count(), 1u) << "a large one is alone";
  free(take(bytes));
  EXPECT_EQ(count(), 1u);
  EXPECT_EQ(bytes_kept(), bytes);
}

TEST_F(SpanCacheTest, ThoseThatCameFirstGoFirst) {
  for (std::size_t i = 0; i < 2 * SpanCache::places; ++i) live_.push_back(take(140 * 1024));
  const std::vector<void*> blocks = live_;
  for (void* block : blocks) free(block);
  live_.clear();
  EXPECT_EQ(count(), SpanCache::places);
  EXPECT_NE(kind_of(blocks.front()), SpanKind::kept);
  EXPECT_EQ(kind_of(blocks.back()), SpanKind::kept);
}

TEST_F(SpanCacheTest, ItsPlacesAreBounded) {
  // Aligned blocks have spans of their own, however small.
  for (std::size_t i = 0; i < 2 * SpanCache::places; ++i) {
    actor_.run([&] { live_.push_back(large_allocate(100, 1 << 16, false)); });
  }
  for (void* block : live_) free(block);
  live_.clear();
  EXPECT_EQ(count(), SpanCache::places);
}

TEST_F(SpanCacheTest, WhatIsTooLargeGoesToTheStore) {
  void* const p = take(kept_bytes_always + 1);
  free(p);
  EXPECT_EQ(count(), 0u);
  EXPECT_NE(kind_of(p), SpanKind::kept);
  free(take(kept_bytes_always));
  EXPECT_EQ(count(), 1u);
}

TEST_F(SpanCacheTest, ALongerOneIsKeptBesideManyTimesAsMuch) {
  const std::size_t longer = 2 * kept_bytes_always;
  const std::size_t many = kept_part * totals.threads_alive();
  while (live_.size() < many - 2) live_.push_back(take(longer));
  free(take(longer));
  EXPECT_EQ(count(), 0u) << "more than a sixteenth of all";
  live_.push_back(take(longer));
  free(take(longer));
  EXPECT_EQ(count(), 1u);
  {
    const Actor another;
    free(take(longer));
    EXPECT_EQ(count(), 0u) << "it could keep as much";
  }

  const std::size_t most = kept_slices_most << slice_shift;
  while (live_.size() < 2 * many) live_.push_back(take(most));
  free(take(most));
  EXPECT_EQ(bytes_kept(), most);
  live_.push_back(take(most));
  free(take(most + slice_bytes));
  EXPECT_EQ(count(), 0u);
}

TEST_F(SpanCacheTest, WhatIsNotTakenForTwoLooksGoes) {
  free(take());
  age();
  EXPECT_EQ(count(), 1u);
  free(take());
  age();
  EXPECT_EQ(count(), 1u) << "it was taken meanwhile";
  age();
  EXPECT_EQ(count(), 0u);
}

TEST_F(SpanCacheTest, TheThreadsEndATrimAndIdlenessLeaveNone) {
  free(take());
  actor_.trim();
  EXPECT_EQ(count(), 0u);
  free(take());
  actor_.run([] { thread_idle(); });
  EXPECT_EQ(count(), 0u);
  void* const p = take();
  free(p);
  actor_.end();
  EXPECT_NE(kind_of(p), SpanKind::kept);
}

TEST_F(SpanCacheTest, AThreadWithoutARecordKeepsNone) {
  void* const p = take();
  Thread* const before = current_thread;
  set_current_thread(no_thread());
  large_free(page_map.span_of(p));
  set_current_thread(before);
  EXPECT_NE(kind_of(p), SpanKind::kept);
}

class HeldSpanTest : public SpanCacheTest {
 protected:
  HeldSpanTest() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    hardened_.hardened = true;
  }
  unsigned char* take_filled(std::size_t size) {
    auto* const p = static_cast<unsigned char*>(take(size));
    std::memset(p, 1, size);
    return p;
  }
  // A block that its heap has let go of, and counts no more. The n-th call of the OS fails, perhaps
  // with all later ones.
  unsigned char* let_go(unsigned char* p, bool held = true, std::uint64_t fails = 0,
                        bool onwards = false) {
    Span* const span = page_map.span_of(p);
    static_cast<Page*>(span)->set_record(&hardened_);
    actor_.run([&] {
      add_live(main_record, -static_cast<std::int64_t>(span->bytes()));
      os::fake::fail_at(fails, onwards);
      EXPECT_EQ(span_cache_hold(*current_thread, span), held);
      os::fake::fail_at(0, false);
    });
    return p;
  }
  void verify() { span_cache_verify(actor_.record()); }

  HeapRecord hardened_;
};

TEST_F(HeldSpanTest, NobodyReachesItUntilItLeavesAndItServesMallocsOwnThen) {
  auto* const p = let_go(take_filled(900'000));
  Span* const span = page_map.span_of(p);
  EXPECT_EQ(span->kind_now(), SpanKind::kept);
  EXPECT_DEATH(p[0] = 2, "");
  EXPECT_DEATH(p[899'999] = 2, "");
  verify();
  EXPECT_EQ(take(900'000), p);
  EXPECT_EQ(static_cast<Page*>(span)->record_now(), &main_record);
  std::memset(p, 2, 900'000);
  free(p);
  p[0] = 3;  // One of malloc's own is not out of reach.
}

TEST_F(HeldSpanTest, WhatTheOsDoesNotOpenStaysAndIsTriedAgain) {
  auto* const p = let_go(take_filled(900'000));
  os::fake::fail_at(1, true);
  actor_.run([] { span_cache_empty(*current_thread); });
  void* const other = take(900'000);
  os::fake::fail_at(0, false);
  EXPECT_NE(other, p);
  if (other != nullptr) live_.push_back(other);
  EXPECT_EQ(kind_of(p), SpanKind::kept);
  EXPECT_EQ(count(), 1u);
  EXPECT_EQ(take(900'000), p);
  std::memset(p, 2, 900'000);
  free(p);
}

TEST_F(HeldSpanTest, OneThatIsClosedInPartStaysUntilTheOsOpensIt) {
  auto* const p = let_go(take_filled(900'000), true, 1, true);
  verify();
  EXPECT_EQ(count(), 1u);
  EXPECT_EQ(take(900'000), p);
  std::memset(p, 2, 900'000);
  free(p);
}

TEST_F(HeldSpanTest, WhereNoneOfThemLeavesNoMoreIsHeldNorKept) {
  std::vector<unsigned char*> held;
  for (std::size_t i = 0; i < SpanCache::places; ++i) held.push_back(take_filled(140 * 1024));
  unsigned char* const last = take_filled(150 * 1024);
  for (unsigned char* const p : held) let_go(p);
  Span* const span = page_map.span_of(last);
  actor_.run([&] {
    os::fake::fail_at(1, true);
    EXPECT_FALSE(span_cache_keep(*current_thread, span));
    static_cast<Page*>(span)->set_record(&hardened_);
    EXPECT_FALSE(span_cache_hold(*current_thread, span));
    os::fake::fail_at(0, false);
    static_cast<Page*>(span)->set_record(&main_record);
  });
  EXPECT_EQ(last[0], 1);
  EXPECT_EQ(span->kind_now(), SpanKind::large);
  for (const auto* const p : held) EXPECT_EQ(kind_of(p), SpanKind::kept);
  free(last);
  EXPECT_EQ(count(), SpanCache::places);
  EXPECT_EQ(kind_of(last), SpanKind::kept) << "one of the others has left for it";
}

// Where the OS does not close it.
class HeldInReachTest : public HeldSpanTest {
 protected:
  HeldInReachTest() : p_(let_go(take_filled(900'000), true, 1)), span_(page_map.span_of(p_)) {}
  unsigned char* p_;
  Span* span_;
};

TEST_F(HeldInReachTest, ItsFirstBytesAreZeroAndItServesMallocsOwnWhenItLeaves) {
  EXPECT_EQ(span_->kind_now(), SpanKind::kept);
  for (std::size_t i = 0; i < seal_watched_bytes; ++i) ASSERT_EQ(p_[i], 0) << i;
  EXPECT_EQ(p_[seal_watched_bytes], 1);
  verify();
  EXPECT_EQ(take(900'000), p_);
  EXPECT_EQ(static_cast<Page*>(span_)->record_now(), &main_record);
  free(p_);
}

TEST_F(HeldInReachTest, WhatIsWrittenToItIsReportedByALookAndWhenItLeaves) {
  p_[seal_watched_bytes] = 2;
  verify();
  p_[seal_watched_bytes - 1] = 2;
  EXPECT_DEATH(verify(), "use after free");
  EXPECT_DEATH(take(900'000), "use after free");
  p_[seal_watched_bytes - 1] = 0;
  verify();
}

TEST_F(HeldSpanTest, OneThatIsTooLargeIsLeftAlone) {
  auto* const p = let_go(take_filled(kept_slices_most << slice_shift), false);
  Span* const span = page_map.span_of(p);
  EXPECT_EQ(p[0], 1);
  EXPECT_EQ(span->kind_now(), SpanKind::large);
  add_live(main_record, static_cast<std::int64_t>(span->bytes()));
  static_cast<Page*>(span)->set_record(&main_record);
  free(p);
}

TEST_F(SpanCacheTest, WhatIsKeptIsNotLiveInTheAccount) {
  tarn_account before{}, live{}, kept{}, again{};
  fill_account(&before);
  void* const p = take();
  fill_account(&live);
  free(p);
  fill_account(&kept);
  EXPECT_EQ(live.large_live_blocks, before.large_live_blocks + 1);
  EXPECT_EQ(kept.large_live_blocks, before.large_live_blocks);
  EXPECT_EQ(kept.large_live_bytes, before.large_live_bytes);
  EXPECT_EQ(kept.live_bytes, before.live_bytes);
  EXPECT_EQ(kept.large_allocations, before.large_allocations + 1);
  live_.push_back(take());
  fill_account(&again);
  EXPECT_EQ(again.large_allocations, before.large_allocations + 2);
  EXPECT_EQ(again.large_live_blocks, before.large_live_blocks + 1);
}

using SpanCacheDeathTest = SpanCacheTest;
TEST_F(SpanCacheDeathTest, ASecondFreeOfAKeptBlockIsReported) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  void* const p = take();
  free(p);
  EXPECT_DEATH(actor_.run([&] { deallocate(p); }), "double free");
}

}  // namespace
}  // namespace tarn
