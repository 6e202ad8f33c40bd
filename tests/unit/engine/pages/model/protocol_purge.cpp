// protocol, the part of src/engine/pages/page_purge.cpp and src/engine/upkeep/idle_purge.cpp:
// pages that are purged in their owner's mail.
//
// SPDX-License-Identifier: MIT
#include "protocol.hpp"

namespace tarn::model {

// is_free: `count` is what others have freed. Any thread.
Task<bool> Run::page_is_free(Thread& t, Byte page, Byte count) {
  Scope scope(t);
  if (is(Mistake::purges_live_blocks)) co_return scope.result(true);
  const Page& p = at(page);
  const bool countdown_first = is(Mistake::purge_reads_kept_last);
  co_await t.step();
  const int first = t.saw(countdown_first ? p.countdown : p.kept);
  co_await t.step();
  const int second = countdown_first ? p.kept : p.countdown;
  co_return scope.result(first + second == count);
}

// page_begin_purge
Task<bool> Run::page_begin_purge(Thread& t, Byte page) {
  Scope scope(t);
  co_await t.step();
  const Word seen = at(page).word;
  t.saw(seen.packed());
  if (seen.state != mailed) co_return scope.result(false);
  bool is_free = true;
  if (!is(Mistake::purge_reads_kept_last)) is_free = co_await page_is_free(t, page, seen.count);
  if (!is_free) co_return scope.result(false);
  co_await t.step();
  if (!(at(page).word == seen)) co_return scope.result(false);
  at(page).word.state = purging;
  if (!is(Mistake::purge_looks_once)) is_free = co_await page_is_free(t, page, seen.count);
  if (is_free) co_return scope.result(true);
  co_await t.step();
  if (is(Mistake::purge_drops_frees)) at(page).word = seen;
  at(page).word.state = mailed;
  co_return scope.result(false);
}

// os::vm_purge and page_end_purge
Task<void> Run::page_end_purge(Thread& t, Byte page) {
  co_await t.step();
  require(at(page).live == 0, "a live block is purged");
  at(page).next.fill(gone);
  co_await t.step();
  require(at(page).word.state == purging, "somebody has used a page that is being purged");
  at(page).word = {purged, at(page).word.count, none, 0};
}

// IdlePurge::purge, at once
Task<void> Run::purge(Thread& t) {
  Scope scope(t);
  for (Byte record = 0; record < records_max; ++record) {
    if (record == t.record) continue;
    scope.again(record);
    co_await t.step();
    if (t.saw(record_of(record).state) == RecordState::live) co_await purge_mail(t, record);
  }
}

// One round for one thread. Pages go back one at a time, the purged ones last.
Task<void> Run::purge_mail(Thread& t, Byte owner) {
  Scope scope(t);
  co_await t.step();
  Byte page = std::exchange(record_of(owner).mail, none);
  if (t.saw(page) == none) co_return;
  Byte taken = none;
  while (page != none) {
    scope.again(page * 256u + taken);
    co_await t.step();
    const Byte next = t.saw(at(page).newer);
    const bool free = co_await page_begin_purge(t, page);
    if (free) {
      at(page).newer = taken;
      taken = page;
    } else if (!is(Mistake::purger_keeps_mail)) {
      co_await push_mail(t, owner, page);
    }
    page = next;
  }
  while (taken != none) {
    scope.again(taken);
    const Byte next = t.saw(at(taken).newer);
    co_await page_end_purge(t, taken);
    co_await push_mail(t, owner, taken);
    taken = next;
  }
  if (is(Mistake::purger_serves_nobody)) co_return;
  scope.again(owner);
  co_await t.step();
  if (t.saw(record_of(owner).state) == RecordState::orphan) co_await serve(t, owner);
}

}  // namespace tarn::model
