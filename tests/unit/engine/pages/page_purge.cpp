// Pages that another thread purges for their owner: who may begin, and how the owner goes on.
//
// SPDX-License-Identifier: MIT
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "engine/pages/page.hpp"
#include "engine/store/store.hpp"

namespace tarn {
namespace {

// A page of eight blocks, all of them out, that is not its owner's current one.
class PurgeTest : public testing::Test {
 protected:
  void SetUp() override {
    page_ = page_take(class_of(1024), 2);
    ASSERT_NE(page_, nullptr);
    while (page_->carved < page_->capacity || page_->free != nullptr) {
      if (page_->free == nullptr) page_carve(page_);
      blocks_.push_back(page_pop(page_));
    }
    ASSERT_TRUE(page_list(page_, 1));
  }
  void TearDown() override {
    page_attach(page_, page_collect(page_, RemoteState::listed));
    page_->countdown = 0;
    page_->kept = 0;
    ASSERT_TRUE(page_kill(page_));
    page_give(page_);
  }
  void free_local(std::size_t count) {
    for (; count > 0; --count) {
      blocks_.back()->next = page_->local_free;
      page_->local_free = blocks_.back();
      blocks_.pop_back();
      --page_->countdown;
    }
  }
  void free_remote(std::size_t count) {
    for (; count > 0; --count) {
      page_free_remote(page_, blocks_.back());
      blocks_.pop_back();
    }
  }
  void free_all(std::size_t local) {
    free_local(local);
    free_remote(blocks_.size());
  }
  void purge() {
    ASSERT_TRUE(page_begin_purge(page_));
    std::memset(page_->base, 0xee, page_->bytes());
    page_end_purge(page_);
  }
  void expect_new() {
    EXPECT_EQ(page_->carved, 0u);
    EXPECT_EQ(page_->live(), 0u);
    EXPECT_EQ(page_->free, nullptr);
    EXPECT_EQ(page_->local_free, nullptr);
    EXPECT_TRUE(page_check(page_));
  }
  Remote remote() const { return Remote{page_->remote.load()}; }
  RemoteState state() const { return remote().state(); }

  Page* page_ = nullptr;
  std::vector<Block*> blocks_;
};

TEST_F(PurgeTest, OnlyAFreePageInTheMailIsPurged) {
  EXPECT_FALSE(page_begin_purge(page_)) << "listed";
  free_local(2);
  free_remote(5);
  ASSERT_EQ(state(), RemoteState::mailed);
  EXPECT_FALSE(page_begin_purge(page_)) << "a block is live";
  EXPECT_EQ(state(), RemoteState::mailed);
  free_remote(1);
  EXPECT_TRUE(page_begin_purge(page_));
  EXPECT_EQ(state(), RemoteState::purging);
  EXPECT_FALSE(page_begin_purge(page_)) << "twice";
  page_end_purge(page_);
  EXPECT_FALSE(page_begin_purge(page_));
}

TEST_F(PurgeTest, WhatIsKeptApartIsLiveToo) {
  page_->countdown = 2;
  page_->kept = 6;
  free_remote(2);
  EXPECT_FALSE(page_begin_purge(page_));
  free_remote(6);
  EXPECT_TRUE(page_begin_purge(page_));
  page_end_purge(page_);
}

TEST_F(PurgeTest, TheCurrentPageIsNotPurged) {
  free_all(3);
  ASSERT_TRUE(page_use(page_));
  EXPECT_EQ(state(), RemoteState::mailed_open);
  EXPECT_FALSE(page_begin_purge(page_));
  page_attach(page_, page_collect_unless_mailed(page_, RemoteState::open));
  EXPECT_EQ(state(), RemoteState::mailed_open);
  EXPECT_EQ(page_->live(), 0u);
  ASSERT_TRUE(page_list(page_, 1));
  EXPECT_EQ(state(), RemoteState::mailed) << "no longer current";
  EXPECT_TRUE(page_begin_purge(page_));
  page_end_purge(page_);
}

TEST_F(PurgeTest, APageThatIsBeingPurgedIsLeftAlone) {
  free_all(3);
  ASSERT_TRUE(page_begin_purge(page_));
  const Block* const freed = page_->local_free;
  EXPECT_FALSE(page_use(page_));
  EXPECT_FALSE(page_open(page_));
  EXPECT_FALSE(page_kill(page_));
  EXPECT_EQ(page_collect_unless_mailed(page_, RemoteState::open).count, 0u);
  page_settle(page_, false);
  EXPECT_EQ(state(), RemoteState::purging);
  EXPECT_EQ(remote().count(), 5u);
  EXPECT_EQ(page_->live(), 5u);
  EXPECT_EQ(page_->local_free, freed);
  EXPECT_TRUE(page_has_no_lists(page_));
  page_end_purge(page_);
}

TEST_F(PurgeTest, TheReceiverFindsAnUntouchedPage) {
  free_all(3);
  purge();
  EXPECT_TRUE(page_has_no_lists(page_) && page_check(page_));
  EXPECT_EQ(page_->live(), remote().count());
  page_settle(page_, true);
  EXPECT_EQ(state(), RemoteState::listed);
  expect_new();
}

TEST_F(PurgeTest, WhoSettlesItWithoutReceivingFindsAnUntouchedPageInTheMail) {
  free_all(3);
  purge();
  page_settle(page_, false);
  EXPECT_EQ(remote().word, Remote::empty(RemoteState::mailed).word);
  expect_new();
}

TEST_F(PurgeTest, WhoMakesItCurrentFindsAnUntouchedPageInTheMail) {
  free_all(3);
  purge();
  ASSERT_TRUE(page_use(page_));
  EXPECT_EQ(remote().word, Remote::empty(RemoteState::mailed_open).word);
  expect_new();
  page_carve(page_);
  EXPECT_TRUE(page_check(page_));
}

TEST_F(PurgeTest, ABlockOfAPurgedPageCannotBeFreed) {
  free_all(1);
  purge();
  EXPECT_EQ(page_free_remote(page_, page_->block_at(0)), RemoteFree::dead);
  EXPECT_EQ(state(), RemoteState::purged);
}

TEST_F(PurgeTest, InTheChildOfAForkAPurgeIsDecidedAgain) {
  free_all(2);
  ASSERT_TRUE(page_begin_purge(page_));
  page_repair_purge(page_);
  EXPECT_EQ(state(), RemoteState::purged);
  page_settle(page_, true);
  expect_new();
  // Its thread vanished before it saw that a block is live.
  page_carve(page_);
  blocks_.push_back(page_pop(page_));
  page_->remote.store(Remote::empty(RemoteState::purging).word);
  page_repair_purge(page_);
  EXPECT_EQ(state(), RemoteState::mailed);
}

TEST_F(PurgeTest, OtherPagesAreNotRepaired) {
  const std::uint64_t word = remote().word;
  page_repair_purge(page_);
  EXPECT_EQ(remote().word, word);
}

}  // namespace
}  // namespace tarn
