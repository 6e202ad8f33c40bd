// Thread heaps: made once, found again, given back, and listed anew after a fork.
//
// SPDX-License-Identifier: MIT
#include "engine/records/thread_heaps.hpp"

#include <algorithm>
#include <vector>

#include "actor.hpp"
#include "heaps/blocks/allocate.hpp"
#include "heaps/operations/life.hpp"
#include "platform/os/fake/fake.hpp"

namespace tarn {

struct ThreadHeapsAccess {
  static bool check() {
    os::Locked locked(thread_heaps.lock());
    return thread_heaps.check_locked();
  }
  static ThreadHeap*& spare() { return thread_heaps.spare_; }
};

namespace {

class ThreadHeapsTest : public testing::Test {
 protected:
  ~ThreadHeapsTest() override {
    for (const tarn_heap heap : heaps_) EXPECT_TRUE(heap_clear(heap, true, "test"));
    actor_.end();
    other_.end();
    expect_nothing_in_use();
  }
  HeapRecord& make() {
    heaps_.push_back(heap_create(nullptr));
    EXPECT_NE(heaps_.back().record, nullptr);
    return *static_cast<HeapRecord*>(heaps_.back().record);
  }
  ThreadHeap* join(Actor& actor, HeapRecord& record) {
    ThreadHeap* thread_heap = nullptr;
    actor.run([&] {
      Busy busy(actor.record());
      thread_heap = thread_heaps.join(record, actor.record());
    });
    return thread_heap;
  }
  // As in an exclusive section, which is of a higher room.
  static void give_all(HeapRecord& record) {
    os::Locked gate(record.gate);
    record.exclusive = true;
    thread_heaps.give_all(record);
    record.exclusive = false;
  }
  static HeapSlot& slot(Actor& actor, const HeapRecord& record) {
    return actor.record().slots[record.id % heap_slots];
  }
  static std::vector<ThreadHeap*> listed(const Thread& thread) {
    std::vector<ThreadHeap*> list;
    for (ThreadHeap* h = thread.heaps.head(); h != nullptr; h = h->next_of_thread) {
      list.push_back(h);
    }
    return list;
  }
  static std::uint64_t past_allocations(std::size_t bytes) {
    static tarn_account account;
    account = {};
    thread_heaps.add_past_counts(&account);
    return account.classes[class_of(bytes)].allocations;
  }

