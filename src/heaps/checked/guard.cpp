// guard: see guard.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/checked/guard.hpp"

#include <atomic>

#include "engine/records/limits.hpp"
#include "engine/store/store.hpp"
#include "heaps/checked/notes.hpp"
#include "heaps/checked/places.hpp"
#include "platform/base/check.hpp"
#include "platform/os/vm.hpp"

namespace tarn {

namespace {

// In all heaps, with those in quarantine, where guards take mappings: half of what a process has.
constexpr std::uint32_t guarded_blocks_max = 16'384;
std::atomic<std::uint32_t> guarded_blocks{0};

// Spans that the OS did not open again, linked by next. They are tried again later.
std::atomic<Span*> unopened{nullptr};

// Puts the spans from `first` on in front of the others.
void put_unopened(Span* first) noexcept {
  TARN_ASSERT(first->kind_now() == SpanKind::large && page_map.span_of(first->base) != first);
  Span* before = nullptr;
  // Release: pairs with the exchange below. Usually there are no others.
  if (unopened.compare_exchange_strong(before, first, std::memory_order_release,
                                       std::memory_order_relaxed)) {
    return;
  }
  Span* last = first;
  while (last->next != nullptr) last = last->next;
  do {
    last->next = before;
  } while (!unopened.compare_exchange_weak(before, first, std::memory_order_release,
                                           std::memory_order_relaxed));
}

}  // namespace

bool take_guard() noexcept {
  const bool is_below = guarded_blocks.fetch_add(1, std::memory_order_relaxed) < guarded_blocks_max;
  if (is_below || os::vm_guards_are_markers()) return true;
  guarded_blocks.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

void give_guard() noexcept {
  TARN_ASSERT(guarded_blocks.load(std::memory_order_relaxed) != 0);
  guarded_blocks.fetch_sub(1, std::memory_order_relaxed);
}

std::uint32_t guards_missing() noexcept {
  const std::uint32_t now = guarded_blocks.load(std::memory_order_relaxed);
  return now < guarded_blocks_max ? 1 : now - guarded_blocks_max + 1;
}

void try_unopened() noexcept {
  if (TARN_LIKELY(unopened.load(std::memory_order_relaxed) == nullptr)) return;
  Span* span = unopened.exchange(nullptr, std::memory_order_acquire);
  while (span != nullptr) {
    Span* const next = span->next;
    if (!os::vm_unguard(span->base, span->bytes())) return put_unopened(span);  // With the rest.
    span->next = nullptr;
    store.give(span);
    give_guard();
    span = next;
  }
}

namespace {

// Makes the span nobody's and its note spare, and opens the span. False when the OS refuses that:
// nothing leads to the span then, and it waits for a better time.
bool leave(Page* page) noexcept {
  TARN_ASSERT(page->kind_now() == SpanKind::lone);
  // First: what the child of a fork finds to be the heap's has a note, and is charged.
  page->set_kind(SpanKind::large);
  page->set_record(nullptr);
  TARN_FORK_FENCE();
  notes.give(*static_cast<LoneNote*>(page->notes));
  if (os::vm_unguard(page->base, page->bytes())) {
    give_guard();
    return true;
  }
  page_map.clear_ends(page->base, page->slices);
  page->next = nullptr;
  put_unopened(page);
  return false;
}

}  // namespace

bool guarded_close(Page* page) noexcept {
  TARN_ASSERT(page->kind_now() == SpanKind::lone && page->slices > 1);
  return os::vm_guard(page->base, page->bytes() - slice_bytes);
}

void give_guarded(HeapRecord& record, Page* page) noexcept {
  Checks& checks = *record.checks;
  const std::size_t bytes = page->bytes();
  TARN_ASSERT(record.lock.held_by_this_thread() && page->record_now() == &record);
  TARN_ASSERT(checks.charged >= bytes);
  checks.spans.remove(page);
  checks.charged -= bytes;
  const bool left = leave(page);
  if (!checks.deleted) uncharge(record, bytes);
  if (!left) return;
  page_map.clear_ends(page->base, page->slices);
  store.give(page);
}

Span* chain_guarded(Page* page, Span* chain) noexcept {
  if (!leave(page)) return chain;
  page->next = chain;
  return page;
}

}  // namespace tarn
