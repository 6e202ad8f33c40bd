// places: see places.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/checked/places.hpp"

#include "engine/spans/page_map.hpp"
#include "platform/base/check.hpp"
#include "platform/base/fill.hpp"
#include "platform/settings/settings.hpp"

namespace tarn {

namespace {

// Of a guarded block: as much as a program is likely to write in front of it.
constexpr std::size_t front_bytes_max = 64;

}  // namespace

Place place_number(const Page* page, std::size_t i) noexcept {
  TARN_ASSERT(page->kind_now() == SpanKind::checked && i < page->carved);
  const std::size_t bytes = page->block_bytes;
  return {&page->notes[i], page->base + i * bytes, bytes};
}

Place lone_place(const Page* page) noexcept {
  auto* const note = static_cast<LoneNote*>(page->notes);
  const std::byte* const end = page->end() - (note->has(Note::guarded) ? slice_bytes : 0);
  TARN_ASSERT(note->start >= page->base && note->start <= end);
  const auto before = static_cast<std::size_t>(note->start - page->base);
  const std::size_t front = before < front_bytes_max ? before : front_bytes_max;
  return {note, note->start, static_cast<std::size_t>(end - note->start), front};
}

Place place_around(const Page* page, const void* p) noexcept {
  if (page->kind_now() == SpanKind::lone) return lone_place(page);
  TARN_ASSERT(page->block_bytes != 0 && page->carved <= page->capacity);
  const std::size_t i = page->offset_of(p) / page->block_bytes;
  return i < page->carved ? place_number(page, i) : Place{};
}

BlockReport block_report(Misuse kind, const HeapRecord& record, const Place& place,
                         const FreeCall& given, const void* p) noexcept {
  TARN_ASSERT(place.note != nullptr);
  const Note& note = *place.note;
  return {.kind = kind,
          .function = given.function,
          .p = p,
          .start = place.start,
          .bytes = note.requested(),
          .said_bytes = given.bytes,
          .expected = expected_free(note.origin().family()),
          .alignment = note.origin().alignment(),
          .said_alignment = given.origin.alignment(),
          .heap_name = record.name,
          .heap_id = record.id.load(std::memory_order_relaxed),
          .allocated_at = note.allocated_at,
          .freed_at = note.freed_at,
          .here = given.site};
}

void report_block(Misuse kind, const HeapRecord& record, const Place& place, const FreeCall& given,
                  const void* p) noexcept {
  report_block_misuse(block_report(kind, record, place, given, p));
}

namespace {

// True when the program may have asked for `said` bytes. A block of one size knows what was asked
// for only rounded up.
bool is_size(const Note& note, std::size_t said) noexcept {
  const std::size_t requested = note.requested();
  if (said == requested || said == FreeCall::any_bytes) return true;
  if (!note.has(Note::rounded) || said > requested) return false;
  const std::size_t natural = requested & (~requested + 1);
  const std::size_t at_least = said == 0 ? 1 : said;
  return requested - at_least < natural || requested == block_bytes_min;
}

}  // namespace

void require_match(const HeapRecord& record, const Place& place, const FreeCall& given,
                   const void* p) noexcept {
  const Origin origin = place.note->origin();
  if (!Origin::go_together(origin, given.origin)) {
    report_block(Origin::families_go(origin, given.origin) ? Misuse::alignment_mismatch
                                                           : Misuse::mismatched_free,
                 record, place, given, p);
  }
  if (!is_size(*place.note, given.bytes) && settings[Option::check_sizes] != 0) {
    report_block(Misuse::size_mismatch, record, place, given, p);
  }
}

void mark_canary(const Place& place, std::size_t requested) noexcept {
  TARN_ASSERT(requested <= place.bytes);
  write_canary(place.start + requested, place.start + place.bytes);
  write_canary(place.start - place.front, place.start);
}

void verify_live(const HeapRecord& record, const Place& place, const FreeCall& given) noexcept {
  TARN_ASSERT(place.note->state() == NoteState::live);
  TARN_ASSERT(place.note->requested() <= place.bytes);
  const std::byte* const changed =
      first_changed(place.start + place.note->requested(), place.start + place.bytes, canary_byte);
  if (changed != nullptr) report_block(Misuse::overrun, record, place, given, changed);
  const std::byte* const before =
      first_changed(place.start - place.front, place.start, canary_byte);
  if (before != nullptr) report_block(Misuse::underrun, record, place, given, before);
}

void verify_freed(const HeapRecord& record, const Place& place, const FreeCall& given) noexcept {
  TARN_ASSERT(place.note->state() == NoteState::kept_back);
  if (place.note->has(Note::guarded)) return;  // A thread that touched it would have died there.
  const std::byte* const changed =
      first_changed(place.start, place.start + place.bytes, freed_byte);
  if (changed != nullptr) report_block(Misuse::use_after_free, record, place, given, changed);
}

void forget_all(Checks& checks) noexcept {
  checks.spans.abandon();
  checks.passed.abandon();
  checks.classes = {};
  checks.oldest_kept = checks.newest_kept = nullptr;
  checks.kept_bytes = checks.charged = 0;
  checks.kept_guarded = 0;
  checks.live_blocks = checks.live_bytes = 0;
}

void count_born(Checks& checks, std::size_t bytes) noexcept {
  ++checks.live_blocks;
  checks.live_bytes += bytes;
  if (checks.live_bytes > checks.live_bytes_peak) checks.live_bytes_peak = checks.live_bytes;
  TARN_ASSERT(checks.live_bytes >= bytes);
}

void count_gone(Checks& checks, std::size_t bytes) noexcept {
  TARN_ASSERT(checks.live_blocks != 0 && checks.live_bytes >= bytes);
  --checks.live_blocks;
  checks.live_bytes -= bytes;
}

#ifdef TARN_DEBUG

namespace {

struct Tally {
  std::size_t charged = 0;
  std::size_t kept = 0;
  std::size_t kept_guarded = 0;
  std::uint64_t live_blocks = 0;
  std::uint64_t live_bytes = 0;
};

// Adds what is in a span; false when the span and its notes do not agree.
bool add_places(const Page* page, Tally* found) noexcept {
  std::size_t live = 0;
  std::size_t kept = 0;
  for_each_place(page, [&](const Place& place) noexcept {
    const Note& note = *place.note;
    if (note.state() == NoteState::live) {
      ++live;
      found->live_bytes += note.requested();
    }
    if (note.state() == NoteState::kept_back) {
      ++kept;
      found->kept_guarded += note.has(Note::guarded) ? 1 : 0;
    }
  });
  found->charged += page->bytes();
  found->kept += kept;
  found->live_blocks += live;
  if (page->live_seen != live) return false;
  if (page->kind_now() == SpanKind::lone) return live + kept <= 1;
  const bool has_room = page->local_free != nullptr || page->carved < page->capacity;
  return page->countdown == live + kept && page->queued == has_room;
}

// The number of blocks in quarantine, by their links; more than `most`: the chain is damaged.
std::size_t count_kept(const Checks& checks, std::size_t most) noexcept {
  std::size_t count = 0;
  const std::byte* last = nullptr;
  for (std::byte* p = checks.oldest_kept; p != nullptr && count <= most; ++count) {
    const auto* const page = static_cast<const Page*>(page_map.span_of(p));
    if (!is_checked(page->kind_now())) return most + 1;
    const Note* const note = place_around(page, p).note;
    if (note == nullptr || note->state() != NoteState::kept_back) return most + 1;
    last = p;
    p = note->next;
  }
  return last == checks.newest_kept ? count : most + 1;
}

}  // namespace

bool places_check(const HeapRecord& record) noexcept {
  const Checks& checks = *record.checks;
  if (!checks.spans.check() || !checks.passed.check()) return false;
  Tally found;
  for (const Span* s = checks.spans.head(); s != nullptr; s = s->next_of_heap) {
    const auto* const page = static_cast<const Page*>(s);
    if (!is_checked(s->kind_now()) || page->record_now() != &record) return false;
    if (!add_places(page, &found)) return false;
  }
  for (const LoneNote* n = checks.passed.head(); n != nullptr; n = n->newer) {
    if (n->state() != NoteState::live || n->record != &record) return false;
    found.charged += n->requested() == 0 ? 1 : n->requested();
    found.live_bytes += n->requested();
    ++found.live_blocks;
  }
  for (const PlaceClass& places : checks.classes) {
    if (!places.roomy.check()) return false;
  }
  return found.charged == checks.charged && found.live_blocks == checks.live_blocks &&
         found.live_bytes == checks.live_bytes && found.kept_guarded == checks.kept_guarded &&
         count_kept(checks, found.kept) == found.kept;
}

#endif

}  // namespace tarn
