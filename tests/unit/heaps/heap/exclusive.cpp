// A thread that has a heap for itself: it waits for those inside, nobody comes in meanwhile, and
// hit paths do not find the heap any more.
//
// SPDX-License-Identifier: MIT
#include "heaps/heap/exclusive.hpp"
#include "engine/threads/orphan_care.hpp"

#include <atomic>
#include <thread>

#include "actor.hpp"
#include "engine/records/gate.hpp"
#include "engine/records/thread_heaps.hpp"
#include "heaps/blocks/allocate.hpp"
#include "heaps/blocks/fixed.hpp"
#include "heaps/operations/life.hpp"
#include "platform/os/fake/fake.hpp"

namespace tarn {
namespace {

class ExclusiveTest : public testing::Test {
 protected:
  ~ExclusiveTest() override { EXPECT_TRUE(heap_clear(heap_, true, "test")); }

  HeapRecord& record() { return *static_cast<HeapRecord*>(heap_.record); }
  void* allocate() { return heap_allocate_slow(heap_, {.bytes = 2'000, .function = "test"}); }
  static bool is_in_slot(const Thread& thread, std::uint64_t id) {
    return thread.slots[id % heap_slots].id.load() == id;
  }

  // Another thread comes into the heap and stands there as `stand` says, until `leave` was called;
  // meanwhile the heap is closed, and that has to wait.
  template <class Stand, class Leave>
  void expect_waited_for(Stand stand, Leave leave) {
    std::atomic<int> stage{0};
    std::atomic<bool> has_left{false};
    std::thread other([&] {
      EXPECT_NE(allocate(), nullptr);
      stand();
      stage = 1;
      while (stage != 2) std::this_thread::yield();
      for (int i = 0; i < 100; ++i) std::this_thread::yield();
      has_left = true;
      leave();
    });
    while (stage != 1) std::this_thread::yield();
    stage = 2;
    enter_exclusive(record());
    EXPECT_TRUE(has_left);
    leave_exclusive(record());
    other.join();
  }

  tarn_heap heap_ = heap_create(nullptr);
};

TEST_F(ExclusiveTest, ClosingsNest) {
  enter_exclusive(record());
  {
    const ExclusiveSection again(record());
    EXPECT_TRUE(enter_exclusive_soon(record()));
    EXPECT_TRUE(enter_exclusive_unless_deadlock(record()));
    EXPECT_TRUE(exclusive_to_this_thread(record()));
    leave_exclusive(record());
    leave_exclusive(record());
  }
  EXPECT_TRUE(exclusive_to_this_thread(record()));
  EXPECT_NE(allocate(), nullptr) << "it is the closer's";
  leave_exclusive(record());
  EXPECT_FALSE(record().exclusive);
  EXPECT_FALSE(record().gate.is_held());
}

TEST_F(ExclusiveTest, UnnestedTheNextOpeningOpens) {
  for (int i = 0; i < 3; ++i) enter_exclusive(record());
  forget_exclusive_depth(record());
  leave_exclusive(record());
  EXPECT_FALSE(exclusive_to_this_thread(record()));
  EXPECT_FALSE(record().gate.is_held());
}

TEST_F(ExclusiveTest, HitPathsDoNotFindTheHeapNorItsOwnClasses) {
  if (!barriers_known()) GTEST_SKIP() << "no slot is filled here";
  const tarn_fixed fixed = heap_fixed(heap_, 80, 16);
  record().young = false;
  std::atomic<int> stage{0};
  Thread* thread = nullptr;
  std::thread other([&] {
    EXPECT_NE(allocate(), nullptr);
    EXPECT_NE(fixed_allocate(fixed), nullptr);
    thread = current_thread;
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  });
  while (stage != 1) std::this_thread::yield();
  EXPECT_TRUE(is_in_slot(*thread, heap_.id));
  EXPECT_TRUE(is_in_slot(*thread, fixed.id));
  enter_exclusive(record());
  EXPECT_FALSE(is_in_slot(*thread, heap_.id));
  EXPECT_FALSE(is_in_slot(*thread, fixed.id));
  leave_exclusive(record());
  stage = 2;
  other.join();
}

TEST_F(ExclusiveTest, AnotherHeapInTheSlotStaysThere) {
  EXPECT_NE(allocate(), nullptr);
  record().young = false;
  EXPECT_NE(allocate(), nullptr);
  HeapSlot& slot = current_thread->slots[heap_.id % heap_slots];
  slot.id = heap_.id + heap_slots;
  enter_exclusive(record());
  EXPECT_EQ(slot.id, heap_.id + heap_slots);
  leave_exclusive(record());
  slot.id = HeapSlot::no_id;
}

TEST_F(ExclusiveTest, AThreadOnAHitPathIsWaitedFor) {
  record().young = false;
  expect_waited_for([] { current_thread->inside = true; }, [] { current_thread->inside = false; });
}

TEST_F(ExclusiveTest, AThreadOnASlowPathIsWaitedFor) {
  record().young = false;
  expect_waited_for([] { Busy::begin(*current_thread); }, [] { Busy::end(*current_thread); });
}

TEST_F(ExclusiveTest, AVisitorWithoutAShareIsWaitedFor) {
  expect_waited_for([&] { record().visitors.fetch_add(1); },
                    [&] { record().visitors.fetch_sub(1); });
}

TEST_F(ExclusiveTest, WhileAnotherThreadHasItOneGivesUpSoon) {
  const tarn_heap second = heap_create(nullptr);
  HeapRecord& of_second = *static_cast<HeapRecord*>(second.record);
  enter_exclusive(record());
  std::thread([&] {
    EXPECT_FALSE(enter_exclusive_soon(record()));
    enter_exclusive(of_second);
    EXPECT_FALSE(enter_exclusive_unless_deadlock(record()))
        << "it would wait with a heap in its hands";
    EXPECT_FALSE(enter_exclusive_soon(record()));
    EXPECT_TRUE(enter_exclusive_unless_deadlock(of_second)) << "its own";
    leave_exclusive(of_second);
    leave_exclusive(of_second);
  }).join();
  EXPECT_EQ(record().exclusive_depth, 1u) << "nothing was done";
  leave_exclusive(record());
  std::thread([&] {
    enter_exclusive(of_second);
    EXPECT_TRUE(enter_exclusive_unless_deadlock(record())) << "nobody has it";
    leave_exclusive(record());
    EXPECT_TRUE(enter_exclusive_soon(record()));
    leave_exclusive(record());
    leave_exclusive(of_second);
  }).join();
  EXPECT_TRUE(heap_clear(second, true, "test"));
}

TEST_F(ExclusiveTest, AVisitKnowsWhetherTheHeapHasEnded) {
  {
    const Visit visit(record(), heap_.id);
    EXPECT_FALSE(visit.ended());
    EXPECT_EQ(visit.thread(), current_thread);
    EXPECT_TRUE(current_thread->busy);
    EXPECT_EQ(record().visitors, 1u) << "there is no share through which it would be found";
  }
  EXPECT_FALSE(current_thread->busy);
  EXPECT_EQ(record().visitors, 0u);
  const Visit visit(record(), heap_.id + 1);
  EXPECT_TRUE(visit.ended());
}

TEST_F(ExclusiveTest, AVisitThroughAShareIsNotCounted) {
  if (!barriers_known()) GTEST_SKIP() << "no slot is filled here";
  record().young = false;
  EXPECT_NE(allocate(), nullptr);
  ASSERT_TRUE(is_in_slot(*current_thread, heap_.id));
  const Visit visit(record(), heap_.id);
  EXPECT_EQ(record().visitors, 0u);
  EXPECT_TRUE(current_thread->busy);
}

TEST_F(ExclusiveTest, AVisitWaitsUntilTheHeapIsOpen) {
  enter_exclusive(record());
  std::atomic<bool> is_open{false};
  std::thread other([&] {
    const Visit visit(record(), heap_.id);
    EXPECT_TRUE(is_open);
    EXPECT_FALSE(visit.ended());
  });
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  EXPECT_EQ(record().visitors, 0u) << "who waits is not inside";
  is_open = true;
  leave_exclusive(record());
  other.join();
  EXPECT_EQ(record().visitors, 0u);
}

TEST_F(ExclusiveTest, AVisitOfAThreadForWhichThereIsNoRecord) {
  os::fake::fail_at(1, true);
  std::vector<Thread*> records;  // All that can be had.
  Thread* const before = current_thread;
  for (;;) {
    set_current_thread(no_thread());
    Thread* const made = thread_start();
    if (made == nullptr) break;
    records.push_back(made);
  }
  set_current_thread(no_thread());
  {
    const Visit visit(record(), heap_.id);
    EXPECT_EQ(visit.thread(), nullptr);
    EXPECT_EQ(record().visitors, 0u);
  }
  os::fake::fail_at(0, false);
  set_current_thread(before);
  for (Thread* const thread : records) orphan_give(*thread);
}

// Of a thread that ended while the heap was closed nobody else would look at the mail.
TEST_F(ExclusiveTest, OpeningReadsTheMailOfThreadsThatHaveEnded) {
  record().young = false;
  Actor ended;
  std::vector<void*> blocks;
  ended.run([&] {
    for (int i = 0; i < 300; ++i) blocks.push_back(allocate());
  });
  ThreadHeap* const thread_heap = find_thread_heap(record(), ended.record());
  ASSERT_NE(thread_heap, nullptr);
  ended.end();
  const std::size_t committed = record().limits.committed;
  enter_exclusive(record());
  std::thread([&] {
    for (void* const block : blocks) deallocate(block);
  }).join();
  EXPECT_EQ(record().limits.committed, committed) << "it is held exclusively: no other thread may";
  leave_exclusive(record());
  EXPECT_LT(record().limits.committed, committed);
}

}  // namespace
}  // namespace tarn
