// Checked heaps from within: what is known of a block at each step of its life.
//
// SPDX-License-Identifier: MIT
#include "heaps/checked/checks.hpp"

#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "checked_heap.hpp"
#include "heaps/checked/passthrough.hpp"
#include "heaps/operations/life.hpp"
#include "platform/base/fill.hpp"
#include "platform/os/fake/fake.hpp"
#include "platform/settings/settings.hpp"
#include "tarn/detail/watch.h"

namespace tarn {
namespace {

class ChecksTest : public CheckedHeapTest {
 protected:
  ChecksTest() : CheckedHeapTest(TARN_MODE_CHECKED) {}
};

TEST(ChecksMakeTest, IsOfTheModeAndUsedAgainAsNew) {
  Checks* const checks = checks_make(Mode::guarded);
  ASSERT_NE(checks, nullptr);
  EXPECT_EQ(checks->mode, Mode::guarded);
  count_born(*checks, 100);
  checks->kept_bytes = 5;
  checks_give(checks);
  Checks* const again = checks_make(Mode::checked);
  EXPECT_EQ(again, checks);
  EXPECT_EQ(again->mode, Mode::checked);
  EXPECT_EQ(again->live_blocks, 0u);
  EXPECT_EQ(again->live_bytes_peak, 0u);
  EXPECT_EQ(again->kept_bytes, 0u);
  EXPECT_NE(checks_make(Mode::checked), again);
  checks_give(again);
}

TEST(ChecksMakeTest, IsNullOutOfMemoryAndTheNextAttemptWorks) {
  os::fake::fail_at(1, true);
  std::vector<Checks*> made;
  while (Checks* const checks = checks_make(Mode::checked)) made.push_back(checks);
  EXPECT_EQ(checks_make(Mode::checked), nullptr);
  errno = 0;
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.mode = TARN_MODE_CHECKED;
  EXPECT_EQ(heap_create(&options).record, nullptr);
  EXPECT_EQ(errno, ENOMEM);
  os::fake::fail_at(0, false);
  Checks* const checks = checks_make(Mode::checked);
  EXPECT_NE(checks, nullptr);
  checks_give(checks);
  for (Checks* const c : made) checks_give(c);
}

TEST(ModesTest, AreSoundWithoutMemoryOfTheirOwn) {
  alignas(64) static std::byte region[1 << 16];
  testing::internal::CaptureStderr();
  for (int mode = TARN_MODE_FAST; mode <= TARN_MODE_PASSTHROUGH; ++mode) {
    tarn_heap_options options = TARN_HEAP_OPTIONS();
    options.mode = mode;
    EXPECT_TRUE(mode_is_sound(options)) << mode;
    options.region = region;
    options.region_bytes = sizeof region;
    EXPECT_EQ(mode_is_sound(options), mode == TARN_MODE_FAST) << mode;
  }
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.mode = TARN_MODE_PASSTHROUGH + 1;
  EXPECT_FALSE(mode_is_sound(options));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("is always fast"), std::string::npos) << said;
}

TEST_F(ChecksTest, ABlockHasWhatWasAskedForAndACanaryBehind) {
  for (const std::size_t bytes : {0u, 1u, 7u, 8u, 100u, 1000u, 5000u, 200'000u}) {
    auto* const p = static_cast<std::byte*>(allocate(bytes));
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(checks_bytes(page_of(p), p, test), bytes);
    EXPECT_TRUE(checks_has(page_of(p), p));
    EXPECT_FALSE(checks_has(page_of(p), p + 1));
    const Place place = place_around(page_of(p), p);
    EXPECT_EQ(place.start, p);
    EXPECT_EQ(place.note->state(), NoteState::live);
    EXPECT_EQ(place.note->requested(), bytes);
    EXPECT_GE(place.bytes, bytes + canary_bytes);
    std::memset(p, 0, bytes);
    checks_verify(record(), "test");  // Whole: it returns.
    free(p);
  }
}

TEST_F(ChecksTest, AByteBehindTheBlockIsDamage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const std::size_t bytes : {0u, 24u, 1000u, 200'000u}) {
    auto* const p = static_cast<unsigned char*>(allocate(bytes));
    for (std::size_t behind = 0; behind < canary_bytes; behind += 7) {
      const unsigned char before = p[bytes + behind];
      p[bytes + behind] = static_cast<unsigned char>(~before);
      EXPECT_DEATH(checks_verify(record(), "test"), "test") << bytes;
      p[bytes + behind] = before;
    }
    checks_verify(record(), "test");
    free(p);
  }
}

TEST_F(ChecksTest, WhatWasFreedIsKeptBackAndNotHandedOut) {
  void* const p = allocate(48);
  free(p);
  EXPECT_EQ(place_around(page_of(p), p).note->state(), NoteState::kept_back);
  EXPECT_FALSE(checks_has(page_of(p), p));
  EXPECT_EQ(checks().oldest_kept, p);
  EXPECT_EQ(checks().newest_kept, p);
  for (int i = 0; i < 20; ++i) EXPECT_NE(allocate(48), p);
  checks_collect(record());
  EXPECT_EQ(checks().oldest_kept, nullptr);
  EXPECT_EQ(checks().kept_bytes, 0u);
  EXPECT_EQ(place_around(page_of(p), p).note->state(), NoteState::freed);
  EXPECT_EQ(allocate(48), p) << "now it is used again";
}

TEST_F(ChecksTest, WhatIsWrittenToAKeptBlockIsFound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto* const p = static_cast<unsigned char*>(allocate(48));
  free(p);
  const unsigned char before = p[20];
  p[20] = 1;
  EXPECT_DEATH(checks_verify(record(), "test"), "written after it was freed, byte 20");
  EXPECT_DEATH(checks_collect(record()), "written after it was freed, byte 20");
  p[20] = before;
  checks_collect(record());
}

TEST_F(ChecksTest, LiveBlocksAreCountedAsAskedFor) {
  void* const a = allocate(100);
  void* const b = allocate(50);
  EXPECT_EQ(checks().live_blocks, 2u);
  EXPECT_EQ(checks().live_bytes, 150u);
  free(a);
  EXPECT_EQ(checks().live_blocks, 1u);
  EXPECT_EQ(checks().live_bytes, 50u);
  EXPECT_EQ(checks().live_bytes_peak, 150u);
  tarn_heap_stats stats{};
  checks_fill_stats(record(), &stats);
  EXPECT_EQ(stats.live_blocks, 1u);
  EXPECT_EQ(stats.requested_bytes, 50u);
  EXPECT_EQ(stats.large_blocks, 0u);
  free(b);
}

TEST_F(ChecksTest, ResizedInPlaceAsFarAsTheCanaryFits) {
  void* const p = allocate(100);
  const std::size_t place = place_around(page_of(p), p).bytes;
  const auto resize = [&](std::size_t bytes, Resize how) {
    return checks_resize(page_of(p), p, bytes, test, how);
  };
  EXPECT_TRUE(resize(place - canary_bytes, Resize::if_near));
  EXPECT_EQ(checks().live_bytes, place - canary_bytes);
  EXPECT_FALSE(resize(place - canary_bytes + 1, Resize::if_near));
  EXPECT_FALSE(resize(place - canary_bytes + 1, Resize::if_fits));
  EXPECT_EQ(checks_bytes(page_of(p), p, test), place - canary_bytes) << "nothing has changed";
  EXPECT_FALSE(resize(1, Resize::if_near)) << "most of the place would be unused";
  EXPECT_TRUE(resize(1, Resize::if_fits));
  EXPECT_EQ(checks().live_bytes, 1u);
  checks_verify(record(), "test");
  EXPECT_EQ(checks().live_blocks, 1u);
  free(p);
}

TEST_F(ChecksTest, SizesThatNoNoteCouldSayAreRefused) {
  EXPECT_EQ(attempt({.bytes = noted_bytes_max + 1, .function = "test"}).outcome,
            Outcome::out_of_memory);
  EXPECT_EQ(attempt({.bytes = 1, .alignment = noted_bytes_max * 2, .function = "test"}).outcome,
            Outcome::out_of_memory);
  EXPECT_EQ(checks().live_blocks, 0u);
}

TEST_F(ChecksTest, ACeilingRefusesAndNothingIsCharged) {
  record().limits.set_ceiling(1);
  const Attempt refused = attempt({.bytes = 100, .function = "test"});
  EXPECT_EQ(refused.outcome, Outcome::refused);
  EXPECT_EQ(refused.refused_by, &record());
  EXPECT_EQ(record().limits.committed, 0u);
  EXPECT_EQ(checks().charged, 0u);
  record().limits.set_ceiling(0);
  EXPECT_NE(allocate(100), nullptr);
  EXPECT_EQ(checks().charged, record().limits.committed);
}

// The n-th call of the OS, alone or with all that follow, for every n that an allocation comes to.
TEST_F(ChecksTest, OutOfMemoryTakesNothing) {
  for (const bool onwards : {false, true}) {
    for (const std::size_t bytes : {40u, 300'000u}) {
      int nulls = 0;
      for (std::uint64_t n = 1;; ++n) {
        ASSERT_LT(n, 20u);
        const NothingFree nothing_free;
        os::fake::fail_at(n, onwards);
        const Attempt got = attempt({.bytes = bytes, .function = "test"});
        const bool reached = os::fake::calls() >= n;
        os::fake::fail_at(0, false);
        if (got.block == nullptr) {
          ++nulls;
          EXPECT_EQ(got.outcome, Outcome::out_of_memory);
          EXPECT_EQ(checks().live_blocks, 0u);
          EXPECT_EQ(checks().charged, 0u);
          EXPECT_EQ(record().limits.committed, 0u);
        } else {
          EXPECT_EQ(checks_bytes(page_of(got.block), got.block, test), bytes);
          free(got.block);
          checks_collect(record());
        }
        ASSERT_TRUE(store.check());
        if (!reached) break;
      }
      if (onwards) {
        EXPECT_GT(nulls, 0) << bytes;
      }
    }
  }
}

TEST_F(ChecksTest, WhereNoBlockWasEverAFreeIsInvalid) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto* const p = static_cast<std::byte*>(allocate(40));
  const std::size_t place = place_around(page_of(p), p).bytes;
  ASSERT_LT(p + 2 * place, page_of(p)->end());
  EXPECT_DEATH(free(p + 2 * place), "tarn: invalid free: ");
  free(p);
}

TEST_F(ChecksTest, ACollectionGivesBackWhatAFloorKept) {
  record().limits.floor = 1 << 20;
  void* const p = allocate(40);
  free(p);
  checks_collect(record());
  EXPECT_NE(checks().charged, 0u) << "it is below the floor";
  record().limits.floor = 0;
  checks_collect(record());
  EXPECT_EQ(checks().charged, 0u);
}

TEST_F(ChecksTest, ACollectionGivesBackWhatTheQuarantineLetGo) {
  record().limits.floor = 16 << 20;
  std::vector<void*> blocks(600);
  for (void*& p : blocks) p = allocate(1000);
  for (void* const p : blocks) free(p);
  ASSERT_NE(checks().oldest_kept, blocks.front()) << "its turn was over";
  record().limits.floor = 0;
  checks_collect(record());
  EXPECT_EQ(checks().charged, 0u);
}

TEST_F(ChecksTest, ACollectionWaitsForAWalk) {
  void* const p = allocate(40);
  free(p);
  record().walking = true;
  checks_collect(record());
  EXPECT_EQ(checks().oldest_kept, p);
  record().walking = false;
  checks_collect(record());
  EXPECT_EQ(checks().oldest_kept, nullptr);
}

TEST_F(ChecksTest, ACollectionPassesOverAHeapThatAnotherThreadHasToItself) {
  void* const p = allocate(40);
  free(p);
  enter_exclusive(record());
  std::thread([this] { checks_collect(record()); }).join();
  EXPECT_EQ(checks().oldest_kept, p);
  leave_exclusive(record());
  std::thread([this] { checks_collect(record()); }).join();
  EXPECT_EQ(checks().oldest_kept, nullptr);
}

TEST_F(ChecksTest, SizesAreNotComparedWhereTheyAreNotToBe) {
  void* const p = allocate(40);
  ASSERT_EQ(settings.read("check_sizes=0"), 0u);
  checks_free(page_of(p), p, {"free", nullptr, 41});
  ASSERT_EQ(settings.read("check_sizes=1"), 0u);
}

TEST_F(ChecksTest, DisownedBlocksAreNoLongerCharged) {
  void* const p = allocate(100);
  ASSERT_GT(record().limits.committed, 0u);
  free(allocate(300));
  enter_exclusive(record());
  EXPECT_FALSE(checks_disown(record())) << "one is live";
  leave_exclusive(record());
  EXPECT_EQ(record().limits.committed, 0u);
  EXPECT_TRUE(checks().deleted);
  EXPECT_EQ(checks().oldest_kept, nullptr);
  checks().deleted = false;  // As it was, for the end of the test.
  ASSERT_EQ(charge(record(), checks().charged), nullptr);
  free(p);
}

class PassthroughTest : public CheckedHeapTest {
 protected:
  PassthroughTest() : CheckedHeapTest(TARN_MODE_PASSTHROUGH) {}
};

TEST_F(PassthroughTest, AResizeThatTheSystemRefusesIsNotCharged) {
  void* const p = allocate(100);
  ASSERT_NE(p, nullptr);
  const std::size_t committed = record().limits.committed;
  if (!TARN_HAS_ASAN && !TARN_TSAN) {  // Their malloc ends the process instead.
    EXPECT_EQ(passthrough_resize(p, std::size_t{1} << 46, test), nullptr);
  }
  EXPECT_EQ(record().limits.committed, committed);
  EXPECT_EQ(checks().charged, committed);
  std::size_t bytes = 0;
  EXPECT_EQ(passthrough_record(p, &bytes), &record());
  EXPECT_EQ(bytes, 100u);
  void* const q = passthrough_resize(p, 300, test);
  EXPECT_EQ(record().limits.committed, committed + 200);
  EXPECT_TRUE(checks_free_passed(q, test));
  EXPECT_EQ(passthrough_record(q, &bytes), nullptr);
  EXPECT_FALSE(checks_free_passed(q, test));
  EXPECT_EQ(record().limits.committed, 0u);
}

}  // namespace
}  // namespace tarn
