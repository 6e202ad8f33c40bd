// checked_span: see checked_span.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/checked/checked_span.hpp"

#include "engine/records/limits.hpp"
#include "engine/store/store.hpp"
#include "heaps/checked/notes.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

Span* notes_span(const Page* page) noexcept {
  Span* const span = page_map.span_of(page->notes);
  TARN_ASSERT(span->kind_now() == SpanKind::notes && page->kind_now() != SpanKind::lone);
  span->set_kind(SpanKind::large);  // In use by nobody until the store has it.
  return span;
}

}  // namespace

Note* take_notes(std::size_t count) noexcept {
  TARN_ASSERT(count != 0);
  const std::size_t slices = slices_for(count * sizeof(Note));
  Span* const span = store.take(slices, 1);
  if (span == nullptr) return nullptr;
  static_cast<Page*>(span)->set_record(nullptr);
  span->set_kind(SpanKind::notes);
  page_map.set_ends(span);
  return reinterpret_cast<Note*>(span->base);
}

Page* take_charged_span(HeapRecord& record, std::size_t slices, std::size_t alignment,
                        Attempt* failed) noexcept {
  TARN_ASSERT(record.lock.held_by_this_thread() && slices != 0);
  const std::size_t bytes = slices << slice_shift;
  if (HeapRecord* const refused_by = charge(record, bytes)) {
    *failed = {Outcome::refused, nullptr, refused_by};
    return nullptr;
  }
  Span* const span = store.take(slices, alignment);
  if (span == nullptr) {
    cancel_charge(record, bytes);
    *failed = {Outcome::out_of_memory, nullptr, nullptr};
    return nullptr;
  }
  auto* const page = static_cast<Page*>(span);
  page->owner.store(nullptr, std::memory_order_relaxed);
  page->set_record(&record);
  record.checks->charged += bytes;
  record.checks->spans.push_front(span);
  return page;
}

void give_charged_span(HeapRecord& record, Page* page) noexcept {
  Checks& checks = *record.checks;
  TARN_ASSERT(record.lock.held_by_this_thread() && page->record_now() == &record);
  TARN_ASSERT(checks.charged >= page->bytes());
  // First: what the child of a fork finds to be the heap's has to be charged.
  page->set_kind(SpanKind::large);  // In use by nobody until the store has it.
  page->set_record(nullptr);
  TARN_FORK_FENCE();
  checks.spans.remove(page);
  checks.charged -= page->bytes();
  if (!checks.deleted) uncharge(record, page->bytes());
  page_map.clear(page->base, page->slices);
  store.give(page);
}

void free_place(HeapRecord& record, Page* page, const Place& place) noexcept {
  TARN_ASSERT(record.lock.held_by_this_thread() && is_checked(page->kind_now()));
  if (page->kind_now() == SpanKind::lone) {
    auto* const note = static_cast<LoneNote*>(place.note);
    give_charged_span(record, page);
    return notes.give(*note);
  }
  TARN_ASSERT(page->countdown != 0 && page->countdown <= page->carved);
  place.note->set_state(NoteState::freed);
  place.note->next = reinterpret_cast<std::byte*>(static_cast<Block*>(page->local_free));
  page->local_free = reinterpret_cast<Block*>(place.start);
  if (!page->queued) {
    record.checks->classes[page->size_class].roomy.push_back(page);
    page->queued = true;
  }
  if (--page->countdown == 0 && !empty_stays(record, page->bytes())) give_checked(record, page);
}

void give_checked(HeapRecord& record, Page* page) noexcept {
  PlaceClass& places = record.checks->classes[page->size_class];
  TARN_ASSERT(page->countdown == 0 && page->live_seen == 0 && page->queued);
  TARN_ASSERT(places.slices >= page->slices);
  places.roomy.remove(page);  // An empty span has room.
  places.slices -= page->slices;
  Span* const its_notes = notes_span(page);
  give_charged_span(record, page);
  page_map.clear_ends(its_notes->base, its_notes->slices);
  store.give(its_notes);
}

Span* chain_checked(Page* page, Span* chain) noexcept {
  TARN_ASSERT(page->kind_now() == SpanKind::checked);
  page->set_kind(SpanKind::large);
  page->set_record(nullptr);
  TARN_FORK_FENCE();
  Span* const its_notes = notes_span(page);
  its_notes->next = chain;
  page->next = its_notes;
  return page;
}

Span* chain_lone(Page* page, Span* chain) noexcept {
  TARN_ASSERT(page->kind_now() == SpanKind::lone);
  page->set_kind(SpanKind::large);
  page->set_record(nullptr);
  TARN_FORK_FENCE();
  notes.give(*static_cast<LoneNote*>(page->notes));
  page->next = chain;
  return page;
}

}  // namespace tarn
