// checks_fork: makes a heap's lists and counts again in the child of a fork, from its spans and
// notes. What each of these says is right at any moment, whatever of the lists was half-changed.
//
// SPDX-License-Identifier: MIT
#include <cstring>

#include "engine/store/store.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/checked/notes.hpp"
#include "heaps/checked/passthrough.hpp"
#include "heaps/checked/quarantine.hpp"
#include "platform/base/check.hpp"
#include "platform/base/fill.hpp"

namespace tarn {

namespace {

// Completes the free of a block whose thread vanished meanwhile.
void finish_free(const Place& place) noexcept {
  if (place.note->state() != NoteState::taken) return;
  memset(place.start, freed_byte, place.bytes);
  place.note->set_state(NoteState::kept_back);
}

void append_kept(Checks& checks, Note*& newest, const Place& place) noexcept {
  place.note->next = nullptr;
  (newest == nullptr ? checks.oldest_kept : newest->next) = place.start;
  checks.newest_kept = place.start;
  newest = place.note;
  if (place.note->has(Note::guarded)) ++checks.kept_guarded;
}

void repair_checked(Checks& checks, Page* page, Note*& newest_kept) noexcept {
  page->local_free = nullptr;
  page->countdown = 0;
  page->live_seen = 0;
  page->queued = false;
  for_each_place(page, [&](const Place& place) noexcept {
    finish_free(place);
    const NoteState state = place.note->state();
    if (state == NoteState::live) {
      ++page->live_seen;
      count_born(checks, place.note->requested());
    } else if (state == NoteState::kept_back) {
      append_kept(checks, newest_kept, place);
      checks.kept_bytes += kept_bytes_of(page, place);
    } else {
      place.note->next = reinterpret_cast<std::byte*>(static_cast<Block*>(page->local_free));
      page->local_free = reinterpret_cast<Block*>(place.start);
      return;
    }
    ++page->countdown;
  });
  TARN_ASSERT(page->size_class < class_count && page->countdown <= page->carved);
  PlaceClass& places = checks.classes[page->size_class];
  places.slices += page->slices;
  page->queued = page->local_free != nullptr || page->carved < page->capacity;
  if (page->queued) places.roomy.push_back(page);
}

void repair_lone(Checks& checks, Page* page, Note*& newest_kept) noexcept {
  const Place place = lone_place(page);
  finish_free(place);
  const bool is_live = place.note->state() == NoteState::live;
  page->live_seen = is_live ? 1 : 0;
  if (is_live) return count_born(checks, place.note->requested());
  if (place.note->state() != NoteState::kept_back) return;
  append_kept(checks, newest_kept, place);
  checks.kept_bytes += kept_bytes_of(page, place);
}

}  // namespace

void checks_repair(HeapRecord& record) noexcept {
  Checks& checks = *record.checks;
  forget_all(checks);
  Note* newest_kept = nullptr;
  store.for_each_span([&](Span* span) noexcept {
    auto* const page = static_cast<Page*>(span);
    if (!is_checked(span->kind_now()) || page->record_now() != &record) return;
    checks.spans.push_front(span);
    checks.charged += span->bytes();
    if (span->kind_now() == SpanKind::lone) {
      repair_lone(checks, page, newest_kept);
    } else {
      repair_checked(checks, page, newest_kept);
    }
  });
  notes.for_each([&](LoneNote& note) noexcept {
    if (note.state() != NoteState::live || !note.has(Note::passed)) return;
    if (note.record != &record) return;
    passthrough_restore(note);
    checks.passed.push_front(&note);
    checks.charged += note.requested() == 0 ? 1 : note.requested();
    count_born(checks, note.requested());
  });
  TARN_ASSERT(places_check(record));
}

}  // namespace tarn
