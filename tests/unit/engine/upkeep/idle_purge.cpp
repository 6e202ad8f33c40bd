// Memory that was freed for threads which do not look at their mail.
//
// SPDX-License-Identifier: MIT
#include "engine/upkeep/idle_purge.hpp"
#include "heaps/fork/fork_repair.hpp"
#include "heaps/operations/life.hpp"
#include "heaps/operations/trim.hpp"
#include "malloc/blocks/allocate.hpp"
#include "malloc/blocks/free.hpp"

#include <thread>

#include "actor.hpp"
#include "child.hpp"
#include "engine/threads/post.hpp"
#include "heaps/blocks/allocate.hpp"
#include "platform/os/fake/fake.hpp"

namespace tarn {

struct IdlePurgeAccess {
  static void begin(const Thread& owner) {
    idle_purge.lock_.lock();
    idle_purge.served_ = &owner;
  }
};

namespace {

class IdlePurgeTest : public TwoActorsTest {
 protected:
  Page* freed_page() {
    Page* const page = sleeping_page();
    free_by(other_, blocks_.size());
    return page;
  }
  std::size_t pages_in_mail() {
    std::size_t count = 0;
    for (const Span* s = mail(); s != nullptr; s = s->newer) ++count;
    return count;
  }
  bool is_sound() { return thread_heap_check(owner_.record().heap); }
};

// The first test: no heap has been made yet, for whose sake mail would be delivered anew.
TEST_F(IdlePurgeTest, AVanishedPurgersPagesAreDeliveredInTheChild) {
  Page* const page = freed_page();
  in_unrepaired_child([&] {
    std::thread([&] { IdlePurgeAccess::begin(owner_.record()); }).join();
    ASSERT_EQ(owner_.record().mail.take(), page);
    ASSERT_TRUE(page_begin_purge(page));
    orphans.recover_after_fork(&other_.record(), nullptr);
    repair_heaps(&other_.record(), nullptr);
    EXPECT_EQ(state_of(page), RemoteState::purged);
    EXPECT_EQ(mail(), page);
    EXPECT_EQ(page->newer, nullptr);
    trim(0);
    EXPECT_NE(page->kind_now(), SpanKind::page);
    EXPECT_EQ(idle_purge.purge(true), 0u);
  });
}

TEST_F(IdlePurgeTest, AFreePageIsPurgedWhereItIs) {
  Page* const page = freed_page();
  ASSERT_EQ(mail(), page);
  const std::size_t purged = os::fake::bytes_purged();
  const StoreTotals before = store.totals();
  EXPECT_EQ(idle_purge.purge(true), page->bytes());
  EXPECT_EQ(os::fake::bytes_purged() - purged, page->bytes());
  EXPECT_EQ(store.totals().purged_bytes - before.purged_bytes, page->bytes());
  EXPECT_EQ(store.totals().committed_bytes, before.committed_bytes) << "it is still the owner's";
  EXPECT_EQ(mail(), page);
  EXPECT_EQ(state_of(page), RemoteState::purged);
  EXPECT_EQ(page->live(), pending_of(page));
  EXPECT_TRUE(is_sound());
  EXPECT_EQ(idle_purge.purge(true), 0u) << "once";
  EXPECT_EQ(mail(), page);
  read_mail_of(owner_);
  EXPECT_NE(page->kind_now(), SpanKind::page) << "the owner finds it empty";
  EXPECT_TRUE(is_sound());
}

TEST_F(IdlePurgeTest, TrimDoesIt) {
  const Page* const page = freed_page();
  other_.trim();
  EXPECT_EQ(state_of(page), RemoteState::purged);
}

TEST_F(IdlePurgeTest, APageWithALiveBlockStaysAsItIs) {
  Page* const page = sleeping_page();
  free_by(other_, blocks_.size() - 1);
  EXPECT_EQ(idle_purge.purge(true), 0u);
  EXPECT_EQ(mail(), page);
  EXPECT_EQ(state_of(page), RemoteState::mailed);
  free_by(other_, 1);
  EXPECT_EQ(idle_purge.purge(true), page->bytes());
}

TEST_F(IdlePurgeTest, AQueuedPageIsUsedAgainFromItsStart) {
  Page* const page = sleeping_page();
  free_by(owner_, page_threshold(page));
  ASSERT_TRUE(page->queued);
  free_by(other_, blocks_.size());
  ASSERT_EQ(state_of(page), RemoteState::mailed);
  EXPECT_EQ(idle_purge.purge(true), page->bytes());
  EXPECT_TRUE(is_sound());
  // Its owner comes to it through the queue, in the mail as it is.
  Page* mailed = owner_.record().mail.take();
  ASSERT_EQ(mailed, page);
  std::vector<void*> more;
  while (owner_.current(bytes) != page) more.push_back(owner_.allocate(bytes));
  EXPECT_EQ(state_of(page), RemoteState::mailed_open);
  while (owner_.current(bytes) == page) more.push_back(owner_.allocate(bytes));
  EXPECT_EQ(page->carved, page->capacity);
  EXPECT_EQ(page->live(), page->capacity);
  EXPECT_EQ(state_of(page), RemoteState::mailed);
  EXPECT_TRUE(is_sound());
  return_mail(owner_.record(), mailed);
  read_mail_of(owner_);
  EXPECT_EQ(state_of(page), RemoteState::listed);
  for (void* block : more) owner_.free(block);
}

// Neighbours lose their memory in one call, and others do not keep them from it.
TEST_F(IdlePurgeTest, ManyPages) {
  std::vector<std::vector<void*>> pages;
  for (int i = 0; i < 600; ++i) {  // More than the first round has.
    pages.push_back(owner_.fill_page(bytes));
    owner_.free_extra();
  }
  std::size_t freed_bytes = 0;
  void* kept = nullptr;
  for (const auto& blocks : pages) {
    const Page* const page = Actor::page_of(blocks[0]);
    freed_bytes += page->bytes();
    for (void* block : blocks) {
      if (kept == nullptr) {
        kept = block;
        freed_bytes = 0;
      } else {
        other_.free(block);
      }
    }
  }
  const std::size_t in_mail = pages_in_mail();
  const std::uint64_t calls = store.totals().purge_calls;
  EXPECT_EQ(idle_purge.purge(true), freed_bytes);
  EXPECT_LT(store.totals().purge_calls - calls, pages.size() / 2);
  EXPECT_EQ(pages_in_mail(), in_mail);
  EXPECT_TRUE(is_sound());
  read_mail_of(owner_);
  EXPECT_TRUE(is_sound());
  owner_.free(kept);
}

TEST_F(IdlePurgeTest, TheRegularLookWaitsForAMailThatNobodyReads) {
  Page* const page = freed_page();
  EXPECT_EQ(idle_purge.purge(false), 0u) << "the first look";
  read_mail_of(owner_);
  ASSERT_NE(page->kind_now(), SpanKind::page);
  owner_.free_extra();
  Page* const next = freed_page();
  EXPECT_EQ(idle_purge.purge(false), 0u) << "it has been read since";
  EXPECT_EQ(idle_purge.purge(false), next->bytes());
}

TEST_F(IdlePurgeTest, TheRegularLookPassesOverWhatIsNotNew) {
  Page* const page = sleeping_page();
  free_by(other_, blocks_.size() - 1);
  EXPECT_EQ(idle_purge.purge(false), 0u);
  EXPECT_EQ(idle_purge.purge(false), 0u) << "looked at, and a block was live";
  free_by(other_, 1);
  std::size_t given = 0;
  int looks = 0;
  for (; given == 0 && looks < 20; ++looks) given = idle_purge.purge(false);
  EXPECT_EQ(given, page->bytes());
  EXPECT_EQ(looks, 8);
}

TEST_F(IdlePurgeTest, TheRegularLookGoesInSteps) {
  constexpr std::size_t large_bytes = 100'000;
  constexpr std::size_t step_bytes = std::size_t{64} << 20;  // As idle_purge.cpp.
  std::size_t made_bytes = 0;
  while (made_bytes < step_bytes + step_bytes / 2) {
    blocks_.push_back(owner_.allocate(large_bytes));
    made_bytes += Actor::page_of(blocks_.back())->block_bytes;
  }
  ASSERT_EQ(Actor::page_of(blocks_[0])->kind_now(), SpanKind::page);
  free_by(other_, blocks_.size());
  EXPECT_EQ(idle_purge.purge(false), 0u);
  const std::size_t first = idle_purge.purge(false);
  EXPECT_GE(first, step_bytes);
  EXPECT_LT(first, made_bytes * 5 / 6);
  EXPECT_GT(idle_purge.purge(false), made_bytes / 6) << "the rest is not passed over";
}

TEST_F(IdlePurgeTest, AThreadsOwnMailIsItsOwn) {
  Page* const page = freed_page();
  owner_.run([&] { EXPECT_EQ(idle_purge.purge(true), 0u); });
  EXPECT_EQ(state_of(page), RemoteState::mailed);
}

TEST_F(IdlePurgeTest, WhereTheSystemRefusesThePageIsFreeAllTheSame) {
  Page* const page = freed_page();
  os::fake::fail_at(1, false);
  EXPECT_EQ(idle_purge.purge(true), 0u);
  os::fake::fail_at(0, false);
  EXPECT_EQ(state_of(page), RemoteState::purged);
  read_mail_of(owner_);
  EXPECT_NE(page->kind_now(), SpanKind::page);
}

// It may be closed, walked, frozen, or of memory that is not the system's.
TEST_F(IdlePurgeTest, APageOfAHeapOfOnesOwnIsLeftAlone) {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  const tarn_heap heap = heap_create(&options);
  owner_.run(
      [&] { deallocate(heap_allocate(heap, 60'000, "test")); });  // No mixed page from here on.
  const auto allocate = [&] {
    void* p = nullptr;
    owner_.run([&] { p = heap_allocate(heap, bytes, "test"); });
    return p;
  };
  blocks_.push_back(allocate());
  Page* const page = Actor::page_of(blocks_[0]);
  ASSERT_EQ(page->kind_now(), SpanKind::page);
  void* next = allocate();
  for (; Actor::page_of(next) == page; next = allocate()) blocks_.push_back(next);
  free_by(other_, blocks_.size());
  ASSERT_EQ(mail(), page);
  EXPECT_EQ(idle_purge.purge(true), 0u);
  EXPECT_EQ(mail(), page);
  EXPECT_EQ(state_of(page), RemoteState::mailed);
  EXPECT_TRUE(heap_delete(heap));
  EXPECT_EQ(idle_purge.purge(true), page->bytes()) << "now it is malloc's";
  owner_.free(next);
}

// The owner ends while its page is in the hands of who purges it.
TEST_F(IdlePurgeTest, AnOwnerThatEndsMeanwhileHasItsMailReadForIt) {
  Page* const page = freed_page();
  owner_.free_extra();
  Thread& record = owner_.record();
  ASSERT_EQ(record.mail.take(), page);
  page->newer = nullptr;
  ASSERT_TRUE(page_begin_purge(page));
  owner_.end();
  EXPECT_EQ(page->kind_now(), SpanKind::page);
  page_end_purge(page);
  return_mail(record, page);
  EXPECT_EQ(record.mail.first(), nullptr);
  EXPECT_NE(page->kind_now(), SpanKind::page);
}

// A thread that purges may fork in a signal handler; it goes on in the child where it was.
TEST_F(IdlePurgeTest, ASurvivingPurgerKeepsWhatItHasInItsHands) {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  heap_delete(heap_create(&options));  // Where there are heaps, mail is delivered anew.
  Page* const page = freed_page();
  in_unrepaired_child([&] {
    IdlePurgeAccess::begin(owner_.record());
    EXPECT_EQ(idle_purge.purge(true), 0u);
    ASSERT_EQ(owner_.record().mail.take(), page);
    page->newer = nullptr;
    ASSERT_TRUE(page_begin_purge(page));
    orphans.recover_after_fork(&other_.record(), nullptr);
    repair_heaps(&other_.record(), nullptr);
    EXPECT_EQ(state_of(page), RemoteState::purging);
    EXPECT_EQ(mail(), nullptr);
    page_end_purge(page);
    return_mail(owner_.record(), page);
    EXPECT_NE(page->kind_now(), SpanKind::page) << "its owner has become an orphan";
  });
}

}  // namespace
}  // namespace tarn
