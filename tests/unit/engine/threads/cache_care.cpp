// Blocks at hand: what a thread's cache takes and gives, how many, and that what it has comes back
// to its pages (engine/threads/cache_care.cpp).
//
// SPDX-License-Identifier: MIT
#include "engine/threads/cache_care.hpp"

#include "actor.hpp"
#include "engine/threads/flush.hpp"
#include "engine/threads/gathering.hpp"
#include "engine/threads/orphan_care.hpp"
#include "malloc/blocks/resize.hpp"
#include "malloc/process/account.hpp"
#include "platform/os/fake/fake.hpp"

namespace tarn {
namespace {

class CacheTest : public testing::Test {
 protected:
  static constexpr std::size_t bytes = 96;
  static constexpr std::size_t size_class = class_of(bytes);
  static constexpr std::size_t carved = slice_bytes / bytes;  // What a fresh page gives at a time.
  static constexpr std::size_t freed_first = 15;
  static constexpr std::size_t freed_least = 8;
  static constexpr std::size_t large_bytes = 48 * 1024;  // Of which 128 KiB hold two.

  // The record may have served another test.
  CacheTest() {
    cache().care = {};
    for (CachedList& list : cache().lists) list.room = 0;
  }
  ~CacheTest() override {
    os::fake::fail_at(0, false);
    for (void* block : live_) free(block);
    actor_.end();
    expect_nothing_in_use();
  }

  ThreadCache& cache() { return actor_.record().cache; }
  std::size_t count(std::size_t c = size_class) { return cache().count(c); }
  std::size_t unreached(std::size_t c = size_class) { return cache().count_unreached(c); }
  std::size_t freed(std::size_t c = size_class) { return count(c) - unreached(c); }
  Page* at_hand() { return actor_.current(bytes); }

  // As a program does, through the cache.
  void allocate(std::size_t blocks, std::size_t each = bytes) {
    actor_.run([&] {
      for (; blocks != 0; --blocks) live_.push_back(tarn::allocate(each));
    });
  }
  void free(void* block) {
    actor_.run([&] { deallocate(block); });
  }
  void free_last(std::size_t blocks) {
    for (; blocks != 0; --blocks) {
      free(live_.back());
      live_.pop_back();
    }
  }
  template <class Body>
  void run_busy(Body body) {
    actor_.run([&] {
      Busy busy(*current_thread);
      body(*current_thread);
    });
  }
  void age() { run_busy(cache_age); }
  void empty() { run_busy(cache_empty); }
  // Until malloc finds nothing at hand, and once more, so that the list is filled again.
  void fill_again() { allocate(count() + 1); }