  Actor actor_;
  Actor other_;
  std::vector<tarn_heap> heaps_;
};

TEST_F(ThreadHeapsTest, AThreadHasOneInAHeap) {
  HeapRecord& record = make();
  EXPECT_EQ(find_thread_heap(record, actor_.record()), nullptr);
  ThreadHeap* const thread_heap = join(actor_, record);
  ASSERT_NE(thread_heap, nullptr);
  EXPECT_EQ(thread_heap->thread, &actor_.record());
  EXPECT_EQ(thread_heap->record, &record);
  EXPECT_TRUE(serves_nothing(*thread_heap));
  EXPECT_EQ(join(actor_, record), thread_heap);
  EXPECT_EQ(find_thread_heap(record, actor_.record()), thread_heap);
  EXPECT_EQ(find_thread_heap(record, other_.record()), nullptr);
  ThreadHeap* const of_other = join(other_, record);
  EXPECT_NE(of_other, thread_heap);
  EXPECT_EQ(find_thread_heap(record, actor_.record()), thread_heap);
  EXPECT_EQ(find_thread_heap(record, other_.record()), of_other);
  EXPECT_EQ(listed(actor_.record()), std::vector<ThreadHeap*>{thread_heap});
}

TEST_F(ThreadHeapsTest, OfMallocsHeapIsTheThreadItself) {
  EXPECT_EQ(join(actor_, main_record), &actor_.record().heap);
  EXPECT_TRUE(listed(actor_.record()).empty());
}

TEST_F(ThreadHeapsTest, AnOpenHeapIsPutInTheSlotAndAClosedOneIsNot) {
  if (!barriers_known()) GTEST_SKIP() << "no slot is filled here";
  HeapRecord& record = make();
  ThreadHeap* const thread_heap = join(actor_, record);
  EXPECT_EQ(slot(actor_, record).id, record.id);
  EXPECT_EQ(slot(actor_, record).current, thread_heap->current.data());
  slot(actor_, record).id = HeapSlot::no_id;
  record.exclusive = true;
  EXPECT_EQ(join(actor_, record), thread_heap);
  EXPECT_EQ(slot(actor_, record).id, HeapSlot::no_id);
  record.exclusive = false;
}

TEST_F(ThreadHeapsTest, GivenBackTheyServeTheNextHeap) {
  HeapRecord& first = make();
  ThreadHeap* const thread_heap = join(actor_, first);
  give_all(first);
  EXPECT_EQ(find_thread_heap(first, actor_.record()), nullptr);
  EXPECT_TRUE(listed(actor_.record()).empty());
  EXPECT_EQ(thread_heap->thread, nullptr);
  EXPECT_EQ(join(other_, make()), thread_heap);
}

TEST_F(ThreadHeapsTest, OneWithPagesStaysWithItsThreadAsMallocs) {
  HeapRecord& record = make();
  record.young = false;  // Blocks in pages from the first one on.
  void* block = nullptr;
  actor_.run([&] { block = heap_allocate_slow(heaps_.back(), {.bytes = 48, .function = "test"}); });
  ASSERT_NE(block, nullptr);
  ThreadHeap* const thread_heap = find_thread_heap(record, actor_.record());
  ASSERT_NE(thread_heap, nullptr);
  EXPECT_FALSE(actor_.record().has_left_over);
  ASSERT_TRUE(heap_delete(heaps_.back()));
  heaps_.pop_back();
  EXPECT_EQ(thread_heap->record, &main_record);
  EXPECT_TRUE(actor_.record().has_left_over);
  EXPECT_EQ(thread_heaps.take_left_over(actor_.record()), thread_heap);
  EXPECT_EQ(thread_heaps.take_left_over(actor_.record()), nullptr) << "once";
  EXPECT_EQ(listed(actor_.record()), std::vector<ThreadHeap*>{thread_heap})
      << "its pages are there";
  actor_.record().left_over = thread_heap;  // As it was: the thread's next slow path puts it down.
  actor_.free(block);
  actor_.run([] { trim(0); });
}

TEST_F(ThreadHeapsTest, AnEmptiedOneIsLinkedForItsThread) {
  ThreadHeap* const first = join(actor_, make());
  ThreadHeap* const second = join(actor_, make());
  Thread& thread = actor_.record();
  ThreadHeap* const links[] = {first->next_of_record, second->next_of_record};
  EXPECT_EQ(thread.emptied, nullptr);
  for (ThreadHeap* const emptied : {first, second}) {
    emptied->left_over = true;  // As if its heap had been deleted.
    note_emptied(*emptied);
    emptied->left_over = false;
  }
  EXPECT_TRUE(thread.has_left_over);
  EXPECT_EQ(thread.emptied, second);
  EXPECT_EQ(second->next_of_record, first);
  EXPECT_EQ(first->next_of_record, nullptr);
  thread.emptied = nullptr;  // These heaps were not deleted.
  thread.has_left_over = false;
  first->next_of_record = links[0];
  second->next_of_record = links[1];
}

TEST_F(ThreadHeapsTest, WhatTheyCountedIsKeptWhenTheyAreGivenBack) {
  HeapRecord& record = make();
  record.young = false;
  actor_.run([&] {
    EXPECT_NE(heap_allocate_slow(heaps_.back(), {.bytes = 300, .function = "test"}), nullptr);
  });
  const ThreadHeap* const thread_heap = find_thread_heap(record, actor_.record());
  ASSERT_NE(thread_heap, nullptr);
  static tarn_account account;
  account = {};
  add_counts_of(*thread_heap, record, &account);
  const std::uint64_t counted = account.classes[class_of(300)].allocations;
  EXPECT_GT(counted, 0u);
  EXPECT_EQ(account.classes[class_of(300)].sampled, 1u);
  EXPECT_EQ(account.classes[class_of(300)].sampled_bytes, 300u);
  const std::uint64_t before = past_allocations(300);
  ASSERT_TRUE(heap_clear(heaps_.back(), true, "test"));
  heaps_.pop_back();
  EXPECT_EQ(past_allocations(300), before + counted);
}

TEST_F(ThreadHeapsTest, BlocksWithoutOneAreCounted) {
  const std::uint64_t before = past_allocations(160);
  const std::uint64_t of_others = past_allocations(320);
  thread_heaps.count_without_thread_heap(160);
  thread_heaps.count_without_thread_heap(160);
  EXPECT_EQ(past_allocations(160), before + 2);
  EXPECT_EQ(past_allocations(320), of_others);
}

TEST_F(ThreadHeapsTest, AVisitPassesOverClosedHeaps) {
  HeapRecord& open = make();
  HeapRecord& frozen = make();
  ThreadHeap* const thread_heap = join(actor_, open);
  join(actor_, frozen);
  frozen.frozen = Frozen::yes;
  std::vector<ThreadHeap*> visited;
  actor_.run([&] {
    Busy busy(actor_.record());
    thread_heaps.for_each(actor_.record(),
                          [&](ThreadHeap& visiting) { visited.push_back(&visiting); });
  });
  EXPECT_EQ(visited, std::vector<ThreadHeap*>{thread_heap});
  frozen.frozen = Frozen::no;
}

TEST_F(ThreadHeapsTest, AHeapThatIsNotSharedHasOneForAll) {
  HeapRecord& record = make();
  ThreadHeap* const thread_heap = thread_heaps.join_alone(record, locked_owner);
  ASSERT_NE(thread_heap, nullptr);
  EXPECT_EQ(thread_heap->thread, &locked_owner);
  EXPECT_EQ(thread_heaps.join_alone(record, locked_owner), thread_heap);
  EXPECT_EQ(record.first_thread_heap, thread_heap);
  EXPECT_EQ(thread_heap->next_of_record, nullptr);
  give_all(record);
  EXPECT_EQ(record.first_thread_heap, nullptr);
}

#ifdef TARN_DEBUG
TEST_F(ThreadHeapsTest, CheckFindsASpareOneThatIsLostOrInUse) {
  HeapRecord& record = make();
  ThreadHeap* const thread_heap = join(actor_, record);
  give_all(record);
  EXPECT_TRUE(ThreadHeapsAccess::check());
  ASSERT_EQ(ThreadHeapsAccess::spare(), thread_heap);
  ThreadHeapsAccess::spare() = thread_heap->next_of_record;
  EXPECT_FALSE(ThreadHeapsAccess::check()) << "on no list";
  ThreadHeapsAccess::spare() = thread_heap;
  thread_heap->thread = &actor_.record();
  EXPECT_FALSE(ThreadHeapsAccess::check()) << "a thread's";
  thread_heap->thread = nullptr;
  thread_heap->left_over = true;
  EXPECT_FALSE(ThreadHeapsAccess::check());
  thread_heap->left_over = false;
  EXPECT_TRUE(ThreadHeapsAccess::check());
}

TEST_F(ThreadHeapsTest, CheckFindsPagesOfASpareOneAndAUsedOneOfNoRecord) {
  HeapRecord& record = make();
  ThreadHeap* const thread_heap = join(actor_, record);
  HeapRecord* const known = thread_heap->record;
  thread_heap->record = nullptr;
  EXPECT_FALSE(ThreadHeapsAccess::check());
  thread_heap->record = known;
  give_all(record);
  Page page;
  thread_heap->pages.push_front(&page);
  EXPECT_FALSE(ThreadHeapsAccess::check());
  thread_heap->pages.remove(&page);
  EXPECT_TRUE(ThreadHeapsAccess::check());
}
#endif

// There is room in pieces that were had before, and then there is none.
TEST_F(ThreadHeapsTest, OutOfMemoryLeavesNoTrace) {
  os::fake::fail_at(1, true);
  std::vector<HeapRecord*> records;
  HeapRecord* refused = nullptr;
  while (refused == nullptr && records.size() < 10'000) {
    const tarn_heap heap = heap_create(nullptr);
    if (heap.record == nullptr) break;
    heaps_.push_back(heap);
    auto* const record = static_cast<HeapRecord*>(heap.record);
    (join(actor_, *record) == nullptr ? refused : records.emplace_back()) = record;
  }
  if (refused == nullptr) {  // Records of heaps were the first that were not to be had.
    for (HeapRecord* const record : records) {
      if (join(other_, *record) != nullptr) continue;
      refused = record;
      break;
    }
  }
  ASSERT_NE(refused, nullptr);
  const auto has_share_in = [&](const Thread& thread) {
    const auto list = listed(thread);
    return std::any_of(list.begin(), list.end(), [&](const ThreadHeap* thread_heap) {
      return thread_heap->record == refused;
    });
  };
  Actor& late = has_share_in(actor_.record()) ? other_ : actor_;
  EXPECT_EQ(find_thread_heap(*refused, late.record()), nullptr);
  EXPECT_FALSE(has_share_in(late.record()));
  EXPECT_NE(slot(late, *refused).id, refused->id);
  EXPECT_EQ(join(late, *refused), nullptr);
  os::fake::fail_at(0, false);
  ThreadHeap* const thread_heap = join(late, *refused);
  ASSERT_NE(thread_heap, nullptr);
  EXPECT_EQ(find_thread_heap(*refused, late.record()), thread_heap);
}

// The child of a fork does so when another thread held the lock.
TEST_F(ThreadHeapsTest, ListsAreMadeAgainFromTheRecords) {
  HeapRecord& a = make();
  HeapRecord& b = make();
  HeapRecord& gone = make();
  std::vector<ThreadHeap*> of_actor{join(actor_, a), join(actor_, b)};
  const std::vector<ThreadHeap*> of_other{join(other_, b)};
  ThreadHeap* const spare = join(other_, gone);
  ASSERT_TRUE(heap_clear(heaps_.back(), true, "test"));
  heaps_.pop_back();
  ASSERT_EQ(spare->thread, nullptr);
  {
    os::Locked locked(thread_heaps.lock());
    actor_.record().heaps.abandon();
    other_.record().heaps.abandon();
    thread_heaps.list_thread_heaps_of(a);
    thread_heaps.list_thread_heaps_of(b);
    thread_heaps.list_others();
  }
  std::vector<ThreadHeap*> found = listed(actor_.record());
  std::sort(found.begin(), found.end());
  std::sort(of_actor.begin(), of_actor.end());
  EXPECT_EQ(found, of_actor);
  EXPECT_EQ(listed(other_.record()), of_other);
  EXPECT_EQ(join(actor_, make())->thread, &actor_.record());
}

}  // namespace
}  // namespace tarn
