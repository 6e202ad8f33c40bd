// Threads that end: their records, their pages, and mail that comes afterwards.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/orphans.hpp"
#include "heaps/operations/trim.hpp"

#include <deque>
#include <set>
#include <thread>

#include "actor.hpp"
#include "child.hpp"
#include "engine/records/totals.hpp"
#include "engine/threads/post.hpp"

namespace tarn {

struct OrphansAccess {
  static void lock() { orphans.lock_.lock(); }
  static std::uint32_t& warm_count() { return orphans.warm_count_; }
#ifdef TARN_DEBUG
  static bool check_itself() {
    os::Locked locked(orphans.lock_);
    return orphans.check_locked();
  }
#endif

  // Each bin that has pages for adopters is on the list of its class, once, if it is an orphan's.
  static bool check() {
    std::set<const Bin*> offered;
    for (std::size_t c = 0; c < class_count; ++c) {
      const List<Bin>& bins = orphans.offered_[c];
      if (!bins.check()) return false;
      for (const Bin* bin = bins.head(); bin != nullptr; bin = bin->next) {
        if (!bin->offered || !offered.insert(bin).second) return false;
      }
    }
    bool is_offered = true;
    for (const Thread* t = orphans.list_.head(); t != nullptr; t = t->next) {
      is_offered = is_offered && t != orphans.unoffered_;
      for (std::size_t c = 0; c < class_count; ++c) {
        const Bin* const bin = t->heap.find_bin(c);
        if (bin == nullptr) continue;
        if (bin->offered != (offered.erase(bin) == 1)) return false;
        if (is_offered && !bin->offered && !bin->queue.empty()) return false;
      }
    }
    return offered.empty();  // None of a living thread.
  }
};

namespace {

constexpr std::size_t bytes = 48;
constexpr int warm_max = 4;  // As orphans.cpp.

class OrphansTest : public testing::Test {
 protected:
  OrphansTest() { trim(0); }
  ~OrphansTest() override {
    EXPECT_TRUE(OrphansAccess::check());
    survivor_.end();
    expect_nothing_in_use();
  }

  // A thread that has ended, with one page that an adopter can have, and its one live block.
  struct Ended {
    void* block;
    Page* page;
    Thread* record;
  };
  static std::vector<Ended> end_all(std::deque<Actor>& actors) {
    std::vector<Ended> ended;
    for (Actor& actor : actors) {
      void* const block = actor.allocate(bytes);
      ended.push_back({block, Actor::page_of(block), &actor.record()});
    }
    for (Actor& actor : actors) actor.end();
    return ended;
  }

  // The oldest first. All have put their pages down.
  static std::vector<Ended> end_many(std::size_t count) {
    std::deque<Actor> actors(count);
    const std::vector<Ended> ended = end_all(actors);
    trim(0);
    return ended;
  }

