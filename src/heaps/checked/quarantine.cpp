// quarantine: see quarantine.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/checked/quarantine.hpp"

#include <algorithm>
#include <cstring>

#include "engine/records/record.hpp"
#include "engine/spans/page_map.hpp"
#include "heaps/checked/checked_span.hpp"
#include "heaps/checked/guard.hpp"
#include "heaps/checked/notes.hpp"
#include "heaps/checked/places.hpp"
#include "platform/base/check.hpp"
#include "platform/base/fill.hpp"

namespace tarn {

namespace {

// The most that a heap has in quarantine. Guarded blocks take no memory then, only addresses and
// mappings. Of the others a large one counts for half of it: it neither drives all small ones out,
// nor is it used again at once.
constexpr std::size_t kept_bytes_max = std::size_t{256} << 10;
constexpr std::size_t counted_bytes_max = kept_bytes_max / 2;
constexpr std::size_t block_kept_max = std::size_t{2} << 20;
constexpr std::uint32_t guarded_kept_max = 1024;

std::size_t bytes_max(const Checks& checks) noexcept {
  return checks.mode == Mode::guarded ? guarded_kept_bytes_max : kept_bytes_max;
}

void enqueue(Checks& checks, const Page* page, const Place& place) noexcept {
  TARN_ASSERT(place.note->state() == NoteState::kept_back);
  TARN_ASSERT((checks.oldest_kept == nullptr) == (checks.newest_kept == nullptr));
  place.note->next = nullptr;
  if (checks.newest_kept == nullptr) {
    checks.oldest_kept = place.start;
  } else {
    place_around(static_cast<Page*>(page_map.span_of(checks.newest_kept)), checks.newest_kept)
        .note->next = place.start;
  }
  checks.newest_kept = place.start;
  checks.kept_bytes += kept_bytes_of(page, place);
  if (place.note->has(Note::guarded)) ++checks.kept_guarded;
}

}  // namespace

std::size_t kept_bytes_of(const Page* page, const Place& place) noexcept {
  const std::size_t bytes = page->kind_now() == SpanKind::lone ? page->bytes() : place.bytes;
  return place.note->has(Note::guarded) ? bytes : std::min(bytes, counted_bytes_max);
}

void keep_back(HeapRecord& record, Page* page, const Place& place) noexcept {
  Checks& checks = *record.checks;
  TARN_ASSERT(record.lock.held_by_this_thread() && page->record_now() == &record);
  TARN_ASSERT(place.note->state() == NoteState::live);
  const bool is_guarded = place.note->has(Note::guarded);
  // In this order for the child of a fork: a block that it finds in quarantine is filled, or out of
  // reach.
  if (is_guarded) {
    place.note->set_state(NoteState::kept_back);
    TARN_FORK_FENCE();
    if (kept_bytes_of(page, place) > bytes_max(checks) || !guarded_close(page)) {
      return give_guarded(record, page);
    }
  } else {
    if (place.bytes > block_kept_max) return free_place(record, page, place);
    place.note->set_state(NoteState::taken);
    TARN_FORK_FENCE();
    memset(place.start, freed_byte, place.bytes);
    TARN_FORK_FENCE();
    place.note->set_state(NoteState::kept_back);
  }
  enqueue(checks, page, place);
  bound_kept(record);
}

void bound_kept(HeapRecord& record) noexcept {
  if (record.walking) return;  // The walk goes along the spans, so none may go.
  const Checks& checks = *record.checks;
  while (checks.kept_bytes > bytes_max(checks) || checks.kept_guarded > guarded_kept_max) {
    release_oldest(record);
  }
  TARN_ASSERT((checks.kept_bytes == 0) == (checks.oldest_kept == nullptr));
}

void release_oldest(HeapRecord& record) noexcept {
  Checks& checks = *record.checks;
  TARN_ASSERT(record.lock.held_by_this_thread() && checks.oldest_kept != nullptr);
  auto* const page = static_cast<Page*>(page_map.span_of(checks.oldest_kept));
  TARN_ASSERT(is_checked(page->kind_now()) && page->record_now() == &record);
  const Place place = place_around(page, checks.oldest_kept);
  const bool is_guarded = place.note->has(Note::guarded);
  verify_freed(record, place, {"free", nullptr});
  checks.oldest_kept = place.note->next;
  if (checks.oldest_kept == nullptr) checks.newest_kept = nullptr;
  TARN_ASSERT(checks.kept_bytes >= kept_bytes_of(page, place));
  checks.kept_bytes -= kept_bytes_of(page, place);
  if (!is_guarded) return free_place(record, page, place);
  TARN_ASSERT(checks.kept_guarded != 0);
  --checks.kept_guarded;
  give_guarded(record, page);
}

bool release_all(HeapRecord& record) noexcept {
  if (record.checks->oldest_kept == nullptr || record.walking) return false;
  while (record.checks->oldest_kept != nullptr) release_oldest(record);
  TARN_ASSERT(record.checks->kept_bytes == 0 && record.checks->kept_guarded == 0);
  TARN_ASSERT_EVERY(16, places_check(record));
  return true;
}

}  // namespace tarn
