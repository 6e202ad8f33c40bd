// checked: places of one size in checked spans, and lone spans for what is larger: see places.hpp.
//
// SPDX-License-Identifier: MIT
#include <cstring>
#include <new>

#include "engine/layout/page_plan.hpp"
#include "engine/records/thread_heaps.hpp"
#include "engine/records/totals.hpp"
#include "heaps/checked/checked.hpp"
#include "heaps/checked/checked_span.hpp"
#include "heaps/checked/notes.hpp"
#include "heaps/checked/places.hpp"
#include "heaps/checked/quarantine.hpp"
#include "platform/base/check.hpp"
#include "platform/base/fill.hpp"

namespace tarn {

namespace {

// The class of places for a request; class_count when the block gets a span of its own.
std::size_t place_class_for(const Request& request) noexcept {
  if (request.bytes > block_bytes_max - canary_bytes || request.alignment > slice_bytes) {
    return class_count;
  }
  const std::size_t bytes = request.bytes + canary_bytes;
  return request.alignment <= block_align ? class_of(bytes)
                                          : aligned_class_of(bytes, request.alignment);
}

Page* make_checked(HeapRecord& record, std::size_t size_class, Attempt* failed) noexcept {
  PlaceClass& places = record.checks->classes[size_class];
  const std::size_t place_bytes = class_block_bytes[size_class];
  Page* page = take_charged_span(record, page_slices(size_class, places.slices), 1, failed);
  if (page == nullptr) page = take_charged_span(record, slices_for(place_bytes), 1, failed);
  if (page == nullptr) return nullptr;
  page->capacity = static_cast<std::uint32_t>(page->bytes() / place_bytes);
  TARN_ASSERT(size_class < class_count && page->capacity != 0);
  page->notes = take_notes(page->capacity);
  if (page->notes == nullptr) {
    give_charged_span(record, page);
    *failed = {Outcome::out_of_memory, nullptr, nullptr};
    return nullptr;
  }
  page->local_free = nullptr;
  page->countdown = 0;  // The number of places that are not free.
  page->live_seen = 0;  // The number of places that have a live block.
  page->block_bytes = static_cast<std::uint32_t>(place_bytes);
  page->carved = 0;
  page->size_class = static_cast<SizeClass>(size_class);
  page->queued = true;
  page_map.set(page->base, page->slices, page);
  TARN_FORK_FENCE();  // What the child of a fork finds to be the heap's is found by its blocks.
  page->set_kind(SpanKind::checked);
  places.slices += page->slices;
  places.roomy.push_back(page);
  TARN_ASSERT_EVERY(16, places_check(record));
  return page;
}

// pre: the span has a free place
Place take_place(Checks& checks, Page* page) noexcept {
  TARN_ASSERT(page->queued && page->countdown < page->capacity);
  Place place;
  Block* const freed = page->local_free;
  if (freed != nullptr) {
    place = place_around(page, freed);
    // Spare: a thread vanished in a fork before the place had its first block.
    TARN_ASSERT(place.note != nullptr && (place.note->state() == NoteState::freed ||
                                          place.note->state() == NoteState::spare));
    page->local_free = reinterpret_cast<Block*>(place.note->next);
  } else {
    new (&page->notes[page->carved]) Note;
    TARN_FORK_FENCE();
    place = place_number(page, ++page->carved - 1);
  }
  ++page->countdown;
  if (page->local_free == nullptr && page->carved == page->capacity) {
    checks.classes[page->size_class].roomy.remove(page);
    page->queued = false;
  }
  return place;
}

Attempt lone_allocate(HeapRecord& record, const Request& request) noexcept {
  const std::size_t slices = slices_for(request.bytes + canary_bytes);
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
  return begin_lone(record, page, *note, page->base, request, 0);
}

}  // namespace

Attempt begin_lone(HeapRecord& record, Page* page, LoneNote& note, std::byte* start,
                   const Request& request, unsigned flags) noexcept {
  TARN_ASSERT(page->kind_now() == SpanKind::large && note.state() == NoteState::taken);
  TARN_ASSERT(start >= page->base && request.bytes <= page->bytes());
  note.start = start;
  note.record = &record;
  note.allocated_at = request.site;
  page->notes = &note;
  page->live_seen = 1;
  page_map.set_ends(page);
  const bool zeroed = page->zeroed;
  // The note first: the place ends where its flags say.
  note.set(NoteState::live, flags | flags_of(request), request.bytes);
  mark_canary(lone_place(page), request.bytes);
  TARN_FORK_FENCE();
  page->set_kind(SpanKind::lone);
  count_born(*record.checks, request.bytes);
  totals.add_large(static_cast<std::int64_t>(page->bytes()));
  return {Outcome::done, start, nullptr, zeroed};
}

Attempt checked_allocate(HeapRecord& record, const Request& request) noexcept {
  const std::size_t size_class = place_class_for(request);
  if (size_class == class_count) return lone_allocate(record, request);
  TARN_ASSERT(record.lock.held_by_this_thread());
  Checks& checks = *record.checks;
  List<Span>& roomy = checks.classes[size_class].roomy;
  Attempt failed{};
  while (roomy.empty() && make_checked(record, size_class, &failed) == nullptr) {
    if (!release_all(record)) return failed;
  }
  auto* const page = static_cast<Page*>(roomy.head());
  const Place place = take_place(checks, page);
  TARN_ASSERT(place.bytes >= request.bytes + canary_bytes);
  ++page->live_seen;
  place.note->allocated_at = request.site;
  place.note->freed_at = nullptr;
  mark_canary(place, request.bytes);
  TARN_FORK_FENCE();
  place.note->set(NoteState::live, flags_of(request), request.bytes);
  count_born(checks, request.bytes);
  thread_heaps.count_without_thread_heap(request.bytes);
  return {Outcome::done, place.start, nullptr};
}

}  // namespace tarn
