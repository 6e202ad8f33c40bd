// Frees of other threads' blocks: how they are gathered, and when they reach their pages
// (engine/threads/gathering.cpp).
//
// SPDX-License-Identifier: MIT
#include "engine/threads/gathering.hpp"

#include "engine/threads/flush.hpp"

#include "actor.hpp"
#include "engine/upkeep/upkeep.hpp"
#include "malloc/process/account.hpp"
#include "platform/os/fake/fake.hpp"

namespace tarn {
namespace {

class GatheringTest : public testing::Test {
 protected:
  static constexpr std::size_t bytes = 64;
  static constexpr std::size_t size_class = class_of(bytes);
  static constexpr std::uint32_t chain_most = 16;

  ~GatheringTest() override {
    for (void* block : blocks_) owner_.free(block);
    owner_.free_extra();
    owner_.end();
    other_.end();
    expect_nothing_in_use();
  }
  // As a program's other thread does: the block may be gathered.
  void free_by_other(void* block) {
    other_.run([&] { deallocate(block); });
  }
  void free_by_other(std::size_t count) {
    for (; count != 0; --count) {
      free_by_other(blocks_.back());
      blocks_.pop_back();
    }
  }
  void give() {
    other_.run([] { give_gathered(*current_thread); });
  }
  std::uint32_t gathered() {
    std::uint32_t sum = 0;
    other_.record().gathered.for_each([&](const GatheredChain& chain) { sum += chain.count; });
    return sum;
  }
  // Blocks of one page, of which there are enough for a whole chain.
  Page* allocate(std::size_t count, std::size_t each = bytes) {
    // First pages are small.
    while (blocks_.empty() || Actor::page_of(blocks_.back())->bytes() < 4 * slice_bytes) {
      blocks_.push_back(owner_.allocate(each));
    }
    Page* const page = Actor::page_of(blocks_.back());
    while (--count != 0) blocks_.push_back(owner_.allocate(each));
    EXPECT_EQ(Actor::page_of(blocks_.back()), page);
    return page;
  }