  Actor survivor_;
};

TEST_F(OrphansTest, TheNextThreadTakesTheRecordOverAsItStands) {
  Actor first;
  void* const block = first.allocate(bytes);
  Page* const page = first.current(bytes);
  Thread* const record = &first.record();
  first.end();
  EXPECT_EQ(record->state.load(), ThreadState::orphan);
  Actor second;
  EXPECT_EQ(&second.record(), record);
  EXPECT_EQ(record->state.load(), ThreadState::live);
  EXPECT_EQ(second.current(bytes), page) << "it starts warm";
  second.free(block);
  EXPECT_EQ(page->live(), 0u) << "a local free";
}

TEST_F(OrphansTest, CountsThreads) {
  const std::uint64_t started = totals.threads_started();
  std::deque<Actor> actors;
  for (int i = 0; i < 10; ++i) actors.emplace_back();
  EXPECT_EQ(totals.threads_started(), started + 10);
  const std::uint64_t peak = totals.threads_peak();
  EXPECT_GE(peak, 11u);
  actors.clear();
  for (int i = 0; i < 10; ++i) actors.emplace_back();
  EXPECT_EQ(totals.threads_peak(), peak);
}

TEST_F(OrphansTest, MailToAnOrphanIsServedByWhoPosts) {
  Actor owner;
  const std::vector<void*> blocks = owner.fill_page(bytes);
  owner.free_extra();
  Page* const page = Actor::page_of(blocks[0]);
  Thread* const record = &owner.record();
  owner.end();
  for (void* block : blocks) {
    EXPECT_EQ(page->kind_now(), SpanKind::page);
    survivor_.free(block);
  }
  EXPECT_EQ(record->mail.first(), nullptr);
  // What is below the threshold when the last block is freed waits for a trim.
  trim(0);
  EXPECT_NE(page->kind_now(), SpanKind::page);
}

TEST_F(OrphansTest, MailFromBeforeTheEndIsRead) {
  Actor owner;
  const std::vector<void*> blocks = owner.fill_page(bytes);
  owner.free_extra();
  Page* const page = Actor::page_of(blocks[0]);
  for (void* block : blocks) survivor_.free(block);
  EXPECT_EQ(state_of(page), RemoteState::mailed);
  owner.end();
  EXPECT_NE(page->kind_now(), SpanKind::page);
}

TEST_F(OrphansTest, OldOrphansPutTheirCurrentPagesDown) {
  std::deque<Actor> actors;
  std::vector<void*> blocks;
  std::vector<Thread*> records;
  for (int i = 0; i < warm_max + 3; ++i) {
    blocks.push_back(actors.emplace_back().allocate(bytes));
    records.push_back(&actors.back().record());
  }
  for (Actor& actor : actors) actor.end();
  for (int i = 0; i < warm_max + 3; ++i) {
    const auto at = static_cast<std::size_t>(i);
    Thread* const record = records[at];
    const bool warm = i >= 3;
    EXPECT_EQ(record->warm, warm) << i;
    EXPECT_EQ(record->heap.current[class_of(bytes)] == no_page(), !warm) << i;
    EXPECT_EQ(Actor::page_of(blocks[at])->queued, !warm) << i;
  }
  for (void* block : blocks) survivor_.free(block);
}

TEST_F(OrphansTest, ARefillAdoptsAPageWithFreeBlocks) {
  std::vector<void*> blocks;
  Actor owner;
  for (int i = 0; i < 3; ++i) blocks.push_back(owner.allocate(bytes));
  owner.free(blocks.back());
  blocks.pop_back();
  Page* const page = owner.current(bytes);
  Thread* const record = &owner.record();
  owner.end();
  trim(0);  // Puts the page down: the orphan is old.
  ASSERT_TRUE(page->queued);

  blocks.push_back(survivor_.allocate(bytes));
  EXPECT_EQ(survivor_.current(bytes), page);
  EXPECT_EQ(Actor::page_of(blocks.back()), page);
  EXPECT_EQ(page->owner.load(), &survivor_.record());
  EXPECT_EQ(page->heap, &survivor_.record().heap);
  EXPECT_EQ(page->kept, -1);
  EXPECT_FALSE(page->queued);
  EXPECT_EQ(state_of(page), RemoteState::open);
  EXPECT_EQ(Actor::pages_of(*record, bytes), 0u);
  EXPECT_EQ(survivor_.pages(bytes), 1u);
  EXPECT_TRUE(page_check(page));
  for (void* block : blocks) survivor_.free(block);
  EXPECT_EQ(page->live(), 0u) << "all of them local frees now";
}

// However many there are, and whatever the others have.
TEST_F(OrphansTest, ARefillFindsTheOnlyPageOfItsClass) {
  constexpr std::size_t rare_bytes = 720;
  std::deque<Actor> actors(30);
  void* const rare = actors[0].allocate(rare_bytes);
  Page* const page = Actor::page_of(rare);
  const std::vector<Ended> ended = end_all(actors);
  trim(0);
  EXPECT_TRUE(OrphansAccess::check());
  void* const block = survivor_.allocate(rare_bytes);
  EXPECT_EQ(Actor::page_of(block), page);
  EXPECT_EQ(page->owner.load(), &survivor_.record());
  survivor_.free(rare);
  survivor_.free(block);
  for (const Ended& e : ended) survivor_.free(e.block);
}

TEST_F(OrphansTest, AllPagesAreAdoptedBeforeAFreshOne) {
  const std::vector<Ended> ended = end_many(40);
  std::set<const Page*> pages;
  for (const Ended& e : ended) EXPECT_TRUE(pages.insert(e.page).second);
  std::vector<void*> blocks;
  while (!pages.empty()) {
    blocks.push_back(survivor_.allocate(bytes));
    const Page* const page = Actor::page_of(blocks.back());
    EXPECT_EQ(page->owner.load(), &survivor_.record());
    pages.erase(page);
    ASSERT_LT(blocks.size(), 40 * std::size_t{page->capacity}) << "not a page beside those";
  }
  EXPECT_EQ(survivor_.pages(bytes), 40u);
  for (const Ended& e : ended) {
    EXPECT_EQ(Actor::pages_of(*e.record, bytes), 0u);
    EXPECT_TRUE(thread_heap_check(e.record->heap));
    survivor_.free(e.block);
  }
  EXPECT_TRUE(thread_heap_check(survivor_.record().heap));
  for (void* block : blocks) survivor_.free(block);
}

#ifdef TARN_DEBUG
TEST_F(OrphansTest, CheckFindsABinThatIsNotWhereItSaysAndAWrongCount) {
  const std::vector<Ended> ended = end_many(3);
  EXPECT_TRUE(OrphansAccess::check_itself());
  Bin& bin = ended[1].record->heap.bin(class_of(bytes));
  ASSERT_TRUE(bin.offered);
  bin.offered = false;
  EXPECT_FALSE(OrphansAccess::check_itself()) << "listed, and it says that it is not";
  bin.offered = true;
  ++OrphansAccess::warm_count();
  EXPECT_FALSE(OrphansAccess::check_itself());
  --OrphansAccess::warm_count();
  ended[2].record->state.store(ThreadState::live);
  EXPECT_FALSE(OrphansAccess::check_itself()) << "no orphan";
  ended[2].record->state.store(ThreadState::orphan);
  EXPECT_TRUE(OrphansAccess::check_itself());
  for (const Ended& e : ended) survivor_.free(e.block);
}
#endif

TEST_F(OrphansTest, TheYoungestOrphansPagesAreAdoptedFirst) {
  std::deque<Actor> actors(warm_max + 3);
  const std::vector<Ended> ended = end_all(actors);  // Three put their pages down,
  void* const block = survivor_.allocate(bytes);
  EXPECT_EQ(Actor::page_of(block), ended[2].page);  // of which this is the one that did so last.
  for (const Ended& e : ended) survivor_.free(e.block);
  survivor_.free(block);
}

TEST_F(OrphansTest, PagesOfARecordThatIsInUseAgainAreNotAdopted) {
  const std::vector<Ended> ended = end_many(2);
  Actor next;
  EXPECT_EQ(&next.record(), ended[1].record);
  EXPECT_TRUE(OrphansAccess::check());
  void* const block = survivor_.allocate(bytes);
  EXPECT_EQ(Actor::page_of(block), ended[0].page);
  next.end();
  EXPECT_TRUE(OrphansAccess::check());
  for (const Ended& e : ended) survivor_.free(e.block);
  survivor_.free(block);
}

// Other threads are about to serve it. The bin goes behind the others.
TEST_F(OrphansTest, ABinWhosePagesAreInTheMailIsPassedOver) {
  const std::vector<Ended> ended = end_many(2);  // The older one has offered its page last.
  Page* const first = ended[0].page;
  first->remote.store(Remote::empty(RemoteState::mailed).word);
  void* const block = survivor_.allocate(bytes);
  EXPECT_EQ(Actor::page_of(block), ended[1].page);
  EXPECT_TRUE(OrphansAccess::check());
  post(first);
  for (const Ended& e : ended) survivor_.free(e.block);
  survivor_.free(block);
}

TEST_F(OrphansTest, APageInTheMailIsNotAdopted) {
  Actor owner;
  std::vector<void*> blocks = owner.fill_page(bytes);
  owner.free_extra();
  Page* const page = Actor::page_of(blocks[0]);
  for (std::uint32_t n = 0; n < page_threshold(page); ++n) {
    owner.free(blocks.back());
    blocks.pop_back();
  }
  ASSERT_TRUE(page->queued);
  owner.end();
  trim(0);
  for (std::uint32_t n = 0; n < page_threshold(page); ++n) {
    EXPECT_EQ(page_free_remote(page, static_cast<Block*>(blocks[n])),
              n + 1u == page_threshold(page) ? RemoteFree::post : RemoteFree::done);
  }
  ASSERT_TRUE(page->queued) << "where an adopter looks";
  void* const block = survivor_.allocate(bytes);
  EXPECT_NE(Actor::page_of(block), page);
  post(page);
  EXPECT_EQ(state_of(page), RemoteState::listed);
  EXPECT_TRUE(page->queued);
  for (std::size_t n = page_threshold(page); n < blocks.size(); ++n) survivor_.free(blocks[n]);
  survivor_.free(block);
}

TEST_F(OrphansTest, ARecordThatVanishedBusyIsLostAndTheOthersAreOrphans) {
  Actor quiet;
  Actor busy;
  void* const block = quiet.allocate(bytes);
  in_unrepaired_child([&] {
    Busy::begin(busy.record());
    orphans.recover_after_fork(&survivor_.record(), nullptr);
    EXPECT_EQ(quiet.record().state.load(), ThreadState::orphan);
    EXPECT_EQ(busy.record().state.load(), ThreadState::lost);
    EXPECT_EQ(survivor_.record().state.load(), ThreadState::live);
    EXPECT_TRUE(OrphansAccess::check());
    Actor next;
    EXPECT_NE(&next.record(), &busy.record());
    survivor_.free(block);
    expect_nothing_in_use();
  });
  quiet.free(block);
}

// Its pages wait for adopters without anybody having looked at them in the child.
TEST_F(OrphansTest, PagesOfVanishedThreadsAreAdopted) {
  const std::vector<Ended> ended = end_many(3);
  std::deque<Actor> actors(12);  // Three of them with those pages.
  std::vector<void*> blocks;
  for (Actor& actor : actors) blocks.push_back(actor.allocate(bytes));
  const std::vector<void*> more = actors[5].fill_page(bytes);
  Page* const queued = Actor::page_of(more[0]);
  for (std::uint32_t n = 0; n < page_threshold(queued); ++n) actors[5].free(more[n]);
  ASSERT_TRUE(queued->queued);
  in_unrepaired_child([&] {
    orphans.recover_after_fork(&survivor_.record(), nullptr);
    void* const block = survivor_.allocate(bytes);
    EXPECT_EQ(Actor::page_of(block), queued);
    EXPECT_TRUE(OrphansAccess::check());
    trim(0);
    EXPECT_TRUE(OrphansAccess::check());
  });
  in_unrepaired_child([&] {
    orphans.recover_after_fork(&survivor_.record(), nullptr);
    // Among those taken are the first that wait to be looked at.
    for (int i = 0; i < 100; ++i) {
      orphans.take(Orphans::Counted::no);
      EXPECT_TRUE(OrphansAccess::check());
    }
    EXPECT_NE(Actor::page_of(survivor_.allocate(bytes)), queued) << "a living thread's";
    EXPECT_TRUE(OrphansAccess::check());
  });
  for (std::size_t n = page_threshold(queued); n < more.size(); ++n) actors[5].free(more[n]);
  actors[5].free_extra();
  for (std::size_t i = 0; i < actors.size(); ++i) actors[i].free(blocks[i]);
  for (const Ended& e : ended) survivor_.free(e.block);
}

// The thread that held the lock may have been in the middle of the list.
TEST_F(OrphansTest, AListThatVanishedHalfChangedIsMadeAgain) {
  std::deque<Actor> actors;
  for (int i = 0; i < 6; ++i) actors.emplace_back();
  std::vector<Thread*> records;
  for (Actor& actor : actors) records.push_back(&actor.record());
  for (Actor& actor : actors) actor.end();
  in_unrepaired_child([&] {
    records[2]->next = records[5];  // Damaged,
    records[3]->prev = nullptr;
    Busy::begin(*records[4]);  // and one was being changed itself.
    std::thread(OrphansAccess::lock).join();
    orphans.recover_after_fork(&survivor_.record(), nullptr);
    std::set<Thread*> found;
    for (int i = 0; i < 100; ++i) {  // Of other tests there are more.
      Thread* const taken = orphans.take(Orphans::Counted::no);
      EXPECT_TRUE(found.insert(taken).second);
    }
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(found.count(records[i]), i != 4);
    EXPECT_EQ(records[4]->state.load(), ThreadState::lost);
  });
}

TEST_F(OrphansTest, OffersThatVanishedHalfChangedAreMadeAgain) {
  const std::vector<Ended> ended = end_many(6);
  in_unrepaired_child([&] {
    const std::size_t c = class_of(bytes);
    ended[2].record->heap.bin(c).next = nullptr;  // Damaged,
    Busy::begin(*ended[4].record);                // and one was being changed itself.
    std::thread(OrphansAccess::lock).join();
    orphans.recover_after_fork(&survivor_.record(), nullptr);
    EXPECT_TRUE(OrphansAccess::check());
    std::set<const Page*> pages;
    for (const Ended& e : ended) pages.insert(e.page);
    for (std::size_t n = 0; n < 40 * std::size_t{ended[0].page->capacity}; ++n) {
      pages.erase(Actor::page_of(survivor_.allocate(bytes)));
    }
    EXPECT_EQ(pages, std::set<const Page*>{ended[4].page}) << "nobody's any more";
    EXPECT_TRUE(OrphansAccess::check());
  });
  for (const Ended& e : ended) survivor_.free(e.block);
}

// A thread may fork in a signal handler while it holds the lock; then it goes on in the child.
TEST_F(OrphansTest, AListInUseByTheSurvivorIsNotTouched) {
  Actor other;
  Actor ended;
  Thread* const record = &ended.record();
  ended.end();
  in_unrepaired_child([&] {
    OrphansAccess::lock();
    orphans.recover_after_fork(&survivor_.record(), nullptr);
    EXPECT_EQ(other.record().state.load(), ThreadState::lost);
    EXPECT_EQ(record->state.load(), ThreadState::orphan);
  });
}

}  // namespace
}  // namespace tarn
