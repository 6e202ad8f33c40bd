// protocol, the half of src/engine/threads: pages in their places, mail, and threads that end.
// A co_await stands in a statement of its own: gcc 12 loses its way when one is a condition.
//
// SPDX-License-Identifier: MIT
#include "protocol.hpp"

namespace tarn::model {

namespace {
constexpr int put_backs_max = 2;  // As thread_heap.cpp.
}

// allocate and allocate_class_slow
Task<void> Run::allocate(Thread& t) {
  if (t.record == none) co_await start(t);
  Scope scope(t);
  const Byte first = record_of(t.record).current;
  if (first == none || at(first).free == none) {
    const bool refilled = co_await refill(t);
    if (!refilled) co_return;  // Out of memory.
  }
  const Byte page = record_of(t.record).current;
  touch(t, page);
  Page& p = at(page);
  const Byte block = p.free;
  require(block != none && (p.live & 1u << block) == 0, "a block is handed out twice");
  p.free = link(page, block);
  p.next[block] = none;
  ++p.countdown;
  p.live |= static_cast<Byte>(1u << block);
  push_back(shared_.hands[t.id], static_cast<Byte>(page * blocks_max + block));
}

// deallocate and take_back
Task<void> Run::deallocate(Thread& t, Byte page, Byte block) {
  Scope scope(t);
  require((at(page).live & 1u << block) != 0, "the program frees what it does not have");
  co_await t.step();
  const bool mine = t.saw(at(page).owner) == t.record && t.record != none;
  if (!mine) {
    const bool posts = co_await page_free_remote(t, page, block, block, 1);
    if (posts) co_await post(t, page, none);
    co_return;
  }
  co_await t.step();  // So that a thread that is not the owner is seen among the owner's steps.
  touch(t, page);
  Page& p = at(page);
  p.live &= static_cast<Byte>(~(1u << block));
  p.next[block] = p.local_free;
  p.local_free = block;
  if (--p.countdown == 0) co_await page_attention(t, page);
}

// gather and give_gathered: linked before, by a thread that need not know who owns the page now.
Task<void> Run::free_chain(Thread& t, Byte page, Byte first) {
  Scope scope(t);
  const auto last = static_cast<Byte>(first + 1);
  const unsigned both = 1u << first | 1u << last;
  require((at(page).live & both) == both, "the program frees what it does not have");
  at(page).next[first] = last;
  const bool posts = co_await page_free_remote(t, page, first, last, 2);
  if (posts) co_await post(t, page, none);
}

// refill
Task<bool> Run::refill(Thread& t) {
  Scope scope(t);
  co_await t.step();
  if (t.saw(record_of(t.record).mail) != none) co_await read_mail(t, t.record);
  Record& record = record_of(t.record);
  Byte page = record.current;
  for (int put_backs = 0;;) {
    scope.again(put_backs);
    if (page != none) {
      touch(t, page);
      const bool reused = co_await reuse_freed(t, page);
      if (reused) co_return scope.result(true);
      if (at(page).carved == scenario_.capacity) {
        const bool sleeps = co_await put_to_sleep(t, page);
        if (!sleeps) continue;
      } else if (record.queue[0] == none || put_backs == put_backs_max) {
        carve(page);
        co_return scope.result(true);
      } else {
        co_await put_back(t, page);
        ++put_backs;
      }
    }
    scope.again(put_backs);
    page = co_await take_queued(t);
    if (page == none) page = co_await adopt_page(t);
    if (page == none) page = take_fresh(t);
    if (page == none) co_return scope.result(false);
  }
}

// reuse_freed
Task<bool> Run::reuse_freed(Thread& t, Byte page) {
  Scope scope(t);
  Page& p = at(page);
  if (p.free != none) co_return scope.result(true);
  if (p.local_free == none) {
    co_await t.step();
    if (t.saw(p.word.count) != 0) {
      const Word collected = co_await page_collect_unless_mailed(t, page, open);
      page_attach(page, collected);
    }
    if (p.local_free == none) co_return scope.result(false);
  }
  p.free = std::exchange(p.local_free, none);
  co_return scope.result(true);
}

// put_back
Task<void> Run::put_back(Thread& t, Byte page) {
  record_of(t.record).current = none;
  unpin(page);
  co_await page_settle(t, page, false);
  co_await place(t, t.record, page);
}

// Of put_to_sleep: the countdown is what wakes the page.
Task<void> Run::keep_apart(Thread& t, Byte page) {
  Page& p = at(page);
  const std::int8_t live = p.countdown;
  p.countdown = std::min(static_cast<std::int8_t>(scenario_.threshold), live);
  if (p.countdown == live) co_return;
  co_await t.step();  // Who purges may look in between.
  p.kept = static_cast<std::int8_t>(live - p.countdown);
}

// put_to_sleep
Task<bool> Run::put_to_sleep(Thread& t, Byte page) {
  unpin(page);
  const bool late = is(Mistake::sleep_counts_late);
  if (!late) co_await keep_apart(t, page);
  const bool lists = co_await page_list(t, page, scenario_.threshold);
  if (!lists) {
    if (!late) co_await count_all(t, page);
    make_current(t.record, page);
    co_return false;
  }
  if (late) co_await keep_apart(t, page);
  record_of(t.record).current = none;
  co_return true;
}

// take_queued
Task<Byte> Run::take_queued(Thread& t) {
  for (std::size_t i = 0; i < pages_max; ++i) {
    const Byte page = record_of(t.record).queue[i];
    if (page == none) co_return none;
    touch(t, page);
    t.saw(i);
    const bool used = co_await page_use(t, page);
    if (!used) continue;
    dequeue(t.record, page);
    make_current(t.record, page);
    co_return record_of(t.record).current;
  }
  co_return none;
}

// take_fresh and page_take
Byte Run::take_fresh(Thread& t) {
  for (Byte page = 0; page < scenario_.pages; ++page) {
    Page& p = at(page);
    if (p.holder != none) continue;
    p = Page{};
    p.word = {open, 0, none, 0};
    p.owner = p.holder = t.record;
    make_current(t.record, page);
    return page;
  }
  return none;
}

// page_attention
Task<void> Run::page_attention(Thread& t, Byte page) {
  Page& p = at(page);
  if (p.kept > 0) {
    if (is(Mistake::wake_forgets_kept)) {
      p.kept = 0;
    } else {
      co_await count_all(t, page);
    }
    enqueue(t.record, page);
    co_return;
  }
  co_await retire(t, t.record, page);
}

// page_count_all
Task<void> Run::count_all(Thread& t, Byte page) {
  Page& p = at(page);
  p.countdown = static_cast<std::int8_t>(p.live_count());
  if (p.kept == 0) co_return;
  co_await t.step();  // Who purges may look in between.
  p.kept = 0;
}

// retire
Task<void> Run::retire(Thread& t, Byte record, Byte page) {
  const bool dies = co_await page_kill(t, page);
  if (!dies) {
    enqueue(record, page);
    co_return;
  }
  if (at(page).queued) dequeue(record, page);
  page_give(page);
}

// place
Task<void> Run::place(Thread& t, Byte record, Byte page) {
  if (at(page).live_count() == 0) {
    co_await retire(t, record, page);
  } else {
    enqueue(record, page);
  }
}

// settle_mailed and page_collect
Task<void> Run::settle_mailed(Thread& t, Byte record, Byte page) {
  touch(t, page);
  require(in_mail(at(page).word.state), "a page in the mail does not say so");
  require(at(page).word.state != purging, "a page in the mail is being purged");
  if (t.saw(record_of(record).current == page)) {
    co_await t.step();
    page_attach(page, std::exchange(at(page).word, Word{open, 0, none, 0}));
    co_return;
  }
  co_await page_settle(t, page, true);
  if (is(Mistake::settle_leaves_open)) at(page).word.state = open;
  co_await place(t, record, page);
}

// read_mail
Task<void> Run::read_mail(Thread& t, Byte record) {
  Scope scope(t);
  co_await t.step();
  Byte page = std::exchange(record_of(record).mail, none);
  while (page != none) {
    scope.again(page);
    touch(t, page);
    const Byte next = at(page).newer;
    if (is(Mistake::mail_linked_late)) {
      co_await settle_mailed(t, record, page);
      co_await t.step();
      page = at(page).newer;
      continue;
    }
    t.saw(next);
    co_await settle_mailed(t, record, page);
    page = next;
  }
}

// flush_current_pages
Task<void> Run::flush_current_page(Thread& t, Byte record) {
  Scope scope(t);
  const Byte page = t.saw(record_of(record).current);
  if (page == none) co_return;
  touch(t, page);
  record_of(record).current = none;
  unpin(page);
  Page& p = at(page);
  while (p.free != none) {
    const Byte block = p.free;
    p.free = link(page, block);
    p.next[block] = p.local_free;
    p.local_free = block;
  }
  co_await page_settle(t, page, false);
  co_await place(t, record, page);
}

// settle_queues
Task<void> Run::settle_queue(Thread& t, Byte record) {
  Scope scope(t);
  const auto queue = record_of(record).queue;
  for (std::size_t i = 0; i < pages_max && queue[i] != none; ++i) {
    // What is left of the copy.
    std::uint64_t rest = i;
    for (std::size_t k = i; k < pages_max; ++k) rest = rest << 8 | queue[k];
    scope.again(rest);
    touch(t, queue[i]);
    co_await page_settle(t, queue[i], false);
    co_await place(t, record, queue[i]);
  }
}

// post. `known`: what a mistaken poster takes for the owner.
Task<void> Run::post(Thread& t, Byte page, Byte known) {
  Scope scope(t);
  Byte owner = known;
  if (owner == none) {
    co_await t.step();
    owner = t.saw(at(page).owner);
  }
  require(owner != none, "a page is posted that nobody owns");
  co_await push_mail(t, owner, page);
  if (is(Mistake::poster_serves_nobody)) co_return;
  scope.again(owner);
  co_await t.step();
  if (t.saw(record_of(owner).state) == RecordState::orphan) co_await serve(t, owner);
}

// push_mail
Task<void> Run::push_mail(Thread& t, Byte owner, Byte page) {
  Scope scope(t);
  co_await t.step();
  Byte first = record_of(owner).mail;
  for (;;) {
    scope.again(owner * 256u + first);
    at(page).newer = first;
    co_await t.step();
    if (record_of(owner).mail == first) break;
    first = record_of(owner).mail;
  }
  record_of(owner).mail = page;
}

// Orphans::serve
Task<void> Run::serve(Thread& t, Byte record) {
  if (is(Mistake::serve_without_lock)) {
    co_await read_mail(t, record);
    co_return;
  }
  co_await t.wait();
  shared_.lock = t.id;
  if (record_of(record).state == RecordState::orphan || is(Mistake::serve_without_looking)) {
    co_await read_mail(t, record);
  }
  unlock(t);
}

// Orphans::take
Task<void> Run::start(Thread& t) {
  co_await t.wait();
  const Byte orphan = shared_.orphans[0];
  if (orphan != none) {
    erase(shared_.orphans, orphan);
    record_of(orphan).warm = 0;
    record_of(orphan).state = RecordState::live;
    t.record = orphan;
    co_return;
  }
  for (Byte record = 0; record < records_max; ++record) {
    if (record_of(record).state != RecordState::unused) continue;
    record_of(record).state = RecordState::live;
    t.record = record;
    co_return;
  }
  throw Broken("the scenario has more threads than records");
}

// thread_ended and Orphans::give
Task<void> Run::end(Thread& t) {
  Scope scope(t);
  if (t.record == none) co_return;
  const Byte record = t.record;
  co_await t.wait();
  shared_.lock = t.id;
  if (is(Mistake::end_reads_mail_first)) {
    co_await read_mail(t, record);
    co_await t.step();
  }
  record_of(record).warm = 1;
  record_of(record).state = RecordState::orphan;
  t.record = none;
  const bool reads = !is(Mistake::end_reads_mail_first) && !is(Mistake::end_reads_no_mail);
  if (reads) co_await read_mail(t, record);
  co_await settle_queue(t, record);
  push_front(shared_.orphans, record);
  unsigned warm = 0;
  Byte oldest = none;
  for (const Byte orphan : shared_.orphans) {
    if (orphan == none || !record_of(orphan).warm) continue;
    ++warm;
    oldest = orphan;
  }
  if (warm > scenario_.warm_max) {
    t.saw(oldest);
    co_await flush_current_page(t, oldest);
    record_of(oldest).warm = 0;
  }
  unlock(t);
}

// Orphans::adopt_page
Task<Byte> Run::adopt_page(Thread& t) {
  Scope scope(t);
  co_await t.step();
  if (shared_.orphans[0] == none) co_return none;
  co_await t.step();
  if (shared_.lock != none) co_return none;  // try_lock
  shared_.lock = t.id;
  Byte adopted = none;
  for (std::size_t i = 0; i < records_max && adopted == none; ++i) {
    const Byte orphan = shared_.orphans[i];
    if (orphan == none) break;
    for (std::size_t k = 0; k < pages_max && adopted == none; ++k) {
      const Byte page = record_of(orphan).queue[k];
      if (page == none) break;
      scope.again(i * pages_max + k);
      touch(t, page);
      const bool opened = co_await page_open(t, page);
      if (!opened) continue;
      dequeue(orphan, page);
      adopted = page;
    }
  }
  if (adopted == none) {
    unlock(t);
    co_return none;
  }
  at(adopted).holder = t.record;
  if (is(Mistake::owner_after_unlock)) {
    unlock(t);
    t.saw(adopted);
    co_await t.step();
  }
  at(adopted).owner = t.record;
  make_current(t.record, adopted);
  if (!is(Mistake::owner_after_unlock)) unlock(t);
  co_return scope.result(adopted);
}

// trim and Orphans::trim
Task<void> Run::trim(Thread& t) {
  if (t.record != none) {
    co_await read_mail(t, t.record);
    co_await flush_current_page(t, t.record);
    co_await settle_queue(t, t.record);
  }
  Scope scope(t);
  co_await t.wait();
  shared_.lock = t.id;
  for (std::size_t i = 0; i < records_max && shared_.orphans[i] != none; ++i) {
    scope.again(i);
    co_await read_mail(t, shared_.orphans[i]);
    co_await flush_current_page(t, shared_.orphans[i]);
    co_await settle_queue(t, shared_.orphans[i]);
    record_of(shared_.orphans[i]).warm = 0;
  }
  unlock(t);
}

void Run::make_current(Byte record, Byte page) {
  Page& p = at(page);
  require(p.kept == 0 && !p.queued, "a page is made current that is queued or asleep");
  p.countdown = static_cast<std::int8_t>(p.countdown + 1);
  p.kept = -1;
  if (is(Mistake::threshold_apart)) p.threshold = scenario_.threshold;
  record_of(record).current = page;
}

void Run::unpin(Byte page) {
  Page& p = at(page);
  require(p.kept == -1, "a page is unpinned that was not current");
  p.countdown = static_cast<std::int8_t>(p.countdown - 1);
  p.kept = 0;
}

void Run::enqueue(Byte record, Byte page) {
  if (at(page).queued) return;
  at(page).queued = 1;
  push_back(record_of(record).queue, page);
}

void Run::dequeue(Byte record, Byte page) {
  erase(record_of(record).queue, page);
  at(page).queued = 0;
}

void Run::unlock(Thread& t) {
  require(shared_.lock == t.id, "a lock is released by a thread that does not hold it");
  shared_.lock = none;
}

Byte Run::take_from_hand(Thread& t) {
  auto& hand = shared_.hands[t.id];
  const Byte ref = hand[0];
  if (ref != none) erase(hand, ref);
  return ref;
}

}  // namespace tarn::model
