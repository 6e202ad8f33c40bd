// Blocks at hand when threads end, vanish in a fork, or use each other's pages, and what upkeep
// allocates between (engine/threads/cache_care.cpp, thread_life.cpp).
//
// SPDX-License-Identifier: MIT
#include "cache_test.hpp"
#include "engine/threads/flush.hpp"
#include "engine/threads/gathering.hpp"
#include "engine/threads/orphan_care.hpp"
#include "engine/upkeep/idle_purge.hpp"

namespace tarn {
namespace {

using CacheOwnersTest = CacheTest;

TEST_F(CacheOwnersTest, BlocksOfOthersGoToTheirOwners) {
  allocate(2);
  Page* const page = Actor::page_of(live_[0]);
  Actor other;
  EXPECT_NE(other.record().cache.key, cache().key);
  other.run([&] {
    deallocate(live_.back());
    give_gathered(*current_thread);
  });
  live_.pop_back();
  EXPECT_EQ(other.record().cache.count(size_class), 0u);
  EXPECT_EQ(pending_of(page), 1u);
}

// A new thread may take the record over, and its key, while others have the page.
TEST_F(CacheOwnersTest, AnAdoptedPageHasNoTagsOfTheThreadThatEnded) {
  Actor adopter;
  adopter.free(adopter.allocate(bytes));  // So that it knows the class.
  allocate(2);
  actor_.free(live_.back());
  void* const live = live_.front();
  live_.clear();
  Page* const page = Actor::page_of(live);
  const ThreadCache& ended = cache();
  EXPECT_EQ(page_map.tag_of(live), ended.tag(size_class));
  actor_.end();
  orphans_trim();  // Its current pages wait for adopters.
  Page* adopted = nullptr;
  adopter.run([&] {
    Busy busy(*current_thread);
    adopted = orphans.adopt_page(current_thread->heap, size_class);
  });
  ASSERT_EQ(adopted, page);
  EXPECT_EQ(page_map.tag_of(live), 0) << "until the adopter writes its own";
  adopter.run([&] { deallocate(live); });
  EXPECT_EQ(page->live(), 0u);
  // As refill() does with a page that it has adopted, and the last free then.
  adopter.run([&] {
    Busy busy(*current_thread);
    current_thread->heap.bin(size_class).slices += page->slices;
    current_thread->heap.pages.push_front(page);
    page_place(*page);
  });
}

TEST_F(CacheOwnersTest, TheNextThreadGoesOnWhereOneHasEnded) {
  allocate(3);
  Page* const page = Actor::page_of(live_[0]);
  free_last(2);
  Thread* const record = &actor_.record();
  actor_.end();
  EXPECT_EQ(record->cache.count(size_class), carved - 3) << "what was freed is with its page";
  EXPECT_EQ(page->live(), carved - 2);
  {
    Actor next;
    ASSERT_EQ(&next.record(), record);
    void* block = nullptr;
    next.run([&] { block = tarn::allocate(bytes); });
    EXPECT_EQ(record->cache.count(size_class), carved - 4);
    next.free(block);
    next.free(live_.back());
    live_.pop_back();
  }
  orphans_trim();
  EXPECT_EQ(record->cache.count(size_class), 0u);
  EXPECT_EQ(record->heap.pages.head(), nullptr);
}

// Malloc finds nothing at hand for a thread that has no record, and then something in the one that
// it gets.
TEST_F(CacheOwnersTest, AThreadThatBeginsWithAllocatingTakesWhatIsAtHand) {
  allocate(1);
  actor_.end();
  void* block = nullptr;
  actor_.run([&] { block = tarn::allocate(bytes); });
  EXPECT_EQ(unreached(), carved - 2);
  free(block);
  EXPECT_TRUE(cache_check(actor_.record()));
}

// A vanished thread may have been anywhere in malloc or free, and its pages may be others' by now.
TEST_F(CacheOwnersTest, WhatAForkLeftIsCountedAnew) {
  allocate(6);
  Page* const page = at_hand();
  Thread* const record = &actor_.record();
  actor_.end();
  record->cache.torn = true;
  ++record->cache.lists[size_class].taken;
  orphans_trim();
  EXPECT_EQ(page->live(), carved) << "it stays until the record is taken over";
  Actor other;  // Which takes it over.
  ASSERT_EQ(&other.record(), record);
  EXPECT_FALSE(record->cache.torn);
  EXPECT_EQ(record->cache.count(size_class), 0u);
  EXPECT_EQ(page->live(), 6u);
  --record->cache.lists[size_class].taken;
  for (void* block : std::exchange(live_, {})) other.free(block);
}

TEST_F(CacheOwnersTest, WhatAForkLeftOfPagesThatOthersHaveAdoptedIsFreedAsTheirs) {
  allocate(6);
  Page* const page = at_hand();
  Thread* const record = &actor_.record();
  Actor other;
  actor_.end();
  record->cache.torn = true;
  page->owner.store(&other.record());
  Actor next;
  ASSERT_EQ(&next.record(), record);
  EXPECT_EQ(record->cache.count(size_class), 0u);
  EXPECT_EQ(page->live(), carved);
  EXPECT_EQ(pending_of(page), carved - 6);
  page->owner.store(record);
  for (void* block : std::exchange(live_, {})) next.free(block);
}

// The count of a page that a thread was taking from when it vanished is one off.
TEST_F(CacheOwnersTest, InTheChildOfAForkBlocksAreCountedOneByOne) {
  void* const block = actor_.allocate(bytes);
  Page* const page = at_hand();
  --page->countdown;
  is_child_of_fork.store(true);
  allocate(1);
  is_child_of_fork.store(false);
  EXPECT_EQ(count(), carved - 2);
  EXPECT_TRUE(cache_check(actor_.record()));
  ++page->countdown;
  actor_.free(block);
}

// Others allocate by the heap's handle until the page sleeps, and free what wakes it.
TEST_F(CacheOwnersTest, AnEndingThreadKeepsNothingOfPagesThatOthersMayAdopt) {
  allocate(carved - 4);
  Page* const page = at_hand();
  std::vector<void*> others;
  while (at_hand() == page) others.push_back(actor_.allocate(bytes));
  for (void* block : std::exchange(live_, {})) actor_.run([&] { heap_deallocate(block); });
  ASSERT_TRUE(page->queued);
  EXPECT_EQ(unreached(), 4u);
  ThreadCache& cache_of_record = cache();
  actor_.end();
  EXPECT_EQ(cache_of_record.count(size_class), 0u);
  Actor next;
  for (void* block : others) next.free(block);
}

std::atomic<bool> is_armed{false};
void* extra = nullptr;
bool allocate_in_upkeep(bool) noexcept {
  if (is_armed.exchange(false)) extra = tarn::allocate(96);
  return false;
}

TEST_F(CacheOwnersTest, WhatUpkeepAllocatesIsNotLost) {
  static const KeptBlocks kept{allocate_in_upkeep, []() noexcept {},
                               []() noexcept { return false; }, []() noexcept {}};
  const KeptBlocks* const before = kept_blocks.exchange(&kept);
  policy.delay_ms.store(0);  // So that it is called soon.
  is_armed.store(true);
  while (is_armed.load()) {
    allocate(64 * carved);
    if (is_armed.load()) free_last(live_.size());
  }
  policy.delay_ms.store(500);
  kept_blocks.store(before);
  ASSERT_NE(extra, nullptr);
  live_.push_back(std::exchange(extra, nullptr));
  std::size_t to_pages = 0;
  for (const Span* s = actor_.record().heap.pages.head(); s != nullptr; s = s->next_of_heap) {
    const auto* const page = static_cast<const Page*>(s);
    if (page->size_class == size_class) to_pages += page->live();
  }
  EXPECT_EQ(to_pages, live_.size() + count());
}

}  // namespace
}  // namespace tarn
