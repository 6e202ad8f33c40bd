// protocol: the remote-free protocol of src/engine on a machine of a few pages, blocks
// and thread records. One class of blocks; a turn is one atomic access and the plain ones up to the
// next. Each function names the one that it mirrors. Memory is sequentially consistent here: orders
// are argued in the sources and left to the thread sanitizer (tests/stress).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "exploration.hpp"

namespace tarn::model {

inline constexpr unsigned pages_max = 3;
inline constexpr unsigned blocks_max = 4;
inline constexpr unsigned records_max = 3;
inline constexpr unsigned actors_max = 3;
inline constexpr unsigned hand_max = 4;

using Byte = std::uint8_t;
inline constexpr Byte none = 0xff;  // No page, block, record or actor.
inline constexpr Byte gone = 0xfe;  // A link in memory that has been purged.

// As engine/pages/remote.hpp.
enum State : Byte { dead, open, listed, mailed, mailed_open, purging, purged };
constexpr bool in_mail(State state) { return state >= mailed; }

// What the model can be told to do wrong: each must be found.
enum class Mistake {
  no_mistake,
  retire_ignores_mail,   // retire() gives a page that is in the mail.
  post_before_swap,      // The page is in the mail before its word says so.
  owner_before_swap,     // The poster reads the owner before it holds the page still.
  owner_after_unlock,    // adopt_page() changes the owner when the orphan may be taken again.
  adopts_mailed_page,    // page_open() does not mind state mailed.
  end_reads_mail_first,  // Orphans::give() reads the mail, then says that it is an orphan.
  end_reads_no_mail,
  poster_serves_nobody,  // post() does not look whether the owner has ended.
  serve_without_lock,
  serve_without_looking,  // ... under the lock whether it is still an orphan.
  list_keeps_frees,       // page_list() lists a page although frees have come in.
  list_forgets_frees,
  settle_leaves_open,     // A settled page that is not current goes on as open.
  collect_unposts,        // page_collect_unless_mailed() takes the page out of state mailed.
  mail_linked_late,       // read_mail() reads the link after the page may be posted again.
  threshold_apart,        // The threshold is beside the word, which may come back the same.
  wake_forgets_kept,      // page_attention() does not count what the countdown left out.
  purges_live_blocks,     // page_begin_purge() does not ask whether every block is free.
  purge_looks_once,       // ... and asks before its swap only.
  purge_reads_kept_last,  // ... or after its swap only, and reads the countdown first.
  purge_drops_frees,      // ... and takes a word back that frees have come to.
  use_stays_mailed,       // page_use() does not say that a page in the mail is current.
  sleep_counts_late,      // put_to_sleep() lists the page, then says what wakes it.
  sleeps_mailed_open,     // page_list() leaves a page mailed_open that is not current any more.
  uses_purging_page,      // page_use() does not mind state purging.
  collects_purging_page,  // page_collect_unless_mailed() likewise.
  purged_keeps_lists,     // The owner goes on with the lists of a purged page.
  chain_counts_one,       // page_free_remote() counts a chain as a block.
  chain_drops_rest,       // ... or links its first block to the list.
  chain_meets_threshold,  // ... or posts when the count is the threshold, not when it is above.
  purger_serves_nobody,   // The purger does not look whether the owner has ended.
  purger_keeps_mail,      // ... or does not put what it did not purge back.
};

struct Word {  // engine/pages/remote.hpp, Remote
  State state = dead;
  Byte count = 0;
  Byte head = none;
  Byte threshold = 0;  // Listed: the count that posts the page.
  bool operator==(const Word&) const = default;
  std::uint32_t packed() const {
    return std::uint32_t{threshold} << 24 | std::uint32_t{state} << 16 | std::uint32_t{count} << 8 |
           head;
  }
};

struct Page {
  Word word;
  Byte owner = none;  // Record.
  Byte newer = none;  // Page.
  Byte free = none;   // Blocks.
  Byte local_free = none;
  std::int8_t countdown = 0;
  std::int8_t kept = 0;
  Byte carved = 0;
  Byte threshold = 0;  // As in the word, for Mistake::threshold_apart.
  Byte queued = 0;
  std::array<Byte, blocks_max> next{none, none, none, none};
  // For the checks only:
  Byte live = 0;       // Blocks that the program has, one bit each.
  Byte holder = none;  // The record whose lists the page belongs to.

  int live_count() const { return countdown + kept; }  // Page::live()
};

enum class RecordState : Byte { unused, live, orphan };

struct Record {
  RecordState state = RecordState::unused;
  Byte mail = none;     // Page.
  Byte current = none;  // Page.
  Byte warm = 0;
  std::array<Byte, pages_max> queue{none, none, none};
};

struct Shared {
  std::array<Page, pages_max> pages;
  std::array<Record, records_max> records;
  std::array<Byte, records_max> orphans{none, none, none};  // Newest first.
  Byte lock = none;                                         // Actor.
  std::array<std::array<Byte, hand_max>, actors_max> hands;
  Byte passed = none;  // A block on its way from one actor to another.
};

enum class Action : Byte {
  allocate,    // Into the hand.
  free_hand,   // The oldest block in the hand; nothing when it is empty.
  free_block,  // The given one.
  free_chain,  // The given one and the next one, by one swap.
  pass,        // The oldest block in the hand to whoever frees what is passed.
  free_passed,
  start,  // The thread gets a record.
  end,    // The thread ends.
  trim,
  purge,  // The pages in the mail of other threads.
};

struct Do {
  Action action;
  Byte page = none;
  Byte block = none;
};

struct Scenario {
  const char* name = "";
  Byte capacity = 3;  // Blocks of a page.
  Byte threshold = 1;
  Byte pages = 2;     // That there is memory for.
  Byte warm_max = 1;  // engine/threads/orphans.cpp has 4.
  void (*prepare)(Shared&, const Scenario&) = nullptr;
  std::vector<std::vector<Do>> programs{};
  std::array<Byte, actors_max> started{none, none, none};  // Record that an actor begins with.
};

class Run {
 public:
  Run(const Scenario& scenario, Mistake mistake);