  Actor actor_;
  std::vector<void*> live_;
};

TEST_F(CacheTest, APageGivesAllItHas) {
  allocate(1);
  EXPECT_EQ(count(), carved - 1);
  EXPECT_EQ(unreached(), carved - 1);
  EXPECT_EQ(at_hand()->free, nullptr);
  EXPECT_EQ(at_hand()->live(), carved) << "to their page they are live";
  allocate(carved - 1);
  EXPECT_EQ(count(), 0u);
  allocate(1);
  EXPECT_EQ(unreached(), carved - 1);
}

TEST_F(CacheTest, TheBlockFreedLastIsTakenFirst) {
  allocate(4);
  const std::vector<void*> blocks = live_;
  const std::uint32_t live = at_hand()->live();
  free_last(4);
  EXPECT_EQ(freed(), 4u);
  EXPECT_EQ(at_hand()->live(), live) << "to their page they are live";
  allocate(4);
  EXPECT_EQ(live_, blocks) << "the last one freed was the first one allocated";
  EXPECT_EQ(count(), carved - 4);
  EXPECT_EQ(unreached(), carved - 8) << "as far as is known: eight blocks were taken";
}

TEST_F(CacheTest, WhatHasNoRoomGoesToItsPage) {
  allocate(carved * 4);
  Page* const page = Actor::page_of(live_.back());
  const std::size_t most = carved + freed_least;  // Nothing was taken again.
  free_last(most - count());
  const std::uint32_t live = page->live();
  free_last(3);
  EXPECT_EQ(count(), most);
  EXPECT_EQ(page->live(), live - 3);
  allocate(1);
  free_last(1);
  EXPECT_EQ(count(), most) << "what was taken may come back";
  EXPECT_TRUE(cache_check(actor_.record()));
}

TEST_F(CacheTest, TakesMoreWhenFreedBlocksAreTakenAgainAndFewerWhenNot) {
  allocate(1);
  const CachedListCare& care = cache().care[size_class];
  EXPECT_EQ(care.freed, freed_first);
  for (std::size_t expected : {30u, 60u, 63u, 63u}) {
    for (std::size_t i = 0; i < 2u * care.freed; ++i) {
      free_last(1);
      allocate(1);
    }
    fill_again();
    EXPECT_EQ(care.freed, expected);
  }
  for (std::size_t expected : {31u, 15u, 8u, 8u}) {
    fill_again();
    EXPECT_EQ(care.freed, expected);
  }
  for (int i = 0; i < 8; ++i) {
    free_last(1);
    allocate(1);
  }
  fill_again();
  EXPECT_EQ(care.freed, freed_least) << "neither";
}

TEST_F(CacheTest, LargeBlocksAreBoundedByBytes) {
  constexpr std::size_t c = class_of(large_bytes);
  allocate(40, large_bytes);
  free_last(40);
  EXPECT_NE(count(c), 0u);
  EXPECT_LE(freed(c) * class_block_bytes[c], cached_bytes_most + class_block_bytes[c]);
}

TEST_F(CacheTest, WhatWasFreedAndIsNotUsedBetweenTwoLooksGoesToItsPage) {
  allocate(4);
  free_last(3);
  age();
  EXPECT_EQ(count(), carved - 1) << "used since the look before";
  allocate(1);
  free_last(1);
  age();
  EXPECT_EQ(count(), carved - 1) << "used, though it has what it had";
  age();
  EXPECT_EQ(count(), carved - 5) << "what was not reached stays, as far as is known";
  EXPECT_EQ(at_hand()->live(), count() + 1);
  free_last(1);
  EXPECT_EQ(count(), carved - 4) << "the list goes on";
}

TEST_F(CacheTest, WhatWasFreedGoesToItsPagesWhenPagesBecomeEmpty) {
  allocate(1000);
  const std::size_t capacity = at_hand()->capacity;
  allocate(8 * capacity);
  free_last(carved + freed_least - count());  // There is no room left.
  while (live_.size() > 1 && freed() != 0) free_last(1);
  EXPECT_EQ(freed(), 0u);
  EXPECT_GT(live_.size(), 4 * capacity) << "the second page that becomes empty tells";
  const std::size_t before = count();
  free_last(1);
  EXPECT_EQ(count(), before) << "and what is freed now goes past it";
  fill_again();
  free_last(1);
  EXPECT_EQ(freed(), 1u);
}

TEST_F(CacheTest, PagesAreToldApartWhenABlockWasTakenBetween) {
  allocate(1000);
  const std::size_t capacity = at_hand()->capacity;
  allocate(8 * capacity);
  const std::size_t had = carved + freed_least;
  free_last(had - count());
  const std::uint32_t pages = actor_.pages(bytes);
  while (live_.size() > capacity) {
    free_last(1);
    if (live_.size() % (capacity / 2) == 0) {
      allocate(1);
      free_last(1);
    }
  }
  EXPECT_LT(actor_.pages(bytes), pages);
  EXPECT_EQ(count(), had);
}

TEST_F(CacheTest, AnEmptyPageIsRetired) {
  allocate(1);
  Page* const page = at_hand();
  void* const where = live_[0];
  EXPECT_EQ(page_map.tag_of(where), cache().tag(size_class));
  EXPECT_EQ(class_of_tag(page_map.tag_of(where)), size_class);
  free_last(1);
  EXPECT_EQ(page->kind_now(), SpanKind::page);
  run_busy([](Thread& thread) { flush_all(thread); });
  EXPECT_EQ(count(), 0u);
  EXPECT_NE(page->kind_now(), SpanKind::page);
  EXPECT_EQ(page_map.tag_of(where), 0);
}

TEST_F(CacheTest, ASleepingPageWakesByAChain) {
  allocate(1);
  Page* const page = at_hand();
  while (at_hand() == page) allocate(1);
  ASSERT_GT(page->kept, 0) << "it is full and asleep";
  const std::size_t threshold = page_threshold(page);
  std::size_t given = 0;
  for (; given < threshold; ++given) {
    if (given % 8 == 7) empty();
    free(live_[given]);
  }
  empty();
  EXPECT_TRUE(page->queued);
  EXPECT_TRUE(thread_heap_check(actor_.record().heap));
  live_.erase(live_.begin(), live_.begin() + static_cast<std::ptrdiff_t>(given));
}

// Others allocate of malloc's heap by its handle: from its pages.
TEST_F(CacheTest, APageThatOthersHaveDrawnOnGivesWhatIsLeft) {
  void* const first = actor_.allocate(bytes);
  void* const second = actor_.allocate(bytes);
  actor_.free(first);
  Page* const page = at_hand();
  EXPECT_NE(page->free, nullptr);
  EXPECT_NE(page->local_free, nullptr);
  allocate(1);
  EXPECT_EQ(count(), carved - 3) << "but not the one that was freed";
  EXPECT_TRUE(cache_check(actor_.record()));
  actor_.free(second);
}

TEST_F(CacheTest, WhatIsLeftOfAPageThatIsNotAtHandAnyMoreGoesToIt) {
  allocate(1);
  Page* const page = at_hand();
  std::vector<void*> others;
  while (at_hand() == page) others.push_back(actor_.allocate(bytes));
  EXPECT_EQ(unreached(), carved - 1);
  run_busy([](Thread& thread) { cache_give_back(thread, size_class); });
  EXPECT_EQ(count(), 0u);
  EXPECT_TRUE(page_check(page));
  EXPECT_TRUE(thread_heap_check(actor_.record().heap));
  for (void* block : others) actor_.free(block);
}

TEST_F(CacheTest, BlocksOfOthersGoToTheirOwners) {
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
TEST_F(CacheTest, AnAdoptedPageHasNoTagsOfTheThreadThatEnded) {
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
    ++current_thread->heap.bin(size_class).pages;
    current_thread->heap.pages.push_front(page);
    page_place(*page);
  });
}

TEST_F(CacheTest, TheNextThreadGoesOnWhereOneHasEnded) {
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
TEST_F(CacheTest, AThreadThatBeginsWithAllocatingTakesWhatIsAtHand) {
  allocate(1);
  actor_.end();
  void* block = nullptr;
  actor_.run([&] { block = tarn::allocate(bytes); });
  EXPECT_EQ(unreached(), carved - 2);
  free(block);
  EXPECT_TRUE(cache_check(actor_.record()));
}

TEST_F(CacheTest, ATrimLeavesNone) {
  allocate(2);
  free_last(2);
  actor_.trim();
  EXPECT_EQ(count(), 0u);
  EXPECT_EQ(store.totals().committed_bytes, 0u);
}

TEST_F(CacheTest, ThreadsWithoutAKeyHaveNone) {
  const std::uint32_t key = std::exchange(cache().key, no_cache_key);
  actor_.trim();
  allocate(2);
  EXPECT_EQ(page_map.tag_of(live_[0]), 0);
  const std::size_t before = count();
  free_last(1);
  EXPECT_EQ(count(), before);
  void* moved = nullptr;
  actor_.run([&] { moved = reallocate(live_[0], 4 * bytes); });
  EXPECT_NE(moved, live_[0]);
  live_[0] = moved;
  free_last(1);
  cache().key = key;
}

TEST_F(CacheTest, WhatIsAtHandIsNotLiveInTheAccount) {
  tarn_account before{}, between{}, after{};
  fill_account(&before);
  allocate(5);
  fill_account(&between);
  free_last(5);
  fill_account(&after);
  EXPECT_EQ(freed(), 5u);
  const auto live = [](const tarn_account& account) {
    return account.classes[size_class].live_blocks;
  };
  EXPECT_EQ(live(between), live(before) + 5);
  EXPECT_EQ(live(after), live(before));
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  allocate(3);
  fill_account(&after);
  EXPECT_EQ(live(after), live(before) + 3);
}

TEST_F(CacheTest, BlocksOfNoBytesAreCountedWithTheSmallest) {
  const auto live = [] {
    tarn_account account{};
    fill_account(&account);
    return account.classes[class_of(1)].live_blocks;
  };
  const std::uint64_t before = live();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5; ++i) allocate(1, 0);
    EXPECT_EQ(live(), before + 5);
    free_last(5);
    EXPECT_NE(freed(0), 0u);
    EXPECT_EQ(live(), before);
  }
}

