// places: see places.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/checked/places.hpp"

#include <cstring>

#include "platform/base/fill.hpp"

namespace tarn {

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

bool is_size(const Note& note, std::size_t said) noexcept {
  const std::size_t requested = note.requested();
  if (said == requested || said == FreeCall::any_bytes) return true;
  if (!note.has(Note::rounded) || said > requested) return false;
  const std::size_t natural = requested & (~requested + 1);
  const std::size_t at_least = said == 0 ? 1 : said;
  return requested - at_least < natural || requested == block_bytes_min;
}

void report_block(Misuse kind, const HeapRecord& record, const Place& place, const FreeCall& given,
                  const void* p) noexcept {
  const Note& note = *place.note;
  report_block_misuse({.kind = kind,
                       .function = given.function,
                       .p = p,
                       .start = place.start,
                       .bytes = note.requested(),
                       .said_bytes = given.bytes,
                       .heap_name = record.name,
                       .heap_id = record.id.load(std::memory_order_relaxed),
                       .allocated_at = note.allocated_at,
                       .freed_at = note.freed_at,
                       .here = given.site});
}

void mark_canary(const Place& place, std::size_t requested) noexcept {
  memset(place.start + requested, canary_byte, place.bytes - requested);
}

void verify_live(const HeapRecord& record, const Place& place, const FreeCall& given) noexcept {
  const std::byte* const end = place.start + place.bytes;
  const std::byte* const other =
      first_other(place.start + place.note->requested(), end, canary_byte);
  if (other != end) report_block(Misuse::overrun, record, place, given, other);
}

void verify_freed(const HeapRecord& record, const Place& place, const FreeCall& given) noexcept {
  if (place.note->has(Note::guarded)) return;  // Whoever had touched it would not have got so far.
  const std::byte* const end = place.start + place.bytes;
  const std::byte* const other = first_other(place.start, end, freed_byte);
  if (other != end) report_block(Misuse::use_after_free, record, place, given, other);
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
}

void count_gone(Checks& checks, std::size_t bytes) noexcept {
  --checks.live_blocks;
  checks.live_bytes -= bytes;
}

}  // namespace tarn