  Actor owner_;
  Actor other_;
  std::vector<void*> blocks_;
};

TEST_F(GatheringTest, AChainReachesItsPageAsOne) {
  const Page* const page = allocate(40);
  free_by_other(chain_most - 1);
  EXPECT_EQ(pending_of(page), 0u);
  EXPECT_EQ(gathered(), chain_most - 1);
  free_by_other(1);
  EXPECT_EQ(pending_of(page), chain_most);
  EXPECT_EQ(gathered(), 0u);
  EXPECT_EQ(other_.record().gathered.used, decltype(Gathered::used){});
  EXPECT_EQ(other_.record().gathered.bytes_most, 0u);
}

TEST_F(GatheringTest, TheOwnerFindsAllOfThem) {
  Page* const page = allocate(40);
  const std::uint32_t live = page->live();
  free_by_other(chain_most + 5);
  give();
  EXPECT_EQ(pending_of(page), chain_most + 5);
  owner_.run([&] {
    Busy busy(*current_thread);
    flush_all(*current_thread);
  });
  EXPECT_EQ(page->live(), live - (chain_most + 5));
  EXPECT_TRUE(page_check(page));
}

TEST_F(GatheringTest, OneThatWaitsForItsLastBlocksIsPostedByTheChain) {
  blocks_ = owner_.fill_page(bytes);
  owner_.run([&] {
    Busy busy(*current_thread);
    flush_all(*current_thread);
  });
  Page* const page = Actor::page_of(blocks_[0]);
  free_by_other(blocks_.size());
  give();
  EXPECT_EQ(state_of(page), RemoteState::mailed);
  EXPECT_EQ(owner_.record().mail.first(), page);
}

TEST_F(GatheringTest, AnotherPageInItsPlacePushesAChain) {
  const Page* const page = allocate(40);
  free_by_other(3);
  const std::size_t place = Gathered::place_of(page);
  std::vector<void*> more;  // Until a page comes that has the same place.
  const Page* other_page = nullptr;
  do {
    more.push_back(owner_.allocate(bytes));
    other_page = Actor::page_of(more.back());
  } while (other_page == page || Gathered::place_of(other_page) != place);
  free_by_other(more.back());
  more.pop_back();
  EXPECT_EQ(pending_of(page), 3u);
  EXPECT_EQ(gathered(), 1u);
  for (void* block : more) owner_.free(block);
}

TEST_F(GatheringTest, PagesOfFewBlocksAreNotWaitedFor) {
  for (const std::size_t each : {std::size_t{4096}, std::size_t{20000}}) {
    void* const block = owner_.allocate(each);
    const Page* const page = Actor::page_of(block);
    free_by_other(block);
    EXPECT_EQ(pending_of(page), 1u) << each;
  }
}

TEST_F(GatheringTest, WhatIsNotGatheredLeavesChainsAlone) {
  allocate(40);
  free_by_other(3);
  std::vector<void*> large;
  for (std::size_t i = 0; i < 2 * Gathered::places; ++i) large.push_back(owner_.allocate(20000));
  for (void* block : large) free_by_other(block);
  EXPECT_EQ(gathered(), 3u);
}

TEST_F(GatheringTest, ChainsOfLargeBlocksAreShort) {
  const Page* const page = allocate(10, 1024);
  free_by_other(3);
  EXPECT_EQ(gathered(), 3u);
  free_by_other(1);
  EXPECT_EQ(pending_of(page), 4u) << "a quarter of the page's blocks";
}

TEST_F(GatheringTest, UpkeepAndTheEndOfTheThreadGiveWhatWasGathered) {
  const Page* const page = allocate(40);
  free_by_other(2);
  other_.run([] { upkeep(); });
  EXPECT_EQ(pending_of(page), 2u);
  free_by_other(2);
  other_.run([] { thread_idle(); });
  EXPECT_EQ(pending_of(page), 4u);
  free_by_other(2);
  other_.end();
  EXPECT_EQ(pending_of(page), 6u);
}

// Chains of pages that do not come again go with others.
TEST_F(GatheringTest, EachChainGoesInTheEndThoughItsPageDoesNotComeAgain) {
  const Page* const page = allocate(40);
  free_by_other(2);
  const std::size_t turns = 4 * Gathered::places * chain_most;
  std::vector<void*> others;
  for (std::size_t i = 0; i < turns && pending_of(page) == 0; ++i) {
    do {
      others.push_back(owner_.allocate(2 * bytes));
    } while (Actor::page_of(others.back())->capacity < 64);
    free_by_other(others.back());
    others.pop_back();
  }
  EXPECT_EQ(pending_of(page), 2u);
  for (void* block : others) owner_.free(block);
}

TEST_F(GatheringTest, AllChainsTogetherAreBounded) {
  constexpr std::size_t most = 256 * 1024;
  std::vector<void*> all;
  for (std::size_t i = 0; i < 2 * most / bytes; ++i) all.push_back(owner_.allocate(bytes));
  for (std::size_t part = 0; part < 100; ++part) {  // A block of one page after the other.
    for (std::size_t i = part; i < all.size(); i += 100) free_by_other(all[i]);
    EXPECT_LE(other_.record().gathered.bytes_most, most);
  }
  EXPECT_NE(gathered(), 0u);
}

// Its blocks go one by one then.
TEST_F(GatheringTest, WithoutMemoryForChainsNothingIsGathered) {
  const Page* const page = allocate(40);
  other_.record().gathered.chains = nullptr;  // The record may have served another test.
  other_.run([] {
    os::fake::fail_at(1, true);
    while (store.allocate_record(64) != nullptr) {
    }
  });
  free_by_other(2);
  EXPECT_EQ(pending_of(page), 2u);
  const std::uint64_t calls = os::fake::calls();
  free_by_other(2);
  EXPECT_EQ(os::fake::calls(), calls) << "asked again before the next upkeep";
  os::fake::fail_at(0, false);
  EXPECT_EQ(pending_of(page), 4u);
  give();
  free_by_other(2);
  EXPECT_EQ(gathered(), 2u);
}

TEST_F(GatheringTest, AThreadWithoutARecordGathersNothing) {
  const Page* const page = allocate(40);
  Thread* const before = current_thread;
  set_current_thread(no_thread());
  deallocate(blocks_.back());
  set_current_thread(before);
  blocks_.pop_back();
  EXPECT_EQ(pending_of(page), 1u);
}

TEST_F(GatheringTest, WhatIsGatheredIsNotLiveInTheAccount) {
  allocate(40);
  tarn_account before{}, after{};
  fill_account(&before);
  free_by_other(5);
  fill_account(&after);
  EXPECT_EQ(gathered(), 5u);
  EXPECT_EQ(after.classes[size_class].live_blocks, before.classes[size_class].live_blocks - 5);
  EXPECT_EQ(after.live_bytes, before.live_bytes - 5 * bytes);
}

// The thread vanished in a fork before it had counted the block.
TEST_F(GatheringTest, AChainIsCountedAnew) {
  const Page* const page = allocate(40);
  free_by_other(5);
  Gathered& all = other_.record().gathered;
  GatheredChain& chain = (*all.chains.load())[Gathered::place_of(page)];
  ASSERT_EQ(chain.page, page);
  chain.count = 4;
  all.used = {};
  all.bytes_most = 0;
  all.recount();
  EXPECT_EQ(std::uint32_t{chain.count}, 5u);
  EXPECT_EQ(all.bytes_most, chain_most * bytes);
  give();
  EXPECT_EQ(pending_of(page), 5u);
}

TEST_F(GatheringTest, APageWithoutALiveBlockTakesNone) {
  Page* const page = allocate(40);
  void* const block = blocks_.back();
  const std::uint64_t word = page->remote.exchange(Remote::empty(RemoteState::dead).word);
  other_.run(
      [&] { EXPECT_FALSE(gather(*current_thread, page, static_cast<Block*>(block), size_class)); });
  page->remote.store(word);
  EXPECT_EQ(gathered(), 0u);
}

using GatheringDeathTest = GatheringTest;
TEST_F(GatheringDeathTest, AnAddressInsideABlockIsReported) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  allocate(40);
  auto* const inside = static_cast<std::byte*>(blocks_.back()) + 16;
  EXPECT_DEATH(free_by_other(inside), "not the start of a block");
}

}  // namespace
}  // namespace tarn
