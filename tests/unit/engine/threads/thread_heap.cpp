// The life of pages under one thread: current, asleep, queued, retired
// (engine/threads/thread_heap.cpp).
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>

#include "actor.hpp"
#include "engine/layout/page_plan.hpp"
#include "engine/threads/cache_care.hpp"
#include "engine/threads/thread_heap.hpp"
#include "engine/upkeep/upkeep.hpp"
#include "platform/os/fake/fake.hpp"

namespace tarn {
namespace {

class RefillTest : public testing::Test {
 protected:
  ~RefillTest() override {
    for (void* block : kept_) actor_.free(block);
    actor_.free_extra();
    actor_.end();
    expect_nothing_in_use();
  }
  void empty_cache_of_actor() {
    actor_.run([] {
      Busy busy(*current_thread);
      cache_empty(*current_thread);
    });
  }
  bool is_queued(const Page* page) {
    for (const Span* s = actor_.record().heap.bin(page->size_class).queue.head(); s; s = s->next) {
      if (s == page) return true;
    }
    return false;
  }

  Actor actor_;
  std::vector<void*> kept_;
};

TEST_F(RefillTest, FirstBlocksComeInTheOrderOfTheirAddresses) {
  std::uintptr_t before = 0;
  for (void* block : kept_ = actor_.fill_page(200)) {
    EXPECT_GT(address_of(block), before);
    before = address_of(block);
  }
}

TEST_F(RefillTest, EachClassHasPagesOfItsOwn) {
  std::set<Page*> pages;
  for (const std::uint32_t bytes : class_block_bytes) {
    kept_.push_back(actor_.allocate(bytes));
    Page* const page = Actor::page_of(kept_.back());
    EXPECT_EQ(page->block_bytes, bytes);
    EXPECT_EQ(page, actor_.current(bytes));
    pages.insert(page);
  }
  EXPECT_EQ(pages.size(), class_count - 1) << "all but the class of empty requests";
  kept_.push_back(actor_.allocate(0));
  EXPECT_EQ(Actor::page_of(kept_.back())->size_class, 0);
}

TEST_F(RefillTest, AFullPageSleepsAndWakesAtItsThreshold) {
  kept_ = actor_.fill_page(100);
  Page* const page = Actor::page_of(kept_[0]);
  ASSERT_NE(actor_.current(100), page);
  EXPECT_FALSE(page->queued);
  EXPECT_EQ(page->live(), page->capacity);
  EXPECT_EQ(page->countdown, page_threshold(page));
  EXPECT_EQ(state_of(page), RemoteState::listed);
  for (std::uint32_t n = 1; n <= page_threshold(page); ++n) {
    EXPECT_FALSE(is_queued(page));
    actor_.free(kept_.back());
    kept_.pop_back();
  }
  EXPECT_TRUE(is_queued(page));
  EXPECT_EQ(page->live(), page->capacity - page_threshold(page));
  EXPECT_EQ(page->countdown, page->live()) << "the next call of attention retires it";
}

TEST_F(RefillTest, AWokenPageIsUsedBeforeAFreshOne) {
  kept_ = actor_.fill_page(100);
  Page* const page = Actor::page_of(kept_[0]);
  for (std::uint32_t n = 0; n < page_threshold(page); ++n) {
    actor_.free(kept_.back());
    kept_.pop_back();
  }
  const std::uint32_t pages = actor_.pages(100);
  while (actor_.current(100) != page) kept_.push_back(actor_.allocate(100));
  EXPECT_EQ(actor_.pages(100), pages);
  EXPECT_FALSE(page->queued);
}

TEST_F(RefillTest, AnEmptyPageRetiresUnlessItIsCurrent) {
  std::vector<void*> blocks = actor_.fill_page(300);
  Page* const page = Actor::page_of(blocks[0]);
  const std::uint32_t pages = actor_.pages(300);
  for (void* block : blocks) {
    EXPECT_EQ(page->kind_now(), SpanKind::page);
    actor_.free(block);
  }
  EXPECT_NE(page->kind_now(), SpanKind::page);
  EXPECT_EQ(actor_.pages(300), pages - 1);
  Page* const current = actor_.current(300);
  actor_.free_extra();
  EXPECT_EQ(current->live(), 0u);
  EXPECT_EQ(actor_.current(300), current) << "kept for the next request";
}

TEST_F(RefillTest, UpkeepRetiresIdlePagesOfLargerBlocks) {
  void* const kept = actor_.allocate(40000);
  for (const std::size_t bytes : {300u, 3000u, 20000u}) actor_.free(actor_.allocate(bytes));
  Page* const small = actor_.current(300);
  Page* const in_use = Actor::page_of(kept);
  actor_.run([] { upkeep(); });
  EXPECT_EQ(actor_.current(300), small);
  EXPECT_EQ(actor_.current(40000), in_use);
  for (const std::size_t bytes : {3000u, 20000u}) {
    EXPECT_EQ(actor_.current(bytes), no_page()) << bytes;
    EXPECT_EQ(actor_.pages(bytes), 0u) << bytes;
  }
  actor_.free(kept);
}

TEST_F(RefillTest, UpkeepRetiresIdleLongPages) {
  constexpr std::size_t bytes = 1008;
  std::vector<void*> blocks;
  while (actor_.current(bytes)->slices < 16) blocks.push_back(actor_.allocate(bytes));
  for (void* block : blocks) actor_.free(block);
  empty_cache_of_actor();
  EXPECT_EQ(actor_.pages(bytes), 1u) << "the current one stays";
  actor_.run([] { upkeep(); });
  EXPECT_EQ(actor_.pages(bytes), 0u);
}

// Whatever waits in the list that malloc pops.
TEST_F(RefillTest, UpkeepRetiresAPageOnlyWhenNothingOfItIsInUse) {
  constexpr std::size_t bytes = 8192;
  for (std::size_t freed = 1; freed <= 4; ++freed) {
    for (std::size_t live = 0; live <= freed; ++live) {
      std::vector<void*> blocks;
      for (std::size_t i = 0; i < freed; ++i) blocks.push_back(actor_.allocate(bytes));
      for (void* block : blocks) actor_.free(block);
      blocks.clear();
      for (std::size_t i = 0; i < live; ++i) blocks.push_back(actor_.allocate(bytes));
      empty_cache_of_actor();
      const Page* const page = live == 0 ? no_page() : Actor::page_of(blocks.back());
      actor_.run([] { upkeep(); });
      EXPECT_EQ(actor_.current(bytes), page) << freed << " were freed, " << live << " are live";
      for (void* block : blocks) actor_.free(block);
      empty_cache_of_actor();
      actor_.run([] { upkeep(); });
      EXPECT_EQ(actor_.pages(bytes), 0u);
    }
  }
}

TEST_F(RefillTest, UpkeepRetiresAPageWhoseBlocksOthersHaveFreed) {
  Actor other;
  void* const block = actor_.allocate(5000);
  other.free(block);
  actor_.run([] { upkeep(); });
  EXPECT_EQ(actor_.pages(5000), 0u);
  other.end();
}

TEST_F(RefillTest, PagesGrowWithTheirClass) {
  std::size_t has = 0;
  for (int page = 0; page < 4 || has <= 32 * page_slices_longest; ++page) {
    const std::vector<void*> blocks = actor_.fill_page(48);
    const std::size_t slices = Actor::page_of(blocks[0])->slices;
    EXPECT_EQ(slices, main_page_slices(class_of(48), has)) << page;
    has += slices;
    kept_.insert(kept_.end(), blocks.begin(), blocks.end());
    actor_.free_extra();  // The further page is current, and empty again.
  }
}

TEST_F(RefillTest, AFreedBlockServesTheClassAgain) {
  std::set<void*> blocks;
  for (int i = 0; i < 1000; ++i) {
    void* const block = actor_.allocate(64);
    blocks.insert(block);
    actor_.free(block);
  }
  EXPECT_LE(blocks.size(), slice_bytes / 64) << "one carve is enough for any number of turns";
}

TEST_F(RefillTest, TrimPutsEverythingEmptyDown) {
  void* const block = actor_.allocate(5000);
  actor_.free(actor_.allocate(700));
  actor_.trim();
  EXPECT_EQ(actor_.current(700), no_page());
  EXPECT_EQ(actor_.pages(700), 0u);
  EXPECT_EQ(actor_.pages(5000), 1u);
  EXPECT_TRUE(thread_heap_check(actor_.record().heap));
  actor_.free(block);
  EXPECT_EQ(actor_.pages(5000), 0u) << "put to sleep, so it retires with its last block";
}

// A thread that a fork has stopped in the middle of a hit path leaves a page with a count one off.
class HalfDoneTest : public RefillTest {
 protected:
  ~HalfDoneTest() override { os::fake::fail_at(0, false); }

