// places: where blocks that are checked lie, and what is known and counted of them. Checked spans
// have many of one size, lone spans one, perhaps guarded by an inaccessible page.
//
//   checked   | block | canary | block  | canary | ...          place: block and canary
//   lone      | block ........ | canary |
//   guarded  canary | block | canary |  inaccessible  |
//
// The record's lock is held throughout.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/records/record.hpp"
#include "heaps/checked/notes.hpp"
#include "heaps/heap/request.hpp"
#include "platform/base/fill.hpp"
#include "platform/base/list.hpp"
#include "platform/report/misuse.hpp"
#include "tarn/source/mode.hpp"

namespace tarn {

// The checked spans with places of one size.
struct PlaceClass {
  List<Span> roomy;          // Spans with a free place.
  std::uint32_t slices = 0;  // Of all of them.
};

struct Checks {
  Mode mode = Mode::checked;
  bool deleted = false;     // The blocks are malloc's; what they take is no longer charged.
  std::size_t charged = 0;  // The bytes of all spans, or those asked for of the system's malloc.
  List<Span, &Span::next_of_heap, &Span::prev_of_heap> spans{};
  std::array<PlaceClass, class_count> classes{};
  std::byte* oldest_kept = nullptr;  // The blocks in quarantine, linked by their notes.
  std::byte* newest_kept = nullptr;
  std::size_t kept_bytes = 0;      // Of these, as kept_bytes_of() (quarantine.hpp) counts them.
  std::uint32_t kept_guarded = 0;  // How many of the blocks in quarantine are guarded.
  // Notes of blocks of the system's malloc.
  List<LoneNote, &LoneNote::newer, &LoneNote::older> passed{};
  std::uint64_t live_blocks = 0;
  std::uint64_t live_bytes = 0;  // The bytes that were asked for: no more may be used.
  std::uint64_t live_bytes_peak = 0;
  Checks* next_spare = nullptr;
};

// A place and what is known of its block.
struct Place {
  Note* note = nullptr;
  std::byte* start = nullptr;
  std::size_t bytes = 0;  // What follows the requested bytes is the canary.
  std::size_t front = 0;  // The bytes of a canary in front of the block, too.

  // The most bytes that a block may have here: a guarded one needs no canary.
  std::size_t most() const noexcept {
    return note->has(Note::guarded) ? bytes : bytes - canary_bytes;
  }
};

// The place in which p lies; without a note when no place was ever used there.
Place place_around(const Page* page, const void* p) noexcept;

// pre: i < page->carved
Place place_number(const Page* page, std::size_t i) noexcept;
Place lone_place(const Page* page) noexcept;

template <class Visit>
void for_each_place(const Page* page, Visit visit) noexcept {
  if (page->kind_now() == SpanKind::lone) return visit(lone_place(page));
  for (std::size_t i = 0; i < page->carved; ++i) visit(place_number(page, i));
}

void mark_canary(const Place& place, std::size_t requested) noexcept;

// Report damage of a live block, and of one in quarantine.
void verify_live(const HeapRecord& record, const Place& place, const FreeCall& given) noexcept;
void verify_freed(const HeapRecord& record, const Place& place, const FreeCall& given) noexcept;

// Of a note: what the request says of the block.
constexpr unsigned flags_of(const Request& request) noexcept {
  return Note::of_origin(Origin(request.family, request.alignment)) |
         (request.fixed != nullptr ? Note::rounded : 0);
}

// Makes the object as new, but for the mode, whether the heap was deleted, and the peak: these hold
// at any moment.
void forget_all(Checks& checks) noexcept;

// For assertions, in debug builds alone: true when the spans, the notes and the counts of the heap
// agree. Walks all places. pre: the record's lock is held
//
//   places that are not free == live + in quarantine, in each span
//   charged == bytes of all spans + bytes of blocks of the system's malloc
bool places_check(const HeapRecord& record) noexcept;

void count_born(Checks& checks, std::size_t bytes) noexcept;
void count_gone(Checks& checks, std::size_t bytes) noexcept;

// What is known of the block at or in which p lies.
BlockReport block_report(Misuse kind, const HeapRecord& record, const Place& place,
                         const FreeCall& given, const void* p) noexcept;
// Prints it, and ends the process.
[[noreturn]] void report_block(Misuse kind, const HeapRecord& record, const Place& place,
                               const FreeCall& given, const void* p) noexcept;

// Reports a block that the call is not for: it came from another family's functions, or has another
// size.
void require_match(const HeapRecord& record, const Place& place, const FreeCall& given,
                   const void* p) noexcept;

}  // namespace tarn
