// Pages: carving, and the steps of the protocol of remote.hpp one by one. All orders of these
// steps: fuzz/pages.cpp; all interleavings of threads: tests/unit/engine/pages/model.
//
// SPDX-License-Identifier: MIT
#include "engine/pages/page.hpp"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "engine/layout/page_plan.hpp"
#include "engine/store/store.hpp"
#include "platform/os/fake/fake.hpp"

namespace tarn {
namespace {

class PageTest : public testing::Test {
 protected:
  void SetUp() override { make(class_of(1024), 2); }
  void TearDown() override {
    if (page_ != nullptr) drop();
  }

  void make(std::size_t size_class, std::size_t slices) {
    if (page_ != nullptr) drop();
    page_ = page_take(size_class, slices);
    ASSERT_NE(page_, nullptr);
  }
  Block* allocate() {
    if (page_->free == nullptr) page_carve(page_);
    Block* const block = page_->free;
    page_->free = block->next;
    ++page_->countdown;
    return block;
  }
  std::vector<Block*> allocate(std::uint32_t count) {
    std::vector<Block*> blocks;
    for (std::uint32_t i = 0; i < count; ++i) blocks.push_back(allocate());
    return blocks;
  }
  void drop() {
    page_attach(page_, page_collect(page_, RemoteState::listed));
    page_->countdown = 0;
    ASSERT_TRUE(page_kill(page_));
    page_give(page_);
    page_ = nullptr;
  }
  Remote remote() const { return Remote{page_->remote.load()}; }

