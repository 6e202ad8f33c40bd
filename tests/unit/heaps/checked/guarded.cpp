// Guarded heaps from within: each block ends where nothing can be reached, and so does its memory
// while it is in quarantine.
//
// SPDX-License-Identifier: MIT
#include "heaps/checked/guarded.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "checked_heap.hpp"
#include "heaps/checked/guard.hpp"
#include "platform/base/bits.hpp"
#include "platform/os/fake/fake.hpp"

namespace tarn {
namespace {

class GuardedTest : public CheckedHeapTest {
 protected:
  GuardedTest() : CheckedHeapTest(TARN_MODE_GUARDED) {}

  static bool is_guarded(const void* p) {
    return page_of(p)->kind_now() == SpanKind::lone &&
           place_around(page_of(p), p).note->has(Note::guarded);
  }
  static bool is_free_guard() {
    if (!take_guard()) return false;
    give_guard();
    return true;
  }
};

// All guards that the process may have, for as long as this lives; less those that are left over.
class GuardsInUse {
 public:
  explicit GuardsInUse(std::size_t left = 0) {
    while (take_guard()) ++taken_;
    for (; left != 0; --left, --taken_) give_guard();
  }
  ~GuardsInUse() {
    for (; taken_ != 0; --taken_) give_guard();
  }
  GuardsInUse(const GuardsInUse&) = delete;
  GuardsInUse& operator=(const GuardsInUse&) = delete;
  std::size_t taken() const { return taken_; }

 private:
  std::size_t taken_ = 0;
};

TEST_F(GuardedTest, ABlockEndsAtTheGuard) {
  for (const std::size_t bytes : {1u, 15u, 16u, 17u, 4096u, 65'536u, 65'537u, 1'000'000u}) {
    auto* const p = static_cast<std::byte*>(allocate(bytes));
    ASSERT_NE(p, nullptr);
    ASSERT_TRUE(is_guarded(p));
    EXPECT_EQ(p + align_up(bytes, block_align), page_of(p)->end() - slice_bytes);
    EXPECT_EQ(checks_bytes(page_of(p), p, test), bytes);
    std::memset(p, 1, bytes);
    checks_verify(record(), "test");
    free(p);
  }
}

// As much as lies there on the block's first page, and 64 bytes at most.
TEST_F(GuardedTest, WritesInFrontOfABlockAreFound) {
  for (const std::size_t bytes : {1u, 100u, 4000u, 40'000u}) {
    auto* const p = static_cast<std::byte*>(allocate(bytes));
    const Place place = place_around(page_of(p), p);
    EXPECT_EQ(place.front,
              std::min<std::size_t>(64, static_cast<std::size_t>(p - page_of(p)->base)));
    for (const std::ptrdiff_t before :
         {std::ptrdiff_t{1}, std::ptrdiff_t{16}, static_cast<std::ptrdiff_t>(place.front)}) {
      EXPECT_EXIT((p[-before] = std::byte{1}, free(p)), testing::KilledBySignal(SIGABRT),
                  "tarn: underrun: .* before its start, " + std::to_string(before) + " byte");
    }
    free(p);
  }
  auto* const whole = static_cast<std::byte*>(allocate(2 * slice_bytes));
  EXPECT_EQ(place_around(page_of(whole), whole).front, 0u);
  free(whole);
}

TEST_F(GuardedTest, AlignmentsUpToSeveralSlices) {
  for (std::size_t alignment = block_align; alignment <= 4 * slice_bytes; alignment *= 4) {
    auto* const p = static_cast<std::byte*>(allocate(100, alignment));
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % alignment, 0u) << alignment;
    EXPECT_TRUE(is_guarded(p));
    std::memset(p, 1, 100);
    free(p);
  }
}

TEST_F(GuardedTest, NoByteBehindCanBeTouched) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto* const p = static_cast<volatile unsigned char*>(allocate(32));
  p[31] = 1;
  EXPECT_DEATH(p[32] = 1, "");
  EXPECT_DEATH(p[32 + slice_bytes - 1] = 1, "");
  free(const_cast<unsigned char*>(p));
  EXPECT_DEATH(p[0] = 1, "") << "nor one of a block in quarantine";
}

TEST_F(GuardedTest, TheBytesBetweenTheEndAndTheGuardAreACanary) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto* const p = static_cast<unsigned char*>(allocate(20));
  const unsigned char before = p[20];
  p[20] = static_cast<unsigned char>(~before);
  EXPECT_DEATH(checks_verify(record(), "test"), "test");
  p[20] = before;
  free(p);
}

