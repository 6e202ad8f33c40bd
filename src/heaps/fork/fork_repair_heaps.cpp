// fork_repair_heaps: the heaps' part of the repair.
//
// SPDX-License-Identifier: MIT
#include "heaps/fork/fork_repair.hpp"

#include "engine/records/gate.hpp"
#include "engine/records/live_bytes.hpp"
#include "engine/records/thread_heaps.hpp"
#include "engine/records/tombstones.hpp"
#include "engine/store/store.hpp"
#include "engine/threads/exclusive_pages.hpp"
#include "engine/threads/orphans.hpp"
#include "engine/upkeep/idle_purge.hpp"
#include "engine/zones/zone.hpp"
#include "heaps/blocks/lookup.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/checked/notes.hpp"
#include "heaps/checked/passthrough.hpp"
#include "heaps/heap/registry.hpp"
#include "heaps/operations/freeze.hpp"

namespace tarn {

namespace {

// Calls visit(span) for the store's descriptors and those of regions.
template <class Visit>
void for_each_span_anywhere(Visit visit) noexcept {
  store.for_each_span(visit);
  registry.for_each_region_span(visit);
}

// The memory of a secret heap reads as zero in the child, so its free blocks are not linked any
// more: they count as live for good. Blocks that are live can be freed.
void write_off_wiped(HeapRecord& record) noexcept {
  for_each_page(record, [](Page& page) noexcept {
    TARN_ASSERT(page.live() <= page.carved && page.carved <= page.capacity);
    const std::uint32_t free = page.carved - page.live();
    if (page.kept > 0) {
      page.kept += static_cast<std::int32_t>(free);
    } else {
      page.countdown += free;
    }
    page.free = nullptr;
    page.local_free = nullptr;
    page.capacity = page.carved;
    return 0;
  });
}

// Makes the heap forget the thread heap, and the thread heap's pages their thread. Its blocks
// become malloc's.
void lose(ThreadHeap& thread_heap) noexcept {
  TARN_ASSERT(thread_heap.thread != nullptr && thread_heap.record != &main_record);
  std::int64_t live = 0;
  for_each_span_anywhere([&](Span* span) noexcept {
    auto* const page = static_cast<Page*>(span);
    if (span->kind_now() != SpanKind::page || page->heap != &thread_heap) return;
    live += std::int64_t{page->live_seen} * page->block_bytes;
    page->owner.store(&lost_owner, std::memory_order_relaxed);
    page->remote.store(Remote::empty(RemoteState::open).word, std::memory_order_relaxed);
  });
  if (thread_heap.thread != &locked_owner) thread_heap.thread->heaps.remove(&thread_heap);
  add_live(*thread_heap.record, -live);
  add_live(main_record, live);
  thread_heap.record = &main_record;
  forget_pages(thread_heap);
  TARN_ASSERT(serves_nothing(thread_heap) && thread_heap.pages.empty());
}

// Makes the list of large blocks again, from the descriptors: it may have been half-changed.
void find_large_blocks(HeapRecord& record) noexcept {
  TARN_ASSERT(&record != &main_record && record.checks == nullptr);
  record.large.abandon();
  for_each_span_anywhere([&](Span* span) noexcept {
    auto* const page = static_cast<Page*>(span);
    if (span->kind_now() == SpanKind::large && page->record == &record &&
        find_span(span->base) == span) {
      record.large.push_front(span);
    }
  });
}

void lose_thread_heaps(HeapRecord& record) noexcept {
  for (ThreadHeap* h = record.first_thread_heap; h != nullptr;) {
    ThreadHeap& thread_heap = *h;
    h = h->next_of_record;
    lose(thread_heap);
  }
  record.first_thread_heap.store(nullptr, std::memory_order_relaxed);
  record.adopt_next = nullptr;
}

// pre: another thread held the record's lock, or held the heap exclusively
void repair(HeapRecord& record, bool lock_was_held) noexcept {
  if (record.editing_lists || (lock_was_held && record.is_serialised())) {
    lose_thread_heaps(record);
  }
  if (record.checks != nullptr) {
    checks_repair(record);
  } else {
    find_large_blocks(record);
  }
  if (record.mixed.page == nullptr) record.mixed.clear();
  // Not the gate: in the child there is nobody to keep out.
  if (record.frozen.load(std::memory_order_relaxed) == Frozen::changing) thaw(record);
  record.editing_lists = record.walking = false;
  record.limits.set_floor(record.limits.floor_wanted.load(std::memory_order_relaxed));
  record.exclusive.store(false, std::memory_order_relaxed);
  TARN_ASSERT(record.large.check() && record.mixed.check());
}

void count_committed(HeapRecord& record, std::size_t bytes) noexcept {
  for (HeapRecord* r = &record; r != nullptr; r = r->parent) {
    r->limits.committed.fetch_add(bytes, std::memory_order_relaxed);
  }
}

// Counts what is charged anew: what vanished threads were about to take or to give back was charged
// too early or too late. A large span that is not in the page map was on its way, and so was one of
// a checked heap, whose spans are of other kinds.
void recount_committed(HeapRecord* known) noexcept {
  for (HeapRecord* r = known; r != nullptr; r = r->next_known) r->limits.committed = 0;
  for (HeapRecord* r = known; r != nullptr; r = r->next_known) {
    if (r->mixed.page != nullptr) {
      count_committed(*r, std::size_t{r->mixed.slices_charged} << slice_shift);
    }
    if (r->checks != nullptr && !r->checks->deleted) count_committed(*r, r->checks->charged);
  }
  for_each_span_anywhere([&](Span* span) noexcept {
    auto* const page = static_cast<Page*>(span);
    const SpanKind kind = span->kind_now();
    HeapRecord* record = nullptr;
    if (kind == SpanKind::large && find_span(span->base) == span) record = page->record;
    if (kind == SpanKind::page && page->heap != nullptr) record = page->heap->record;
    if (record == nullptr || record == &main_record || record->checks != nullptr) return;
    count_committed(*record, span->bytes());
  });
}

// A thread may have vanished while it was posting a page, or had taken the mail of another thread;
// a thread that ends a heap would wait for such pages for ever. A thread that forked in the middle
// of its work (in a signal handler) goes on with what it has.
void deliver_mail_anew(const Thread* survivor, const Thread* ending) noexcept {
  const auto goes_on = [&](const Thread* t) noexcept {
    return t == ending || (t == survivor && t->busy.load(std::memory_order_relaxed)) ||
           idle_purge.is_in_hand(*t);
  };
  for (Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) {
    if (!goes_on(t)) t->mail.take();
  }
  for_each_span_anywhere([&](Span* span) noexcept {
    auto* const page = static_cast<Page*>(span);
    if (span->kind_now() != SpanKind::page) return;
    const Remote seen{page->remote.load(std::memory_order_relaxed)};
    Thread* const owner = thread_of(*page);
    if (!is_in_mail(seen.state()) || owner == nullptr || goes_on(owner)) return;
    page_repair_purge(page);
    TARN_ASSERT(owner != &frozen_owner && page->heap->thread == owner);
    owner->mail.push(*page, *page);
  });
}

// Makes the lists of records and thread heaps again, which may be half-changed.
void rebuild_lists() noexcept {
  for (Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) t->heaps.abandon();
  registry.rebuild();
  registry.for_each_known(
      [](const HeapRecord& record) noexcept { thread_heaps.list_thread_heaps_of(record); });
  thread_heaps.list_others();
}

// Returns whether this thread is in the middle of its work with the heap (in a signal handler that
// forked): it goes on with what it has.
bool repair_record(HeapRecord& record) noexcept {
  record.visitors.store(0, std::memory_order_relaxed);
  const bool was_exclusive = record.gate.recover_after_fork();
  const bool lock_was_held = record.lock.recover_after_fork();
  TARN_ASSERT(!record.lock.is_held() || record.lock.held_by_this_thread());
  record.source.recover_after_fork();
  if (was_exclusive || lock_was_held) repair(record, lock_was_held);
  const bool at_work = record.lock.held_by_this_thread();
  if (record.secret && !record.source.is_store() && !at_work) write_off_wiped(record);
  return at_work || exclusive_to_this_thread(record);
}

}  // namespace

void repair_heaps(const Thread* survivor, const Thread* ending_thread) noexcept {
  bool at_work_anywhere = survivor->busy.load(std::memory_order_relaxed);
  HeapRecord* known = nullptr;
  main_record.lock.recover_after_fork();
  notes.recover_after_fork();
  passthrough_recover_after_fork();
  checks_repair_spare();
  if (registry.lock().recover_after_fork()) rebuild_lists();
  regions.recover_after_fork();
  tombstones.recover_after_fork();
  registry.for_each_known([&](HeapRecord& record) noexcept {
    if (known == nullptr) known = &record;
    if (repair_record(record)) at_work_anywhere = true;
  });
  const bool mail_in_hands = idle_purge.recover_after_fork();
  if (known != nullptr || mail_in_hands) deliver_mail_anew(survivor, ending_thread);
  if (known == nullptr || at_work_anywhere) return;
  recount_committed(known);
  recount_frozen(known);
}

}  // namespace tarn