  // All blocks that the page has to give and no others, and then null; the OS gives nothing more.
  std::set<void*> drain(Page* page, std::size_t bytes) {
    std::set<void*> blocks;
    os::fake::fail_at(1, true);
    for (void* p = actor_.allocate(bytes); p != nullptr; p = actor_.allocate(bytes)) {
      if (Actor::page_of(p) != page) {
        kept_.push_back(p);
        continue;
      }
      EXPECT_TRUE(page->is_block(p));
      EXPECT_TRUE(blocks.insert(p).second) << "handed out twice";
    }
    os::fake::fail_at(0, false);
    kept_.insert(kept_.end(), blocks.begin(), blocks.end());
    return blocks;
  }
};

TEST_F(HalfDoneTest, ABlockThatIsOnAListAndCountedIsHandedOutOnce) {
  void* const first = actor_.allocate(500);
  Page* const page = Actor::page_of(first);
  void* const freed = actor_.allocate(500);
  auto* const block = static_cast<Block*>(freed);
  block->next = page->local_free;  // And the countdown stays.
  page->local_free = block;
  kept_.push_back(first);
  EXPECT_EQ(drain(page, 500).size(), page->capacity - 1);
  EXPECT_EQ(page->live(), page->capacity) << "and the count is right again";
}

TEST_F(HalfDoneTest, ABlockThatIsOnNoListAndNotCountedIsMissing) {
  void* const first = actor_.allocate(500);
  Page* const page = Actor::page_of(first);
  ASSERT_NE(page->free, nullptr);
  page->free = page->free->next;  // And the countdown stays.
  kept_.push_back(first);
  std::set<void*> blocks = drain(page, 500);
  EXPECT_EQ(blocks.size(), page->capacity - 2);
  // What is freed is found again, although the page does not wake for so few.
  for (int i = 0; i < 2; ++i) {
    kept_.erase(std::find(kept_.begin(), kept_.end(), *blocks.begin()));
    actor_.free(*blocks.begin());
    os::fake::fail_at(1, true);
    void* const again = actor_.allocate(500);
    EXPECT_EQ(again, *blocks.begin());
    kept_.push_back(again);
    EXPECT_EQ(actor_.allocate(500), nullptr);
    os::fake::fail_at(0, false);
  }
}

}  // namespace
}  // namespace tarn
