// guarded: each block at the end of OS pages of its own, an inaccessible one behind it. After its
// end no byte can be reached, until it leaves the quarantine.
//
// Each such block takes two mappings, of which a process has 65,530: beyond half of them blocks are
// served as in checked heaps.
//
// SPDX-License-Identifier: MIT
#include <atomic>

#include "base/bits.hpp"
#include "heap/checks.hpp"
#include "heap/limits.hpp"
#include "heap/totals.hpp"
#include "os/vm.hpp"
#include "source/store.hpp"

namespace tarn {

namespace {

constexpr std::uint32_t guarded_blocks_max = 16'384;  // Of all heaps, those kept back too.
std::atomic<std::uint32_t> guarded_blocks{0};

bool take_guard() noexcept {
  if (guarded_blocks.fetch_add(1, std::memory_order_relaxed) < guarded_blocks_max) return true;
  guarded_blocks.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

void give_guard() noexcept { guarded_blocks.fetch_sub(1, std::memory_order_relaxed); }

// Spans that the OS did not open again, linked by next: tried again later.
std::atomic<Span*> unopened{nullptr};

void put_unopened(Span* span) noexcept {
  Span* before = unopened.load(std::memory_order_relaxed);
  do {
    span->next = before;
    // Release: pairs with the exchange below.
  } while (!unopened.compare_exchange_weak(before, span, std::memory_order_release,
                                           std::memory_order_relaxed));
}

void try_unopened() noexcept {
  if (TARN_LIKELY(unopened.load(std::memory_order_relaxed) == nullptr)) return;
  Span* span = unopened.exchange(nullptr, std::memory_order_acquire);
  while (span != nullptr) {
    Span* const next = span->next;
    span->next = nullptr;
    if (os::vm_open(span->base, span->bytes())) {
      store.give(span);
      give_guard();
    } else {
      put_unopened(span);
    }
    span = next;
  }
}

// Its note is spare, and nothing leads to it. False: it waits for a better time.
bool leave(Page* page) noexcept {
  // First: what the child of a fork finds to be the heap's has a note, and is charged.
  page->set_kind(SpanKind::large);
  page->set_record(nullptr);
  TARN_FORK_FENCE();
  notes.give(*static_cast<LoneNote*>(page->notes));
  if (os::vm_open(page->base, page->bytes())) {
    give_guard();
    return true;
  }
  page_map.clear_ends(page->base, page->slices);
  put_unopened(page);
  return false;
}

// A span with its last slice out of reach; null when there is none.
Page* take_guarded(HeapRecord& record, std::size_t slices, std::size_t alignment,
                   Attempt* failed) noexcept {
  Page* page = take_charged_span(record, slices, alignment, failed);
  if (page == nullptr && release_all(record)) {
    page = take_charged_span(record, slices, alignment, failed);
  }
  if (page == nullptr) return nullptr;
  if (os::vm_close(page->end() - slice_bytes, slice_bytes)) return page;
  give_charged_span(record, page);
  *failed = {Outcome::again, nullptr, nullptr};
  return nullptr;
}

}  // namespace

Attempt guarded_allocate(HeapRecord& record, const Request& request) noexcept {
  Checks& checks = *record.checks;
  try_unopened();
  bool has_guard = take_guard();
  while (!has_guard && checks.kept_guarded != 0 && !record.walking) {
    release_oldest(record);
    has_guard = take_guard();
  }
  if (!has_guard) return checked_allocate(record, request);
  LoneNote* const note = notes.take();
  if (note == nullptr) {
    give_guard();
    return {Outcome::out_of_memory, nullptr, nullptr};
  }
  const std::size_t grain = request.alignment < block_align   ? block_align
                            : request.alignment > slice_bytes ? slice_bytes
                                                              : request.alignment;
  const std::size_t bytes = align_up(request.bytes == 0 ? 1 : request.bytes, grain);
  const std::size_t aligned =
      request.alignment <= slice_bytes ? 1 : request.alignment >> slice_shift;
  Attempt failed{};
  Page* const page = take_guarded(record, slices_for(bytes) + 1, aligned, &failed);
  if (page == nullptr) {
    notes.give(*note);
    give_guard();
    // Its guard was refused.
    return failed.outcome == Outcome::again ? checked_allocate(record, request) : failed;
  }
  note->start = page->end() - slice_bytes - bytes;
  note->record = &record;
  note->allocated_at = request.site;
  page->notes = note;
  page->live_seen = 1;
  page_map.set_ends(page);
  const unsigned rounded = request.fixed != nullptr ? Note::rounded : 0;
  note->set(NoteState::live, Note::guarded | rounded, request.bytes);
  const bool zeroed = page->zeroed;
  mark_canary(lone_place(page), request.bytes);
  TARN_FORK_FENCE();
  page->set_kind(SpanKind::lone);
  count_born(checks, request.bytes);
  totals.add_large(static_cast<std::int64_t>(page->bytes()));
  return {Outcome::done, note->start, nullptr, zeroed};
}

bool guarded_close(Page* page) noexcept {
  const std::size_t bytes = page->bytes() - slice_bytes;
  if (!os::vm_close(page->base, bytes)) return false;
  os::vm_purge(page->base, bytes);  // If it is refused, the memory stays taken for so long.
  return true;
}

void give_guarded(HeapRecord& record, Page* page) noexcept {
  Checks& checks = *record.checks;
  const std::size_t bytes = page->bytes();
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
