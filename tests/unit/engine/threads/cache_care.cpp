// Blocks at hand: what a thread's cache takes and gives, how many, and that what it has comes back
// to its pages (engine/threads/cache_care.cpp).
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "cache_test.hpp"
#include "engine/threads/flush.hpp"
#include "engine/upkeep/upkeep.hpp"
#include "malloc/blocks/resize.hpp"
#include "malloc/process/account.hpp"

namespace tarn {
namespace {

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

// Blocks of a class that is a little larger (cache_take_larger).
class LargerTest : public CacheTest {
 protected:
  static constexpr std::size_t own_bytes = 512;
  static constexpr std::size_t own = class_of(own_bytes);
  static constexpr std::size_t larger_bytes = own_bytes + own_bytes / 8;
  static constexpr std::size_t larger = class_of(larger_bytes);
  static constexpr std::size_t largest_taken = 64;

  // The class has nothing left, the larger one so many freed blocks.
  void prepare(std::size_t freed_blocks, std::size_t size = own_bytes) {
    const std::size_t more = size + size / 8;
    allocate(slice_bytes / size, size);
    ASSERT_EQ(count(class_of(size)), 0u);
    allocate(slice_bytes / more, more);
    ASSERT_EQ(count(class_of(more)), 0u);
    free_last(freed_blocks);
  }
  std::size_t class_of_next(std::size_t size = own_bytes) {
    allocate(1, size);
    return Actor::page_of(live_.back())->size_class;
  }
};

TEST_F(LargerTest, FreedBlocksOfALargerClassComeBeforeMemory) {
  prepare(4);
  const std::uint32_t pages = actor_.pages(own_bytes);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(class_of_next(), larger);
  EXPECT_EQ(actor_.pages(own_bytes), pages);
  EXPECT_EQ(freed(larger), 1u) << "one is what that class would want next";
  EXPECT_EQ(class_of_next(), own);
  EXPECT_TRUE(cache_check(actor_.record()));
}

TEST_F(LargerTest, TheyGoBackToTheirOwnClass) {
  prepare(4);
  allocate(1, own_bytes);
  void* const block = live_.back();
  EXPECT_EQ(freed(larger), 3u);
  free_last(1);
  EXPECT_EQ(freed(larger), 4u);
  EXPECT_EQ(count(own), 0u);
  allocate(1, larger_bytes);
  EXPECT_EQ(live_.back(), block);
}

TEST_F(LargerTest, MemoryIsTakenNowAndThen) {
  prepare(4);
  std::size_t taken = 0;
  while (class_of_next() == larger) {
    free_last(1);
    ++taken;
  }
  EXPECT_EQ(taken, largest_taken);
}

TEST_F(LargerTest, NotByAClassThatSeldomTakesThem) {
  prepare(4);
  void* const block = live_.front();  // Of the class.
  ASSERT_EQ(Actor::page_of(block)->size_class, own);
  live_.erase(live_.begin());
  const std::uint32_t pages = actor_.pages(own_bytes);
  for (std::size_t round = 0; round < 4 * largest_taken; ++round) {
    free(block);
    for (int i = 0; i < 17; ++i) {
      allocate(1, own_bytes);
      ASSERT_EQ(live_.back(), block);
      if (i != 16) free_last(1);
    }
    live_.pop_back();
    ASSERT_EQ(class_of_next(), larger);
    free_last(1);
  }
  EXPECT_EQ(actor_.pages(own_bytes), pages);
  live_.push_back(block);
}

TEST_F(LargerTest, WhatIsFreeOnThePagesOfTheClassComesFirst) {
  allocate(1, own_bytes);
  void* const block = live_.back();
  live_.pop_back();
  allocate(slice_bytes / own_bytes - 1, own_bytes);
  actor_.free(block);
  allocate(slice_bytes / larger_bytes, larger_bytes);
  free_last(4);
  EXPECT_EQ(count(own), 0u);
  EXPECT_EQ(class_of_next(), own);
  EXPECT_EQ(class_of_next(), larger);
}

TEST_F(LargerTest, WhatOthersHaveLeftOnThePageAtHandComesFirst) {
  void* const past = actor_.allocate(own_bytes);  // Past the cache: the page keeps the others.
  allocate(slice_bytes / larger_bytes, larger_bytes);
  free_last(4);
  EXPECT_EQ(class_of_next(), own);
  actor_.free(past);
}

TEST_F(LargerTest, WithoutMemoryAnyWillDo) {
  allocate(1, larger_bytes);
  const auto allocate_one = [this](std::size_t size) {
    void* block = nullptr;
    actor_.run([&] { block = tarn::allocate(size); });
    if (block != nullptr) live_.push_back(block);
    return block != nullptr;
  };
  os::fake::fail_at(1, true);
  for (const std::size_t size : {std::size_t{1} << 20, std::size_t{4096}, own_bytes}) {
    while (allocate_one(size)) continue;
  }
  const auto last = std::find_if(live_.rbegin(), live_.rend(), [](const void* block) {
    return Actor::page_of(block)->size_class == larger;
  });
  std::iter_swap(last, live_.rbegin());
  for (std::size_t round = 0; round < 2 * largest_taken; ++round) {
    free_last(1);
    ASSERT_TRUE(allocate_one(own_bytes)) << round;
    EXPECT_FALSE(allocate_one(own_bytes)) << "there was one";
  }
}

TEST_F(LargerTest, FourAreWorthARefillToUpkeep) {
  prepare(4);
  const std::uint32_t before = actor_.record().work;
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(class_of_next(), larger);
    free_last(1);
  }
  EXPECT_EQ(actor_.record().work - before, 2 * work_of_refill);
}

TEST_F(LargerTest, BlocksThatWereNotReachedStay) {
  prepare(0);
  allocate(1, larger_bytes);
  EXPECT_NE(unreached(larger), 0u);
  EXPECT_EQ(class_of_next(), own);
}

TEST_F(LargerTest, ZeroedBlocksAreZeroToTheirEnd) {
  prepare(2);
  allocate(1, larger_bytes);
  memset(live_.back(), 0xff, larger_bytes);
  free_last(1);
  unsigned char* block = nullptr;
  actor_.run([&] { block = static_cast<unsigned char*>(allocate_zeroed(own_bytes)); });
  live_.push_back(block);
  ASSERT_EQ(Actor::page_of(block)->size_class, larger);
  EXPECT_EQ(std::count(block, block + larger_bytes, 0), std::ptrdiff_t{larger_bytes});
}

TEST_F(LargerTest, AlignedBlocksAreOfTheirClass) {
  prepare(4);
  void* block = nullptr;
  actor_.run([&] { block = allocate_aligned(own_bytes, own_bytes); });
  live_.push_back(block);
  EXPECT_EQ(address_of(block) % own_bytes, 0u);
  EXPECT_EQ(Actor::page_of(block)->size_class, own);
}

TEST_F(LargerTest, ClassesAboveAKibibyteTakeNone) {
  constexpr std::size_t size = 2048;
  prepare(1, size);
  allocate(4, size + size / 8);
  free_last(4);
  ASSERT_GT(count(class_of(size + size / 8)), 2u);
  EXPECT_EQ(class_of_next(size), class_of(size));
}

TEST_F(LargerTest, TheyAreLiveInTheirOwnClass) {
  prepare(4);
  const auto row = [this](std::size_t c) {
    tarn_account account{};
    actor_.run([&] { fill_account(&account); });
    return account.classes[c];
  };
  const tarn_account_class before = row(larger);
  const tarn_account_class own_before = row(own);
  allocate(2, own_bytes);
  EXPECT_EQ(row(larger).live_blocks, before.live_blocks + 2);
  EXPECT_EQ(row(larger).allocations, before.allocations + 2);
  EXPECT_EQ(row(own).live_blocks, own_before.live_blocks);
}

}  // namespace
}  // namespace tarn