TEST_F(GuardedTest, WhereNoGuardIsLeftABlockIsChecked) {
  const GuardsInUse guards;
  ASSERT_GT(guards.taken(), 10'000u);
  void* const p = allocate(32);
  ASSERT_NE(p, nullptr);
  EXPECT_FALSE(is_guarded(p));
  EXPECT_EQ(page_of(p)->kind_now(), SpanKind::checked);
  EXPECT_EQ(checks_bytes(page_of(p), p, test), 32u);
  free(p);
}

TEST_F(GuardedTest, AKeptBackBlocksGuardGoesFirst) {
  const GuardsInUse guards(1);
  void* const p = allocate(32);
  ASSERT_TRUE(is_guarded(p));
  EXPECT_FALSE(is_free_guard());
  free(p);
  EXPECT_EQ(checks().kept_guarded, 1u);
  EXPECT_FALSE(is_free_guard()) << "it is in quarantine with its guard";
  void* const next = allocate(32);
  EXPECT_TRUE(is_guarded(next));
  EXPECT_EQ(checks().kept_guarded, 0u);
  free(next);
}

TEST_F(GuardedTest, InAWalkNothingIsReleasedForAGuard) {
  const GuardsInUse guards(1);
  void* const p = allocate(32);
  free(p);
  record().walking = true;
  void* const next = allocate(32);
  EXPECT_FALSE(is_guarded(next));
  EXPECT_EQ(checks().oldest_kept, p);
  record().walking = false;
  free(next);
}

// Every call of the OS refused in turn: that which makes the guard ends in a checked block.
TEST_F(GuardedTest, RefusedCallsTakeNoGuard) {
  const std::size_t guards_before = GuardsInUse().taken();
  for (const bool onwards : {false, true}) {
    int nulls = 0;
    int unguarded = 0;
    for (std::uint64_t n = 1;; ++n) {
      ASSERT_LT(n, 20u);
      const NothingFree nothing_free;
      os::fake::fail_at(n, onwards);
      void* const p = allocate(100);
      const bool reached = os::fake::calls() >= n;
      os::fake::fail_at(0, false);
      nulls += p == nullptr;
      unguarded += p != nullptr && !is_guarded(p);
      if (p != nullptr) {
        EXPECT_EQ(checks_bytes(page_of(p), p, test), 100u);
        free(p);
      }
      checks_collect(record());
      EXPECT_EQ(checks().charged, 0u);
      EXPECT_EQ(record().limits.committed, 0u);
      ASSERT_TRUE(store.check());
      if (!reached) break;
    }
    EXPECT_GT(onwards ? nulls : unguarded, 0);
  }
  EXPECT_EQ(GuardsInUse().taken(), guards_before) << "no guard was lost";
}

// The OS does not open the span of a block that leaves: its guard is in use until it does.
TEST_F(GuardedTest, WhatCannotBeOpenedIsTriedAgain) {
  const GuardsInUse guards(1);
  void* const p = allocate(32);
  ASSERT_TRUE(is_guarded(p));
  free(p);
  os::fake::fail_at(1, true);
  checks_collect(record());
  os::fake::fail_at(0, false);
  EXPECT_EQ(checks().kept_guarded, 0u);
  EXPECT_EQ(record().limits.committed, 0u);
  EXPECT_FALSE(is_free_guard());
  try_unopened();
  EXPECT_TRUE(is_free_guard());
}

TEST_F(GuardedTest, AllThatCouldNotBeOpenedAreTriedAgainBeforeTheNextBlock) {
  const std::size_t before = slices_in_use();
  std::vector<void*> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(allocate(32));
  for (void* const p : blocks) free(p);
  os::fake::fail_at(1, true);
  checks_collect(record());
  os::fake::fail_at(0, false);
  EXPECT_EQ(slices_in_use(), before + 4 * 2);
  void* const p = allocate(32);
  EXPECT_EQ(slices_in_use(), before + page_of(p)->slices) << "the four have gone";
  free(p);
}

TEST_F(GuardedTest, WhatCannotBeClosedIsNotKeptBack) {
  void* const p = allocate(32);
  os::fake::fail_at(1, false);
  free(p);
  os::fake::fail_at(0, false);
  EXPECT_EQ(checks().kept_guarded, 0u);
  EXPECT_EQ(checks().oldest_kept, nullptr);
  EXPECT_EQ(record().limits.committed, 0u);
}

}  // namespace
}  // namespace tarn
