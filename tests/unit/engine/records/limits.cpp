// Charges of a heap and its ancestors: who refuses one, and what is left of one that was refused.
//
// SPDX-License-Identifier: MIT
#include "engine/records/limits.hpp"

#include <array>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tarn {
namespace {

// A heap, its parent and its parent's parent; charges begin at the heap.
class LimitsTest : public testing::Test {
 protected:
  LimitsTest() {
    heap_.parent = &parent_;
    parent_.parent = &top_;
  }
  static std::size_t committed(const HeapRecord& record) { return record.limits.committed.load(); }
  void expect_committed(std::size_t in_heap, std::size_t in_parent, std::size_t in_top) {
    EXPECT_EQ(committed(heap_), in_heap);
    EXPECT_EQ(committed(parent_), in_parent);
    EXPECT_EQ(committed(top_), in_top);
  }
  static bool is_passed(const HeapRecord& record) { return record.limits.soft_mark_passed.load(); }

  HeapRecord heap_;
  HeapRecord parent_;
  HeapRecord top_;
};

TEST_F(LimitsTest, AChargeGoesUpToTheLastAncestor) {
  EXPECT_EQ(charge(heap_, 100), nullptr);
  EXPECT_EQ(charge(parent_, 30), nullptr);
  EXPECT_EQ(charge(top_, 7), nullptr);
  expect_committed(100, 130, 137);
  uncharge(heap_, 100);
  expect_committed(0, 30, 37);
}

TEST_F(LimitsTest, TheLowestCeilingThatIsMetRefusesAndNothingHasChanged) {
  for (HeapRecord* const refuser : {&heap_, &parent_, &top_}) {
    ASSERT_EQ(charge(heap_, 60), nullptr);
    refuser->limits.set_ceiling(100);
    EXPECT_EQ(charge(heap_, 41), refuser);
    expect_committed(60, 60, 60);
    EXPECT_EQ(charge(heap_, 40), nullptr) << "to the ceiling itself";
    EXPECT_EQ(charge(heap_, 1), refuser);
    EXPECT_EQ(charge(heap_, 0), nullptr);
    expect_committed(100, 100, 100);
    refuser->limits.set_ceiling(0);
    EXPECT_EQ(charge(heap_, 1), nullptr) << "no ceiling";
    uncharge(heap_, 101);
  }
}

TEST_F(LimitsTest, ACeilingOfAChildIsNoneOfItsParent) {
  heap_.limits.set_ceiling(10);
  EXPECT_EQ(charge(parent_, 1000), nullptr);
  EXPECT_EQ(charge(heap_, 10), nullptr);
  EXPECT_EQ(charge(heap_, 1), &heap_);
}

TEST_F(LimitsTest, SumsThatNoNumberHoldsAreRefused) {
  ASSERT_EQ(charge(heap_, 16), nullptr);
  EXPECT_EQ(charge(heap_, SIZE_MAX), &heap_) << "also without a ceiling";
  EXPECT_EQ(charge(heap_, SIZE_MAX - 15), &heap_);
  expect_committed(16, 16, 16);
}

TEST_F(LimitsTest, BelowWhatIsChargedACeilingRefusesEverything) {
  ASSERT_EQ(charge(heap_, 100), nullptr);
  parent_.limits.set_ceiling(50);
  EXPECT_EQ(charge(heap_, 0), &parent_);
  uncharge(heap_, 60);
  EXPECT_EQ(charge(heap_, 10), nullptr);
  EXPECT_EQ(charge(heap_, 1), &parent_);
}

TEST_F(LimitsTest, ASoftMarkIsPassedOnce) {
  parent_.limits.set_soft_mark(100);
  ASSERT_EQ(charge(heap_, 100), nullptr);
  EXPECT_FALSE(is_passed(parent_));
  ASSERT_EQ(charge(heap_, 1), nullptr);
  EXPECT_TRUE(is_passed(parent_));
  EXPECT_FALSE(is_passed(heap_));
  EXPECT_FALSE(is_passed(top_));
  parent_.limits.soft_mark_passed = false;  // The callback was called.
  ASSERT_EQ(charge(heap_, 1000), nullptr);
  EXPECT_FALSE(is_passed(parent_)) << "it was above before";
  uncharge(heap_, 1001);
  ASSERT_EQ(charge(heap_, 1), nullptr);
  EXPECT_TRUE(is_passed(parent_)) << "it was below meanwhile";
}

TEST_F(LimitsTest, AMarkThatARefusedChargePassedIsNotPassed) {
  heap_.limits.set_soft_mark(10);
  top_.limits.set_ceiling(20);
  EXPECT_EQ(charge(heap_, 21), &top_);
  EXPECT_FALSE(is_passed(heap_));
  EXPECT_EQ(charge(heap_, 11), nullptr);
  EXPECT_TRUE(is_passed(heap_));
  EXPECT_EQ(charge(heap_, 10), &top_);
  EXPECT_TRUE(is_passed(heap_)) << "that one was passed by a charge that holds";
}

TEST_F(LimitsTest, ACancelledChargeLeavesNoMarkAndNoPeak) {
  heap_.limits.set_soft_mark(10);
  ASSERT_EQ(charge(heap_, 5), nullptr);
  ASSERT_EQ(charge(heap_, 50), nullptr);
  cancel_charge(heap_, 50);
  expect_committed(5, 5, 5);
  EXPECT_FALSE(is_passed(heap_));
  EXPECT_EQ(committed_peak(heap_), 5u);
  uncharge(heap_, 5);
  EXPECT_EQ(committed_peak(top_), 5u);
}

TEST_F(LimitsTest, ThePeakIsTheMostThatWasCharged) {
  ASSERT_EQ(charge(heap_, 70), nullptr);
  EXPECT_EQ(committed_peak(heap_), 70u) << "before anything is given back";
  uncharge(heap_, 50);
  EXPECT_EQ(committed_peak(heap_), 70u);
  ASSERT_EQ(charge(heap_, 40), nullptr);
  uncharge(heap_, 60);
  EXPECT_EQ(committed_peak(heap_), 70u) << "60 are less";
  ASSERT_EQ(charge(parent_, 100), nullptr);
  uncharge(parent_, 100);
  EXPECT_EQ(committed_peak(parent_), 100u);
  EXPECT_EQ(committed_peak(heap_), 70u);
}

TEST_F(LimitsTest, EmptyMemoryStaysDownToTheFloorAndDuringAWalk) {
  ASSERT_EQ(charge(heap_, 100), nullptr);
  EXPECT_FALSE(empty_stays(heap_, 100)) << "no floor";
  heap_.limits.set_floor(60);
  EXPECT_FALSE(empty_stays(heap_, 40));
  EXPECT_TRUE(empty_stays(heap_, 41));
  heap_.limits.set_floor(101);
  EXPECT_TRUE(empty_stays(heap_, 0)) << "it has less than its floor";
  heap_.limits.set_floor(0);
  heap_.walking = true;
  EXPECT_TRUE(empty_stays(heap_, 0));
}

TEST_F(LimitsTest, ThreadsNeverPassTheCeilingTogether) {
  constexpr std::size_t ceiling = 50;
  parent_.limits.set_ceiling(ceiling);
  parent_.limits.set_soft_mark(1);
  HeapRecord sibling;
  sibling.parent = &parent_;
  std::array<std::size_t, 4> served{};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < served.size(); ++t) {
    threads.emplace_back([&, t] {
      HeapRecord& heap = t % 2 == 0 ? heap_ : sibling;
      for (int i = 0; i < 2000; ++i) {
        const std::size_t bytes = 1 + (t * 7 + static_cast<std::size_t>(i)) % 30;
        HeapRecord* const refuser = charge(heap, bytes);
        ASSERT_TRUE(refuser == nullptr || refuser == &parent_);
        if (refuser != nullptr) continue;
        ++served[t];
        ASSERT_LE(parent_.limits.committed.load(), ceiling);
        if (i % 3 == 0) cancel_charge(heap, bytes);
        if (i % 3 != 0) uncharge(heap, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::size_t count : served) EXPECT_GT(count, 0u);
  expect_committed(0, 0, 0);
  EXPECT_EQ(committed(sibling), 0u);
  EXPECT_LE(committed_peak(parent_), ceiling);
}

}  // namespace
}  // namespace tarn
