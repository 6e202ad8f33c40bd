// checked: places of one size in checked spans, and lone spans for what is larger: see places.hpp.
//
// SPDX-License-Identifier: MIT
#include <cstring>
#include <new>

#include "base/fill.hpp"
#include "heap/checks.hpp"
#include "heap/limits.hpp"
#include "heap/shares.hpp"
#include "heap/totals.hpp"
#include "layout/page_plan.hpp"
#include "source/store.hpp"

namespace tarn {

namespace {

// The class of places for a request; class_count when its span is its own.
std::size_t place_class_for(const Request& request) noexcept {
  if (request.bytes > block_bytes_max - canary_bytes_min || request.alignment > slice_bytes) {
    return class_count;
  }
  const std::size_t bytes = request.bytes + canary_bytes_min;
  return request.alignment <= block_align ? class_of(bytes)
                                          : aligned_class_of(bytes, request.alignment);
}

Note* take_notes(std::size_t count) noexcept {
  const std::size_t slices = slices_for(count * sizeof(Note));
  Span* const span = store.take(slices, 1);
  if (span == nullptr) return nullptr;
  static_cast<Page*>(span)->set_record(nullptr);
  span->set_kind(SpanKind::notes);
  page_map.set_ends(span);
  return reinterpret_cast<Note*>(span->base);
}

Span* notes_span(const Page* page) noexcept {
  Span* const span = page_map.span_of(page->notes);
  span->set_kind(SpanKind::large);  // In use by nobody until the store has it.
  return span;
}

Page* make_checked(HeapRecord& record, std::size_t size_class, Attempt* failed) noexcept {
  PlaceClass& places = record.checks->classes[size_class];
  const std::size_t place_bytes = class_block_bytes[size_class];
  Page* page = take_charged_span(record, page_slices(size_class, places.spans), 1, failed);
  if (page == nullptr) page = take_charged_span(record, slices_for(place_bytes), 1, failed);
  if (page == nullptr) return nullptr;
  page->capacity = static_cast<std::uint32_t>(page->bytes() / place_bytes);
  page->notes = take_notes(page->capacity);
  if (page->notes == nullptr) {
    give_charged_span(record, page);
    *failed = {Outcome::out_of_memory, nullptr, nullptr};
    return nullptr;
  }
  page->local_free = nullptr;
  page->countdown = 0;  // Places that are not free,
  page->live_seen = 0;  // and those that have a live block.
  page->block_bytes = static_cast<std::uint32_t>(place_bytes);
  page->carved = 0;
  page->size_class = static_cast<SizeClass>(size_class);
  page->queued = true;
  TARN_FORK_FENCE();
  page->set_kind(SpanKind::checked);
  page_map.set(page->base, page->slices, page);
  ++places.spans;
  places.roomy.push_back(page);
  return page;
}

// pre: the span has a free place
Place take_place(Checks& checks, Page* page) noexcept {
  Place place;
  Block* const freed = page->local_free;
  if (freed != nullptr) {
    place = place_around(page, freed);
    page->local_free = reinterpret_cast<Block*>(place.note->next);
  } else {
    new (&page->notes[page->carved]) Note;
    TARN_FORK_FENCE();
    place = place_number(page, page->carved++);
  }
  ++page->countdown;
  if (page->local_free == nullptr && page->carved == page->capacity) {
    checks.classes[page->size_class].roomy.remove(page);
    page->queued = false;
  }
  return place;
}

}  // namespace

Page* take_charged_span(HeapRecord& record, std::size_t slices, std::size_t alignment,
                        Attempt* failed) noexcept {
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

Place place_number(const Page* page, std::size_t i) noexcept {
  const std::size_t bytes = page->block_bytes;
  return {&page->notes[i], page->base + i * bytes, bytes};
}

Place lone_place(const Page* page) noexcept {
  auto* const note = static_cast<LoneNote*>(page->notes);
  const std::byte* const end = page->end() - (note->has(Note::guarded) ? slice_bytes : 0);
  return {note, note->start, static_cast<std::size_t>(end - note->start)};
}

Place place_around(const Page* page, const void* p) noexcept {
  if (page->kind_now() == SpanKind::lone) return lone_place(page);
  const std::size_t i = page->offset_of(p) / page->block_bytes;
  return i < page->carved ? place_number(page, i) : Place{};
}

Attempt checked_allocate(HeapRecord& record, const Request& request) noexcept {
  const std::size_t size_class = place_class_for(request);
  if (size_class == class_count) return lone_allocate(record, request);
  Checks& checks = *record.checks;
  List<Span>& roomy = checks.classes[size_class].roomy;
  Attempt failed{};
  while (roomy.empty() && make_checked(record, size_class, &failed) == nullptr) {
    if (!release_all(record)) return failed;
  }
  auto* const page = static_cast<Page*>(roomy.head());
  const Place place = take_place(checks, page);
  ++page->live_seen;
  place.note->allocated_at = request.site;
  place.note->freed_at = nullptr;
  mark_canary(place, request.bytes);
  TARN_FORK_FENCE();
  place.note->set(NoteState::live, request.fixed != nullptr ? Note::rounded : 0, request.bytes);
  count_born(checks, request.bytes);
  shares.count_without_share(request.bytes);
  return {Outcome::done, place.start, nullptr};
}

Attempt lone_allocate(HeapRecord& record, const Request& request) noexcept {
  const std::size_t slices = slices_for(request.bytes + canary_bytes_min);
  const std::size_t aligned =
      request.alignment <= slice_bytes ? 1 : request.alignment >> slice_shift;
  LoneNote* const note = notes.take();
  if (note == nullptr) return {Outcome::out_of_memory, nullptr, nullptr};
  Attempt failed{};
  Page* page = take_charged_span(record, slices, aligned, &failed);
  if (page == nullptr && release_all(record)) {
    page = take_charged_span(record, slices, aligned, &failed);
  }
  if (page == nullptr) {
    notes.give(*note);
    return failed;
  }
  note->start = page->base;
  note->record = &record;
  note->allocated_at = request.site;
  page->notes = note;
  page->live_seen = 1;
  page_map.set_ends(page);
  const bool zeroed = page->zeroed;
  mark_canary(lone_place(page), request.bytes);
  note->set(NoteState::live, request.fixed != nullptr ? Note::rounded : 0, request.bytes);
  TARN_FORK_FENCE();
  page->set_kind(SpanKind::lone);
  count_born(*record.checks, request.bytes);
  totals.add_large(static_cast<std::int64_t>(page->bytes()));
  return {Outcome::done, note->start, nullptr, zeroed};
}

void mark_canary(const Place& place, std::size_t requested) noexcept {
  memset(place.start + requested, canary_byte, place.bytes - requested);
}

void verify_live(const HeapRecord& record, const Place& place, const Given& given) noexcept {
  const std::byte* const end = place.start + place.bytes;
  const std::byte* const other =
      first_other(place.start + place.note->requested(), end, canary_byte);
  if (other != end) report_block(Misuse::overrun, record, place, given, other);
}

void verify_freed(const HeapRecord& record, const Place& place, const Given& given) noexcept {
  if (place.note->has(Note::guarded)) return;  // Whoever had touched it would not have got so far.
  const std::byte* const end = place.start + place.bytes;
  const std::byte* const other = first_other(place.start, end, freed_byte);
  if (other != end) report_block(Misuse::use_after_free, record, place, given, other);
}

void free_place(HeapRecord& record, Page* page, const Place& place) noexcept {
  if (page->kind_now() == SpanKind::lone) {
    auto* const note = static_cast<LoneNote*>(place.note);
    give_charged_span(record, page);
    return notes.give(*note);
  }
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
  places.roomy.remove(page);  // An empty span has room.
  --places.spans;
  Span* const its_notes = notes_span(page);
  give_charged_span(record, page);
  page_map.clear_ends(its_notes->base, its_notes->slices);
  store.give(its_notes);
}

Span* chain_checked(Page* page, Span* chain) noexcept {
  page->set_kind(SpanKind::large);
  page->set_record(nullptr);
  TARN_FORK_FENCE();
  Span* const its_notes = notes_span(page);
  its_notes->next = chain;
  page->next = its_notes;
  return page;
}

Span* chain_lone(Page* page, Span* chain) noexcept {
  page->set_kind(SpanKind::large);
  page->set_record(nullptr);
  TARN_FORK_FENCE();
  notes.give(*static_cast<LoneNote*>(page->notes));
  page->next = chain;
  return page;
}

}  // namespace tarn