  unsigned enabled() const;
  void turn(unsigned actor);
  std::uint64_t key() const;
  void finished() const;

 private:
  struct Thread : Actor {
    Byte id = none;
    Byte record = none;  // current_thread
    bool done = false;
  };

  Task<void> program(Thread& t);
  Task<void> perform(Thread& t, Do what);

  // heap/blocks
  Task<void> allocate(Thread& t);
  Task<void> deallocate(Thread& t, Byte page, Byte block);
  Task<void> free_chain(Thread& t, Byte page, Byte first);
  // pages/page
  Task<bool> page_free_remote(Thread& t, Byte page, Byte first, Byte last, Byte added);
  Task<Word> page_collect_unless_mailed(Thread& t, Byte page, State state);
  Task<bool> page_list(Thread& t, Byte page, Byte threshold);
  Task<bool> page_open(Thread& t, Byte page);
  Task<void> page_settle(Thread& t, Byte page, bool received);
  Task<bool> page_use(Thread& t, Byte page);
  Task<bool> page_kill(Thread& t, Byte page);
  Task<bool> page_is_free(Thread& t, Byte page, Byte count);
  Task<bool> page_begin_purge(Thread& t, Byte page);
  Task<void> page_end_purge(Thread& t, Byte page);
  void page_renew(Byte page);
  void page_give(Byte page);
  void page_attach(Byte page, Word collected);
  // heap/thread_heap
  Task<bool> refill(Thread& t);
  Task<bool> reuse_freed(Thread& t, Byte page);
  Task<void> keep_apart(Thread& t, Byte page);
  Task<bool> put_to_sleep(Thread& t, Byte page);
  Task<void> put_back(Thread& t, Byte page);
  Task<Byte> take_queued(Thread& t);
  Byte take_fresh(Thread& t);
  Task<void> page_attention(Thread& t, Byte page);
  Task<void> retire(Thread& t, Byte record, Byte page);
  Task<void> place(Thread& t, Byte record, Byte page);
  Task<void> settle_queue(Thread& t, Byte record);
  Task<void> settle_mailed(Thread& t, Byte record, Byte page);
  Task<void> read_mail(Thread& t, Byte record);
  Task<void> flush_current_page(Thread& t, Byte record);
  Task<void> post(Thread& t, Byte page, Byte owner);
  Task<void> push_mail(Thread& t, Byte owner, Byte page);
  Task<void> count_all(Thread& t, Byte page);
  // heap/idle_purge
  Task<void> purge(Thread& t);
  Task<void> purge_mail(Thread& t, Byte owner);
  // heap/orphans
  Task<void> start(Thread& t);
  Task<void> end(Thread& t);
  Task<void> serve(Thread& t, Byte record);
  Task<Byte> adopt_page(Thread& t);
  Task<void> trim(Thread& t);

  void make_current(Byte record, Byte page);
  void unpin(Byte page);
  void enqueue(Byte record, Byte page);
  void dequeue(Byte record, Byte page);
  void carve(Byte page);
  void touch(const Thread& t, Byte page) const;
  void unlock(Thread& t);
  Byte take_from_hand(Thread& t);
  Byte link(Byte page, Byte block) const;

  unsigned times_in_mail(Byte page) const;
  void check_page(Byte page) const;
  void check_place(Byte page) const;

  bool is(Mistake mistake) const { return mistake_ == mistake; }
  Page& at(Byte page) { return shared_.pages[page]; }
  Record& record_of(Byte record) { return shared_.records[record]; }

  const Scenario& scenario_;
  Mistake mistake_;
  Shared shared_;
  std::array<Thread, actors_max> threads_;
  std::vector<Task<void>> programs_;
};

Outcome explore(const Scenario& scenario, Mistake mistake);

// Queue and orphan lists: small arrays filled from the front.
template <std::size_t n>
void push_front(std::array<Byte, n>& list, Byte value) {
  for (std::size_t i = n - 1; i > 0; --i) list[i] = list[i - 1];
  list[0] = value;
}
template <std::size_t n>
void push_back(std::array<Byte, n>& list, Byte value) {
  for (Byte& place : list) {
    if (place != none) continue;
    place = value;
    return;
  }
  throw Broken("a list holds more than there is");
}
template <std::size_t n>
void erase(std::array<Byte, n>& list, Byte value) {
  std::size_t to = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (list[i] != value) list[to++] = list[i];
  }
  require(to < n, "a list lacks what is taken off it");
  while (to < n) list[to++] = none;
}

}  // namespace tarn::model