TEST_F(CacheTest, EachAllocationIsCountedOnce) {
  const auto allocations = [this] {
    tarn_account account{};
    actor_.run([&] { fill_account(&account); });
    return account.classes[size_class].allocations;
  };
  const std::uint64_t before = allocations();
  allocate(carved + 5);
  free_last(20);
  allocate(10);
  EXPECT_EQ(allocations(), before + carved + 15);
  actor_.free(actor_.allocate(bytes));
  EXPECT_EQ(allocations(), before + carved + 16);
  actor_.trim();
  EXPECT_EQ(allocations(), before + carved + 16);
}

// A vanished thread may have been anywhere in malloc or free, and its pages may be others' by now.
TEST_F(CacheTest, WhatAForkLeftIsCountedAnew) {
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

TEST_F(CacheTest, WhatAForkLeftOfPagesThatOthersHaveAdoptedIsFreedAsTheirs) {
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

TEST_F(CacheTest, CheckFindsWhatIsNoBlockOfTheClass) {
  allocate(3);
  allocate(1, 4 * bytes);
  free_last(1);  // Another class.
  free_last(2);
  EXPECT_TRUE(cache_check(actor_.record()));
  CachedList& list = cache().lists[size_class];
  Block* const block = list.first;
  list.first = reinterpret_cast<Block*>(reinterpret_cast<std::byte*>(block) + 16);
  EXPECT_FALSE(cache_check(actor_.record()));
  list.first = cache().lists[class_of(4 * bytes)].first;
  EXPECT_FALSE(cache_check(actor_.record()));
  list.first = block;
  list.room = std::int64_t{list.room} + 1;
  EXPECT_FALSE(cache_check(actor_.record())) << "one too many";
  list.room = std::int64_t{list.room} - 1;
  EXPECT_TRUE(cache_check(actor_.record()));
}

}  // namespace
}  // namespace tarn
