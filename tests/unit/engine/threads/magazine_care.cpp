// Freed blocks at hand: what a magazine takes and gives, when it rests and grows, and that what it
// has comes back to its pages (engine/threads/magazine_care.cpp).
//
// SPDX-License-Identifier: MIT
#include "engine/threads/magazine_care.hpp"

#include <set>

#include "actor.hpp"
#include "engine/threads/gathering.hpp"
#include "engine/threads/orphan_care.hpp"
#include "malloc/blocks/resize.hpp"
#include "malloc/process/account.hpp"
#include "platform/os/fake/fake.hpp"

namespace tarn {
namespace {

class MagazineTest : public testing::Test {
 protected:
  static constexpr std::size_t bytes = 96;
  static constexpr std::size_t size_class = class_of(bytes);
  static constexpr std::size_t large_bytes = 48 * 1024;  // Of which 128 KiB hold two.

  MagazineTest() { forget(size_class), forget(class_of(large_bytes)); }
  ~MagazineTest() override {
    os::fake::fail_at(0, false);
    for (void* block : live_) free(block);
    actor_.end();
    expect_nothing_in_use();
  }

  // The record may have served another test.
  void forget(std::size_t c) {
    const MagazineCare* const care = magazines().find_care(c);
    if (care == nullptr) return;
    EXPECT_EQ(magazines().count(c), 0u);
    magazines().groups[c / magazine_group].store(nullptr);
    const std::size_t first = c / magazine_group * magazine_group;
    for (std::size_t i = first; i < first + magazine_group && i < class_count; ++i) {
      magazines().top[i] = no_top();
      magazines().end[i] = no_top();
    }
  }

  Magazines& magazines() { return actor_.record().magazines; }
  std::size_t count(std::size_t c = size_class) { return magazines().count(c); }
  std::size_t places(std::size_t c = size_class) { return magazines().find_care(c)->places; }
  bool rests(std::size_t c = size_class) { return magazines().rests(c); }
  // As a program does: the block may stay at hand.
  void free(void* block) {
    actor_.run([&] { deallocate(block); });
  }
  void free_last(std::size_t blocks) {
    for (; blocks != 0; --blocks) {
      free(live_.back());
      live_.pop_back();
    }
  }
  void allocate(std::size_t blocks, std::size_t each = bytes) {
    for (; blocks != 0; --blocks) live_.push_back(actor_.allocate(each));
  }
  void wake(std::size_t c = size_class) {
    actor_.run([&] {
      Busy busy(*current_thread);
      magazine_wake(*current_thread, c);
    });
  }
  void age() {
    actor_.run([&] {
      Busy busy(*current_thread);
      age_magazines(*current_thread);
    });
  }
  void empty() {
    actor_.run([&] {
      Busy busy(*current_thread);
      empty_magazines(*current_thread);
    });
  }
  // Fills the magazine once more, after something was taken from it.
  void fill_again() {
    free_last(1);
    allocate(1);
    free_last(places() - count());
    EXPECT_EQ(count(), places());
    free_last(1);
  }

