// registry_fork: heaps in the child of a fork. The child has one thread, and the threads' records
// are in order already: those that were not busy are orphans, the others lost.
//
// SPDX-License-Identifier: MIT
#include "heap/orphans.hpp"
#include "heap/registry.hpp"
#include "source/store.hpp"

namespace tarn {

namespace {

// The heap forgets the share, and the share's pages their thread.
void lose(const ThreadHeap& share) noexcept {
  store.for_each_span([&](Span* span) noexcept {
    auto* const page = static_cast<Page*>(span);
    if (span->kind_now() != SpanKind::page || page->heap != &share) return;
    page->owner.store(&lost_owner, std::memory_order_relaxed);
    page->remote.store(Remote::empty(RemoteState::open).word, std::memory_order_relaxed);
  });
}

void lose_all(HeapRecord& record) noexcept {
  for (ThreadHeap* h = record.thread_heaps; h != nullptr; h = h->next_of_record) lose(*h);
  record.thread_heaps.store(nullptr, std::memory_order_relaxed);
  record.large.abandon();
  record.nursery.clear();
  record.young.store(true, std::memory_order_relaxed);
}

// The list may have been half-changed: it is made again, from the descriptors.
void find_large_blocks(HeapRecord& record) noexcept {
  record.large.abandon();
  store.for_each_span([&](Span* span) noexcept {
    auto* const page = static_cast<Page*>(span);
    if (span->kind_now() == SpanKind::large && page->record == &record &&
        page_map.span_of(span->base) == span) {
      record.large.push_front(span);
    }
  });
}

// pre: another thread held its lock, or had it closed.
void repair(HeapRecord& record, bool lock_was_held) noexcept {
  if (record.losing || (lock_was_held && record.threads == HeapThreads::serialised)) {
    lose_all(record);
  } else if (lock_was_held) {
    find_large_blocks(record);
  }
  record.losing = record.walking = false;
  record.closed.store(false, std::memory_order_relaxed);
}

}  // namespace

// From the records' own words: which are in use, and what shares they have.
void Registry::rebuild() noexcept {
  live_.abandon();
  spare_.abandon();
  spare_shares_ = nullptr;
  for (Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) t->heaps.abandon();
  for (HeapRecord* r = known_.load(std::memory_order_relaxed); r != nullptr; r = r->next_known) {
    if (r->id.load(std::memory_order_relaxed) == 0) {
      if (r->gone && r->children == 0) spare_.push_back(r);
      continue;
    }
    live_.push_front(r);
    for (ThreadHeap* h = r->thread_heaps; h != nullptr; h = h->next_of_record) {
      if (h->thread == &locked_owner) continue;
      h->thread->heaps.push_front(h);
    }
  }
}

void Registry::recover_after_fork() noexcept {
  main_record.lock.recover_after_fork();
  if (lock_.recover_after_fork()) rebuild();
  for (HeapRecord* r = known_.load(std::memory_order_relaxed); r != nullptr; r = r->next_known) {
    const bool was_closed = r->gate.recover_after_fork();
    const bool lock_was_held = r->lock.recover_after_fork();
    if (was_closed || lock_was_held) repair(*r, lock_was_held);
  }
}

}  // namespace tarn
