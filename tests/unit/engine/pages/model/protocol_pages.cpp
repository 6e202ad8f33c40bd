// protocol, the half of src/engine/pages: the remote word and who may change it.
//
// SPDX-License-Identifier: MIT
#include "protocol.hpp"

namespace tarn::model {

// page_free_remote, and the call of post that follows in deallocate_slow (malloc/blocks/free.cpp)
// and in give_chain (engine/threads/gathering.cpp). True: post the page.
Task<bool> Run::page_free_remote(Thread& t, Byte page, Byte first, Byte last, Byte added) {
  Scope scope(t);
  co_await t.step();
  Word seen = at(page).word;
  for (;;) {
    scope.again(seen.packed());
    require(seen.state != dead, "the page of a live block is dead");
    require(seen.state != purged, "the page of a live block is purged");
    at(page).next[is(Mistake::chain_drops_rest) ? first : last] = seen.head;
    const auto count = static_cast<Byte>(seen.count + (is(Mistake::chain_counts_one) ? 1 : added));
    bool posts = seen.state == listed && count >= seen.threshold;
    if (is(Mistake::chain_meets_threshold)) {
      posts = seen.state == listed && count == seen.threshold;
    }
    if (seen.state == listed && is(Mistake::threshold_apart)) {
      co_await t.step();
      posts = t.saw(count >= at(page).threshold);
    }
    if (posts && is(Mistake::post_before_swap)) co_await post(t, page, none);
    Byte owner = none;
    if (posts && is(Mistake::owner_before_swap)) owner = t.saw(at(page).owner);
    co_await t.step();
    if (at(page).word == seen) {
      const Byte threshold = posts ? Byte{0} : seen.threshold;
      at(page).word = {posts ? mailed : seen.state, count, first, threshold};
      at(page).live &= static_cast<Byte>(~(1u << first | 1u << last));
      if (posts && is(Mistake::owner_before_swap)) co_await post(t, page, owner);
      co_return scope.result(posts && !is(Mistake::post_before_swap) &&
                             !is(Mistake::owner_before_swap));
    }
    seen = at(page).word;
  }
}

// page_collect_unless_mailed
Task<Word> Run::page_collect_unless_mailed(Thread& t, Byte page, State state) {
  Scope scope(t);
  co_await t.step();
  Word seen = at(page).word;
  for (;;) {
    scope.again(seen.packed());
    if (seen.state == purging && !is(Mistake::collects_purging_page)) {
      scope.result(0);
      co_return Word{};
    }
    const bool stays = in_mail(seen.state) && !is(Mistake::collect_unposts);
    const State in_mail_state = seen.state == mailed_open ? mailed_open : mailed;
    co_await t.step();
    if (at(page).word == seen) {
      at(page).word = {stays ? in_mail_state : state, 0, none, 0};
      if (seen.state == purged) {
        page_renew(page);
        seen = Word{};
      }
      scope.result(seen.packed());
      co_return seen;
    }
    seen = at(page).word;
  }
}

// page_list
Task<bool> Run::page_list(Thread& t, Byte page, Byte threshold) {
  Scope scope(t);
  co_await t.step();
  const Word seen = at(page).word;
  t.saw(seen.packed());
  if (seen.state == purging) co_return scope.result(true);
  if (seen.state == purged) co_return scope.result(false);
  const bool careless = is(Mistake::list_keeps_frees) || is(Mistake::list_forgets_frees);
  if (seen.count != 0 && !careless) co_return scope.result(false);
  if (seen.state == mailed) co_return scope.result(true);
  co_await t.step();
  if (is(Mistake::list_keeps_frees)) {
    at(page).word.state = listed;
    at(page).word.threshold = threshold;
    co_return scope.result(true);
  }
  if (!(at(page).word == seen) && !is(Mistake::list_forgets_frees)) co_return scope.result(false);
  if (seen.state == mailed_open) {
    if (!is(Mistake::sleeps_mailed_open)) at(page).word.state = mailed;
  } else {
    at(page).word = {listed, 0, none, is(Mistake::threshold_apart) ? Byte{0} : threshold};
  }
  co_return scope.result(true);
}

// page_settle
Task<void> Run::page_settle(Thread& t, Byte page, bool received) {
  Scope scope(t);
  Page& p = at(page);
  co_await count_all(t, page);
  for (;;) {
    scope.again(received);
    Word collected;
    if (received) {
      co_await t.step();
      collected = std::exchange(p.word, Word{open, 0, none, 0});
      if (collected.state == purged) {
        page_renew(page);
        collected = Word{};
      }
    } else {
      collected = co_await page_collect_unless_mailed(t, page, open);
    }
    page_attach(page, collected);
    const auto live = static_cast<Byte>(p.live_count());
    const Byte threshold = live > 0 && live < scenario_.threshold ? live : scenario_.threshold;
    if (is(Mistake::threshold_apart)) {
      co_await t.step();
      p.threshold = threshold;
    }
    t.saw(threshold);
    const bool lists = co_await page_list(t, page, threshold);
    if (lists) co_return;
  }
}

// page_open
Task<bool> Run::page_open(Thread& t, Byte page) {
  Scope scope(t);
  co_await t.step();
  Word seen = at(page).word;
  for (;;) {
    scope.again(seen.packed());
    if (in_mail(seen.state) && !is(Mistake::adopts_mailed_page)) co_return scope.result(false);
    co_await t.step();
    if (at(page).word == seen) {
      at(page).word.state = open;
      at(page).word.threshold = 0;
      co_return scope.result(true);
    }
    seen = at(page).word;
  }
}

// page_use
Task<bool> Run::page_use(Thread& t, Byte page) {
  Scope scope(t);
  co_await t.step();
  Word seen = at(page).word;
  for (;;) {
    scope.again(seen.packed());
    if (seen.state == purging && !is(Mistake::uses_purging_page)) co_return scope.result(false);
    if (seen.state == mailed && is(Mistake::use_stays_mailed)) co_return scope.result(true);
    Word used = {in_mail(seen.state) ? mailed_open : open, seen.count, seen.head, 0};
    if (seen.state == purged) used = {mailed_open, 0, none, 0};
    co_await t.step();
    if (at(page).word == seen) {
      at(page).word = used;
      if (seen.state == purged) page_renew(page);
      co_return scope.result(true);
    }
    seen = at(page).word;
  }
}

// page_renew
void Run::page_renew(Byte page) {
  if (is(Mistake::purged_keeps_lists)) return;
  Page& p = at(page);
  p.free = p.local_free = none;
  p.countdown = p.kept = 0;
  p.carved = 0;
}

// page_kill
Task<bool> Run::page_kill(Thread& t, Byte page) {
  co_await t.step();
  Page& p = at(page);
  const bool empty = p.word.state == listed && p.word.count == 0;
  const bool dies = empty || is(Mistake::retire_ignores_mail);
  require(dies || in_mail(p.word.state), "only the mail may keep an empty page alive");
  if (dies) p.word = {dead, 0, none, 0};
  co_return t.saw(dies);
}

// page_give. The memory may be anything's after this.
void Run::page_give(Byte page) {
  const Page& p = at(page);
  require(p.live == 0, "a page is given with blocks that the program has");
  require(p.live_count() == 0 && !p.queued, "a page is given that its owner still counts on");
  require(times_in_mail(page) == 0, "a page is given that is in the mail");
  for (const Record& record : shared_.records) {
    require(record.current != page, "a page is given that is current");
  }
  at(page) = Page{};
}

// page_attach
void Run::page_attach(Byte page, Word collected) {
  Page& p = at(page);
  if (collected.count == 0) return;
  p.countdown = static_cast<std::int8_t>(p.countdown - collected.count);
  Byte last = collected.head;
  unsigned walked = 1;
  while (link(page, last) != none) {
    require(++walked <= collected.count, "the list of remote frees is longer than its count");
    last = link(page, last);
  }
  require(walked == collected.count, "the list of remote frees is shorter than its count");
  p.next[last] = p.local_free;
  p.local_free = collected.head;
}

// A link of a free block, as it lies in memory.
Byte Run::link(Byte page, Byte block) const {
  const Byte next = shared_.pages[page].next[block];
  require(next != gone, "a list leads through memory that has been purged");
  return next;
}

// page_carve, one block at a time.
void Run::carve(Byte page) {
  Page& p = at(page);
  require(p.free == none && p.carved < scenario_.capacity, "nothing to carve");
  p.free = p.carved++;
  p.next[p.free] = none;
}

// The plain fields of a page are for the thread that acts as its owner: the one that has the
// record, or, when that is an orphan, the one that holds the orphans' lock.
void Run::touch(const Thread& t, Byte page) const {
  const Byte holder = shared_.pages[page].holder;
  require(holder != none, "a page that is not in use is touched");
  const RecordState state = shared_.records[holder].state;
  const bool own = t.record == holder && state == RecordState::live;
  const bool acting = shared_.lock == t.id && state == RecordState::orphan;
  require(own || acting, "a page is touched by a thread that does not own it");
}

}  // namespace tarn::model