  Page* page_ = nullptr;
};

TEST_F(PageTest, AFreshPageIsEmptyAndKnown) {
  EXPECT_EQ(page_->kind_now(), SpanKind::page);
  EXPECT_EQ(page_->live(), 0u);
  EXPECT_EQ(page_->carved, 0u);
  EXPECT_EQ(page_->capacity, 8u);
  EXPECT_EQ(page_->block_bytes, 1024u);
  EXPECT_EQ(remote().word, Remote::empty(RemoteState::open).word);
  for (std::size_t offset = 0; offset < page_->bytes(); offset += 512) {
    EXPECT_EQ(page_map.span_of(page_->base + offset), page_);
  }
}

TEST_F(PageTest, IsBlockAcceptsStartsOnly) {
  EXPECT_TRUE(page_->is_block(page_->base));
  EXPECT_TRUE(page_->is_block(page_->base + 1024));
  EXPECT_TRUE(page_->is_block(page_->base + 7 * 1024));
  EXPECT_FALSE(page_->is_block(page_->base + 1));
  EXPECT_FALSE(page_->is_block(page_->base + 16));
  EXPECT_FALSE(page_->is_block(page_->base + 8 * 1024));
  EXPECT_FALSE(page_->is_block(page_->base - 1024));
}

TEST_F(PageTest, EveryClassIsCarvedInOrderToItsCapacity) {
  for (std::size_t c = 0; c < class_count; ++c) {
    for (const std::size_t has : {std::size_t{0}, SIZE_MAX}) {
      make(c, page_slices(c, has));
      const std::size_t size = class_block_bytes[c];
      EXPECT_GE(page_threshold(page_), 1u);
      EXPECT_LT(page_threshold(page_), page_->capacity) << "a full page could not sleep";
      for (std::uint32_t i = 0; i < page_->capacity; ++i) {
        const auto* const block = reinterpret_cast<std::byte*>(allocate());
        ASSERT_EQ(block, page_->base + i * size);
        ASSERT_LE(block + size, page_->end());
        ASSERT_TRUE(page_->is_block(block));
        // At most so many blocks that nobody asked for.
        const std::size_t most = page_->zeroed ? slice_bytes : page_slices_full * slice_bytes;
        ASSERT_LE((page_->carved - (i + 1)) * size, most);
      }
      EXPECT_EQ(page_->carved, page_->capacity);
      EXPECT_EQ(page_->free, nullptr);
      EXPECT_LT(page_->bytes() - page_->capacity * size, size);
      EXPECT_TRUE(page_check(page_));
    }
  }
}

TEST_F(PageTest, MoreIsCarvedAtATimeWhereMemoryIsResident) {
  drop();
  store.purge(UINT64_MAX, 0, 0);
  make(class_of(64), 8);
  ASSERT_TRUE(page_->zeroed);
  page_carve(page_);
  EXPECT_EQ(page_->carved, slice_bytes / 64);
  make(class_of(64), 8);
  ASSERT_FALSE(page_->zeroed);
  page_carve(page_);
  EXPECT_EQ(page_->carved, slice_bytes / 64) << "the first time";
  page_->free = nullptr;
  page_carve(page_);
  EXPECT_EQ(page_->carved, (1 + page_slices_full) * slice_bytes / 64);
}

TEST_F(PageTest, RemoteFreesOfAnOpenPageWaitForTheOwner) {
  const std::vector<Block*> blocks = allocate(6);
  for (Block* block : blocks) EXPECT_EQ(page_free_remote(page_, block), RemoteFree::done);
  EXPECT_EQ(remote().state(), RemoteState::open);
  EXPECT_EQ(remote().count(), 6u);
  EXPECT_EQ(page_->live(), 6u) << "the owner has not seen them";
  const Collected collected = page_collect(page_, RemoteState::open);
  EXPECT_EQ(collected.count, 6u);
  std::size_t i = 6;
  for (const Block* b = collected.head; b != nullptr; b = b->next) EXPECT_EQ(b, blocks[--i]);
  EXPECT_EQ(i, 0u);
  page_attach(page_, collected);
  EXPECT_EQ(page_->live(), 0u);
  EXPECT_EQ(page_collect(page_, RemoteState::open).count, 0u);
}

TEST_F(PageTest, AttachPutsCollectedBlocksBeforeTheOwnersOwn) {
  const std::vector<Block*> blocks = allocate(3);
  blocks[0]->next = page_->local_free;
  page_->local_free = blocks[0];
  --page_->countdown;
  page_free_remote(page_, blocks[1]);
  page_free_remote(page_, blocks[2]);
  page_attach(page_, page_collect(page_, RemoteState::open));
  EXPECT_EQ(page_->local_free, blocks[2]);
  EXPECT_EQ(blocks[2]->next, blocks[1]);
  EXPECT_EQ(blocks[1]->next, blocks[0]);
  EXPECT_EQ(blocks[0]->next, nullptr);
  EXPECT_TRUE(page_check(page_));
  page_attach(page_, {});
  EXPECT_EQ(page_->local_free, blocks[2]);
}

// An eighth of the page; of pages with few small blocks a quarter, at most eight; at least one.
TEST_F(PageTest, ALinkThatSomebodyHasWrittenOverIsReported) {
  const auto blocks = allocate(4);
  page_free_remote(page_, blocks[2]);
  page_free_remote(page_, blocks[1]);
  page_free_remote(page_, blocks[0]);
  const auto attach = [&](std::byte* link) {
    blocks[1]->next = reinterpret_cast<Block*>(link);
    page_->local_free = blocks[3];
    page_->countdown = 3;
    page_attach(page_, page_collect(page_, RemoteState::open));
  };
  std::byte* const first = page_->base;
  for (std::byte* const link : {static_cast<std::byte*>(nullptr), first + 16, first - 1024,
                                first + page_->bytes(), first}) {
    EXPECT_DEATH(attach(link), "use after free: a freed block of 1024 bytes was written to");
  }
  attach(first + 2 * 1024);
  EXPECT_EQ(page_untaken(page_), 0u);
  EXPECT_EQ(page_list_end(*page_, page_->local_free, 4), blocks[3]);
}

TEST_F(PageTest, TheThresholdIsAPartOfThePage) {
  const auto threshold = [this](std::size_t bytes, std::size_t slices) {
    make(class_of(bytes), slices);
    return page_threshold(page_);
  };
  EXPECT_EQ(threshold(16, 4), 128u);
  EXPECT_EQ(threshold(256, 4), 8u);
  EXPECT_EQ(threshold(512, 4), 8u);
  EXPECT_EQ(threshold(1024, 4), 4u);
  EXPECT_EQ(threshold(1024, 1), 1u);
  EXPECT_EQ(threshold(1025, 4), 1u);
  EXPECT_EQ(threshold(4096, 4), 1u);
  EXPECT_EQ(threshold(4096, 16), 2u);
}

TEST_F(PageTest, AListedPageIsPostedAtItsThresholdOnce) {
  ASSERT_EQ(page_threshold(page_), 2u);
  const std::vector<Block*> blocks = allocate(7);
  ASSERT_TRUE(page_list(page_, page_threshold(page_)));
  EXPECT_EQ(remote().word, Remote::make(RemoteState::listed, 2, 0, 0).word);
  EXPECT_EQ(page_free_remote(page_, blocks[0]), RemoteFree::done);
  EXPECT_EQ(page_free_remote(page_, blocks[1]), RemoteFree::post);
  EXPECT_EQ(remote().state(), RemoteState::mailed);
  EXPECT_EQ(page_free_remote(page_, blocks[2]), RemoteFree::done);
  EXPECT_EQ(page_free_remote(page_, blocks[3]), RemoteFree::done);
  page_settle(page_, true);
  EXPECT_EQ(page_->live(), 3u);
  EXPECT_EQ(remote().word, Remote::make(RemoteState::listed, 2, 0, 0).word);
  EXPECT_EQ(page_free_remote(page_, blocks[4]), RemoteFree::done) << "counted from the start";
}

TEST_F(PageTest, SettlingSeesToItThatTheLastFreeIsPosted) {
  ASSERT_EQ(page_threshold(page_), 2u);
  const std::vector<Block*> blocks = allocate(3);
  page_free_remote(page_, blocks[0]);
  page_free_remote(page_, blocks[1]);
  page_settle(page_, false);
  EXPECT_EQ(page_->live(), 1u);
  EXPECT_EQ(remote().word, Remote::make(RemoteState::listed, 1, 0, 0).word);
  EXPECT_EQ(page_free_remote(page_, blocks[2]), RemoteFree::post);
  page_settle(page_, false);
  EXPECT_EQ(remote().state(), RemoteState::mailed) << "until it is received";
  EXPECT_EQ(remote().count(), 0u);
  EXPECT_EQ(page_->live(), 0u);
  page_settle(page_, true);
  EXPECT_EQ(remote().state(), RemoteState::listed);
  EXPECT_TRUE(page_check(page_));
}

TEST_F(PageTest, SettlingWakes) {
  const std::vector<Block*> blocks = allocate(page_->capacity);
  ASSERT_TRUE(page_list(page_, 2));
  page_->countdown = 2;
  page_->kept = static_cast<std::int32_t>(page_->capacity) - 2;
  page_settle(page_, false);
  EXPECT_EQ(page_->kept, 0);
  EXPECT_EQ(page_->countdown, page_->capacity);
}

TEST_F(PageTest, ListingIsRefusedWhenFreesCameIn) {
  const std::vector<Block*> blocks = allocate(2);
  page_free_remote(page_, blocks[0]);
  EXPECT_FALSE(page_list(page_, page_threshold(page_)));
  EXPECT_EQ(remote().state(), RemoteState::open);
  page_attach(page_, page_collect(page_, RemoteState::open));
  EXPECT_TRUE(page_list(page_, page_threshold(page_)));
}

TEST_F(PageTest, APageInTheMailStaysUntilItIsReceived) {
  const std::vector<Block*> blocks = allocate(4);
  ASSERT_TRUE(page_list(page_, page_threshold(page_)));
  page_free_remote(page_, blocks[0]);
  ASSERT_EQ(page_free_remote(page_, blocks[1]), RemoteFree::post);
  EXPECT_FALSE(page_open(page_)) << "an adopter must leave it alone";
  EXPECT_FALSE(page_kill(page_));
  EXPECT_EQ(page_collect_unless_mailed(page_, RemoteState::open).count, 2u);
  page_->countdown -= 2;
  EXPECT_EQ(remote().word, Remote::empty(RemoteState::mailed).word);
  EXPECT_TRUE(page_list(page_, page_threshold(page_))) << "the owner may put it to sleep";
  EXPECT_EQ(remote().state(), RemoteState::mailed);
  EXPECT_FALSE(page_kill(page_)) << "empty, and still in the mail";
  EXPECT_EQ(page_free_remote(page_, blocks[2]), RemoteFree::done);
  EXPECT_EQ(page_collect(page_, RemoteState::listed).count, 1u);
  page_->countdown -= 1;
  EXPECT_TRUE(page_open(page_));
}

TEST_F(PageTest, OpeningKeepsWhatTheWordHolds) {
  const std::vector<Block*> blocks = allocate(3);
  ASSERT_TRUE(page_list(page_, page_threshold(page_)));
  page_free_remote(page_, blocks[0]);
  EXPECT_TRUE(page_open(page_));
  EXPECT_EQ(remote().state(), RemoteState::open);
  EXPECT_EQ(remote().count(), 1u);
  EXPECT_EQ(page_collect_unless_mailed(page_, RemoteState::listed).count, 1u);
  page_->countdown -= 1;
  EXPECT_EQ(remote().state(), RemoteState::listed);
}

TEST_F(PageTest, OnlyAListedEmptyPageDies) {
  EXPECT_FALSE(page_kill(page_)) << "open";
  ASSERT_TRUE(page_list(page_, page_threshold(page_)));
  EXPECT_TRUE(page_kill(page_));
  Block* const late = reinterpret_cast<Block*>(page_->base);
  EXPECT_EQ(page_free_remote(page_, late), RemoteFree::dead);
  page_give(page_);
  page_ = nullptr;
}

TEST_F(PageTest, GivingLeavesNoTraceInTheMap) {
  std::byte* const base = page_->base;
  const std::size_t bytes = page_->bytes();
  ASSERT_TRUE(page_list(page_, page_threshold(page_)) && page_kill(page_));
  page_give(page_);
  EXPECT_EQ(page_->owner.load(), nullptr);
  for (std::size_t offset = 0; offset < bytes; offset += slice_bytes) {
    const Span* const span = page_map.span_of(base + offset);
    const bool at_end = span->base == base + offset || span->end() == base + offset + slice_bytes;
    EXPECT_TRUE(span == page_map.foreign() || (at_end && span->kind_now() == SpanKind::dirty));
  }
  page_ = nullptr;
  EXPECT_TRUE(store.check());
}

TEST_F(PageTest, CheckFindsDamage) {
  const std::vector<Block*> blocks = allocate(4);
  EXPECT_TRUE(page_check(page_));
  ++page_->countdown;
  EXPECT_FALSE(page_check(page_)) << "one block more than there are";
  --page_->countdown;
  page_->local_free = reinterpret_cast<Block*>(page_->base + 8);
  EXPECT_FALSE(page_check(page_)) << "not the start of a block";
  page_->local_free = blocks[0];
  blocks[0]->next = blocks[0];
  EXPECT_FALSE(page_check(page_)) << "a circle";
  blocks[0]->next = nullptr;
  --page_->countdown;
  EXPECT_TRUE(page_check(page_));
}

#ifdef TARN_DEBUG
TEST_F(PageTest, StepsThatTheProtocolDoesNotHaveAreDefects) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(page_give(page_), "RemoteState::dead") << "it is open";
  EXPECT_DEATH(page_pop(page_), "free != nullptr") << "nothing is carved";
  const std::vector<Block*> blocks = allocate(page_->capacity);
  EXPECT_DEATH(page_carve(page_), "carved < page->capacity");
  ASSERT_TRUE(page_list(page_, page_threshold(page_)));
  EXPECT_DEATH(page_kill(page_), "live.. == 0");
  for (Block* const block : blocks) page_free_remote(page_, block);
  EXPECT_DEATH(page_free_remote(page_, blocks[0]), "count <= page->capacity") << "one too many";
}
#endif

TEST_F(PageTest, NullWhenTheStoreHasNothing) {
  os::fake::fail_at(1, true);
  std::vector<Page*> pages;
  for (int i = 0; i < 100000; ++i) {
    Page* const page = page_take(class_of(block_bytes_max), 1024);
    if (page == nullptr) break;
    pages.push_back(page);
  }
  os::fake::fail_at(0, false);
  EXPECT_LT(pages.size(), 100000u);
  for (Page* page : pages) {
    ASSERT_TRUE(page_list(page, 1) && page_kill(page));
    page_give(page);
  }
}

}  // namespace
}  // namespace tarn