  Actor actor_;
  std::vector<void*> live_;
};

TEST_F(MagazineTest, RestsUntilFreedBlocksAreAllocatedAgain) {
  allocate(3);
  Page* const page = Actor::page_of(live_[0]);
  EXPECT_TRUE(rests());
  free_last(1);
  EXPECT_EQ(count(), 0u);
  EXPECT_EQ(page->countdown, 3u) << "two live, and the pin of the current page";
  allocate(page->capacity + 1u);
  EXPECT_FALSE(rests()) << "the page has given the freed block";
  free_last(1);
  EXPECT_EQ(count(), 1u);
}

TEST_F(MagazineTest, TheBlockFreedLastIsTakenFirst) {
  wake();
  allocate(4);
  const std::vector<void*> blocks = live_;
  Page* const page = Actor::page_of(blocks[0]);
  const std::uint32_t live = page->live();
  free_last(4);
  EXPECT_EQ(count(), 4u);
  EXPECT_EQ(page->live(), live) << "to their page they are live";
  allocate(4);
  EXPECT_EQ(live_, blocks) << "the last one freed was the first one allocated";
  EXPECT_EQ(count(), 0u);
}

TEST_F(MagazineTest, WhenItIsFullTheOldestGoToTheirPages) {
  wake();
  allocate(magazine_blocks_first + 2);
  Page* const page = Actor::page_of(live_[0]);
  free_last(1);
  allocate(1);  // Or it is a run.
  const std::vector<void*> blocks = live_;
  const std::uint32_t live = page->live();
  free_last(magazine_blocks_first);
  EXPECT_EQ(count(), magazine_blocks_first);
  free_last(1);
  constexpr std::size_t stay = magazine_blocks_first / 4;
  EXPECT_EQ(count(), stay + 1);
  EXPECT_EQ(page->live(), live - (magazine_blocks_first - stay));
  EXPECT_TRUE(page_check(page));
  allocate(stay + 1);
  const std::set<void*> given(live_.end() - (stay + 1), live_.end());
  for (std::size_t i = 0; i <= stay; ++i) EXPECT_EQ(given.count(blocks[1 + i]), 1u) << i;
}

TEST_F(MagazineTest, GrowsWhenItWasFullOften) {
  wake();
  allocate(magazine_blocks_most * 3);
  for (int i = 0; i < 3; ++i) {
    fill_again();
    EXPECT_EQ(places(), magazine_blocks_first) << i;
  }
  fill_again();
  EXPECT_EQ(places(), magazine_blocks_most);
  EXPECT_EQ(count(), magazine_blocks_first + 1) << "nothing had to go";
  EXPECT_TRUE(magazines_check(actor_.record()));
  fill_again();
  EXPECT_EQ(count(), magazine_blocks_most / 4 + 1);
}

TEST_F(MagazineTest, StaysAsItIsWhenThereIsNoMemoryForMore) {
  wake();
  allocate(magazine_blocks_most * 3);
  for (int i = 0; i < 3; ++i) fill_again();
  // Record memory is taken in pieces: use up what is left of the thread's.
  actor_.run([] {
    while (os::fake::calls() != UINT64_MAX) {
      os::fake::fail_at(1, true);
      if (store.allocate_record(64) == nullptr) break;
    }
  });
  fill_again();
  EXPECT_EQ(places(), magazine_blocks_first);
  EXPECT_EQ(count(), magazine_blocks_first / 4 + 1);
}

TEST_F(MagazineTest, RestsWithoutMemoryForItsFirstPlaces) {
  actor_.run([] {
    os::fake::fail_at(1, true);
    while (store.allocate_record(64) != nullptr) {
    }
  });
  wake();
  EXPECT_TRUE(rests());
  os::fake::fail_at(0, false);
  allocate(2);
  free_last(1);
  EXPECT_EQ(count(), 0u);
  wake();
  EXPECT_FALSE(rests());
}

TEST_F(MagazineTest, ARunOfFreesPutsItToRest) {
  wake();
  allocate(100);
  Page* const page = Actor::page_of(live_[0]);
  free_last(magazine_blocks_first);
  EXPECT_EQ(count(), magazine_blocks_first);
  free_last(1);
  EXPECT_TRUE(rests()) << "nothing was taken since it woke";
  free_last(live_.size() - 1);
  EXPECT_EQ(count(), 0u);
  EXPECT_EQ(page->live(), 1u) << "all went to their page";
}

TEST_F(MagazineTest, ClassesOfFewPlacesDoNotRest) {
  constexpr std::size_t c = class_of(large_bytes);
  wake(c);
  EXPECT_EQ(places(c), magazine_bytes_most / class_block_bytes[c]);
  allocate(40, large_bytes);
  free_last(40);
  EXPECT_FALSE(rests(c));
  EXPECT_NE(count(c), 0u);
  EXPECT_LE(count(c) * class_block_bytes[c], magazine_bytes_most);
}

TEST_F(MagazineTest, WhatIsNotUsedBetweenTwoLooksGoesToItsPageAndItRests) {
  wake();
  allocate(4);
  Page* const page = Actor::page_of(live_[0]);
  free_last(3);
  age();
  EXPECT_EQ(count(), 3u) << "used since the look before";
  allocate(1);
  free_last(1);
  age();
  EXPECT_EQ(count(), 3u) << "used, though it has what it had";
  age();
  EXPECT_EQ(count(), 0u);
  EXPECT_TRUE(rests());
  EXPECT_EQ(page->live(), 1u);
}

TEST_F(MagazineTest, AnEmptyPageIsRetired) {
  allocate(1);
  actor_.trim();
  wake();
  Page* const page = Actor::page_of(live_[0]);
  EXPECT_EQ(page_map.tag_of(live_[0]), magazines().tag(size_class));
  void* const where = live_[0];
  free_last(1);
  EXPECT_EQ(count(), 1u);
  EXPECT_EQ(page->kind_now(), SpanKind::page);
  empty();
  EXPECT_NE(page->kind_now(), SpanKind::page);
  EXPECT_EQ(page_map.tag_of(where), 0);
}

TEST_F(MagazineTest, ASleepingPageWakesByAChain) {
  allocate(1);
  while (actor_.current(bytes) == Actor::page_of(live_[0])) allocate(1);
  Page* const page = Actor::page_of(live_[0]);
  ASSERT_GT(page->kept, 0) << "it is full and asleep";
  wake();
  const std::size_t threshold = page_threshold(page);
  std::size_t freed = 0;
  for (; freed < threshold; ++freed) {
    if (freed % 8 == 7) empty();
    free(live_[freed]);
  }
  empty();
  EXPECT_TRUE(page->queued);
  EXPECT_TRUE(thread_heap_check(actor_.record().heap));
  live_.erase(live_.begin(), live_.begin() + static_cast<std::ptrdiff_t>(freed));
}

TEST_F(MagazineTest, BlocksOfOthersGoToTheirOwners) {
  wake();
  allocate(2);
  Page* const page = Actor::page_of(live_[0]);
  Actor other;
  EXPECT_NE(other.record().magazines.key, magazines().key);
  other.run([&] {
    {
      Busy busy(*current_thread);
      magazine_wake(*current_thread, size_class);
    }
    deallocate(live_.back());
    give_gathered(*current_thread);
  });
  live_.pop_back();
  EXPECT_EQ(other.record().magazines.count(size_class), 0u);
  EXPECT_EQ(pending_of(page), 1u);
}

// A vanished thread's record is taken over with what is at hand; pages may have gone before.
TEST_F(MagazineTest, ABlockWhosePageWasAdoptedIsFreedAsAnothersBlock) {
  wake();
  allocate(2);
  Page* const page = Actor::page_of(live_[0]);
  free_last(1);
  Actor other;
  page->owner.store(&other.record());
  empty();
  EXPECT_EQ(count(), 0u);
  EXPECT_EQ(pending_of(page), 1u);
  page->owner.store(&actor_.record());
}

// A new thread may take the record over, and its key, while others have the page.
TEST_F(MagazineTest, AnAdoptedPageHasNoTagsOfTheThreadThatEnded) {
  Actor adopter;
  allocate(2);
  actor_.free(live_.back());
  void* const live = live_.front();
  live_.clear();
  Page* const page = Actor::page_of(live);
  const Magazines& ended = magazines();
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

TEST_F(MagazineTest, AnEndingThreadLeavesNone) {
  wake();
  allocate(3);
  Page* const page = Actor::page_of(live_[0]);
  free_last(2);
  Thread* const record = &actor_.record();
  actor_.end();
  EXPECT_EQ(record->magazines.count(size_class), 0u);
  EXPECT_EQ(page->live(), 1u);
  Actor next;
  EXPECT_EQ(&next.record(), record);
  next.free(live_.back());
  live_.pop_back();
}

TEST_F(MagazineTest, ATrimLeavesNone) {
  wake();
  allocate(2);
  free_last(2);
  actor_.trim();
  EXPECT_EQ(count(), 0u);
  EXPECT_EQ(store.totals().committed_bytes, 0u);
}

TEST_F(MagazineTest, ThreadsWithoutAKeyHaveNone) {
  const std::uint32_t key = std::exchange(magazines().key, no_magazine_key);
  actor_.trim();
  allocate(2);
  EXPECT_EQ(page_map.tag_of(live_[0]), 0);
  wake();
  EXPECT_TRUE(rests());
  free_last(1);
  EXPECT_EQ(Actor::page_of(live_[0])->live(), 1u);
  void* moved = nullptr;
  actor_.run([&] { moved = reallocate(live_[0], 4 * bytes); });
  EXPECT_NE(moved, live_[0]);
  live_[0] = moved;
  free_last(1);
  magazines().key = key;
}

TEST_F(MagazineTest, WhatIsAtHandIsNotLiveInTheAccount) {
  wake();
  tarn_account before{}, between{}, after{};
  fill_account(&before);
  allocate(5);
  fill_account(&between);
  free_last(5);
  fill_account(&after);
  EXPECT_EQ(count(), 5u);
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

TEST_F(MagazineTest, BlocksOfNoBytesAreCountedWithTheSmallest) {
  wake(0);
  const auto live = [] {
    tarn_account account{};
    fill_account(&account);
    return account.classes[class_of(1)].live_blocks;
  };
  const std::uint64_t before = live();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5; ++i) live_.push_back(actor_.allocate(0));
    EXPECT_EQ(live(), before + 5);
    free_last(5);
    EXPECT_NE(count(0), 0u);
    EXPECT_EQ(live(), before);
  }
}

TEST_F(MagazineTest, CheckFindsWhatIsNoBlockOfTheClass) {
  wake();
  allocate(3);
  live_.push_back(actor_.allocate(4 * bytes));
  free_last(1);  // Another class.
  free_last(2);
  EXPECT_TRUE(magazines_check(actor_.record()));
  const SlotPointer newest = SlotPointer{magazines().top[size_class]} - 1;
  Block* const block = *newest;
  *newest = reinterpret_cast<Block*>(reinterpret_cast<std::byte*>(block) + 16);
  EXPECT_FALSE(magazines_check(actor_.record()));
  *newest = static_cast<Block*>(actor_.allocate(4 * bytes));
  EXPECT_FALSE(magazines_check(actor_.record()));
  actor_.free(std::exchange(*newest, block));
  EXPECT_TRUE(magazines_check(actor_.record()));
}

}  // namespace
}  // namespace tarn
