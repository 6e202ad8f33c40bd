// The gate: who may touch a heap that a thread has for itself, and who waits.
//
// SPDX-License-Identifier: MIT
#include "engine/records/gate.hpp"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace tarn {
namespace {

// Closed and opened as heaps/heap/exclusive does it, without what that does about shares.
class GateTest : public testing::Test {
 protected:
  void close(HeapRecord& record) {
    record.gate.lock();
    record.exclusive = true;
  }
  void open(HeapRecord& record) {
    record.exclusive = false;
    record.gate.unlock();
  }

  HeapRecord record_;
};

TEST_F(GateTest, AClosedHeapIsItsClosersAlone) {
  EXPECT_FALSE(exclusive_to_this_thread(record_));
  EXPECT_FALSE(exclusive_to_another(record_));
  EXPECT_FALSE(keeps_off(record_));
  close(record_);
  EXPECT_TRUE(exclusive_to_this_thread(record_));
  EXPECT_FALSE(exclusive_to_another(record_));
  EXPECT_FALSE(keeps_off(record_));
  std::thread([&] {
    EXPECT_FALSE(exclusive_to_this_thread(record_));
    EXPECT_TRUE(exclusive_to_another(record_));
    EXPECT_TRUE(keeps_off(record_));
  }).join();
  open(record_);
  std::thread([&] { EXPECT_FALSE(keeps_off(record_)); }).join();
}

// A heap that is being made has its gate held, and is not held exclusively.
TEST_F(GateTest, TheGateAloneClosesNothing) {
  record_.gate.lock();
  EXPECT_FALSE(exclusive_to_this_thread(record_));
  std::thread([&] { EXPECT_FALSE(exclusive_to_another(record_)); }).join();
  record_.gate.unlock();
}

TEST_F(GateTest, EverybodyKeepsOffAFrozenHeap) {
  for (const Frozen frozen : {Frozen::changing, Frozen::yes}) {
    record_.frozen = frozen;
    EXPECT_TRUE(keeps_off(record_));
    close(record_);
    EXPECT_TRUE(keeps_off(record_)) << "its closer, too";
    open(record_);
  }
}

TEST_F(GateTest, SerialisedHeapsToo) {
  record_.threads = HeapThreads::serialised;
  close(record_);
  std::thread([&] { EXPECT_TRUE(exclusive_to_another(record_)); }).join();
  open(record_);
}

TEST_F(GateTest, ToFreeABlockOfAFrozenHeapIsReported) {
  report_if_frozen(record_);  // It returns.
  record_.id = 77;
  record_.frozen = Frozen::yes;
  snprintf(record_.name, sizeof record_.name, "tables");
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(report_if_frozen(record_), "frozen.*tables");
}

TEST_F(GateTest, WaitingEndsWhenTheHeapIsOpened) {
  close(record_);
  std::atomic<bool> is_open{false};
  std::atomic<bool> has_waited{false};
  std::thread other([&] {
    wait_at_gate(record_);
    has_waited = true;
    EXPECT_TRUE(is_open);
    EXPECT_FALSE(record_.gate.held_by_this_thread());
  });
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  EXPECT_FALSE(has_waited);
  is_open = true;
  open(record_);
  other.join();
  EXPECT_TRUE(has_waited);
}

TEST_F(GateTest, LockedOpenIsNotHadOfAClosedHeap) {
  close(record_);
  std::atomic<bool> is_open{false};
  std::thread other([&] {
    const LockedPastGate locked([&] { return &record_; });
    EXPECT_TRUE(is_open);
    EXPECT_EQ(&locked.record(), &record_);
    EXPECT_TRUE(record_.lock.held_by_this_thread());
  });
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  is_open = true;
  open(record_);
  other.join();
  EXPECT_FALSE(record_.lock.held_by_this_thread());
  EXPECT_TRUE(record_.lock.try_lock()) << "it was left unlocked";
  record_.lock.unlock();
}

TEST_F(GateTest, LockedOpenOfTheCloserDoesNotWait) {
  close(record_);
  {
    const LockedPastGate locked([&] { return &record_; });
    EXPECT_EQ(&locked.record(), &record_);
  }
  open(record_);
}

// A block's heap is deleted while its lock is waited for: the block is malloc's then.
TEST_F(GateTest, LockedOpenFollowsToTheRecordOfTheMoment) {
  HeapRecord later;
  int asked = 0;
  {
    const LockedPastGate locked([&] { return ++asked == 1 ? &record_ : &later; });
    EXPECT_EQ(&locked.record(), &later);
    EXPECT_TRUE(later.lock.held_by_this_thread());
    EXPECT_FALSE(record_.lock.held_by_this_thread());
  }
  EXPECT_FALSE(later.lock.held_by_this_thread());
  EXPECT_EQ(asked, 4) << "before and under each lock";
}

// The two answers belong together: slots are filled only where an exclusive section can count on
// barriers.
TEST(Barriers, AReaderHasThemWhereSlotsAreFilled) {
  const bool known = barriers_known();
  EXPECT_EQ(barrier_for_reader(), known);
  barrier_for_exclusive();
  EXPECT_EQ(barriers_known(), known);
}

}  // namespace
}  // namespace tarn
