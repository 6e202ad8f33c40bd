// checks: heaps that check the use of their blocks (docs/design/modes.md). Here is what the rest of
// the library asks of checked, guarded and passthrough heaps, about one block or about all.
//
//   HeapRecord --checks--> Checks: spans (checked, lone), blocks in quarantine, passed on
//   block --page map--> span --notes--> Note           (of the system's malloc: Passed)
//
// The record's lock guards all of it. No thread owns the spans, so hit paths never see them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/records/record.hpp"
#include "heaps/checked/places.hpp"
#include "heaps/heap/request.hpp"

namespace tarn {

// Makes the object of a heap in one of these modes; null when out of memory.
Checks* checks_make(Mode mode) noexcept;
void checks_give(Checks* checks) noexcept;

// Takes the object from a heap that has ended and has no block any more. pre: it has one
void checks_end(HeapRecord& record) noexcept;

// In the child of a fork: the list of objects that no heap has may be half-changed.
void checks_repair_spare() noexcept;

// False for a mode that does not exist, or that cannot go with these options. Reports it.
bool mode_is_sound(const tarn_heap_options& options) noexcept;
// False for a sound mode that the system cannot give.
bool mode_is_supported(const tarn_heap_options& options) noexcept;

// The calling thread is inside the heap (Visit).
Attempt checks_allocate(HeapRecord& record, const Request& request) noexcept;

// Frees a block. Reports what is no live block, and a block that is damaged. pre: the span's kind
// was a checked one
void checks_free(Page* page, void* p, const FreeCall& given) noexcept;

// Like checks_free(), for a block of the system's malloc. False, with nothing done, when p is no
// such block.
bool checks_free_passed(void* p, const FreeCall& given) noexcept;

// Gives such a block another size; null when a ceiling or the system refuses, nothing has changed
// then. Reports what is no such block.
void* checks_resize_passed(void* p, std::size_t bytes, const FreeCall& given) noexcept;

// The bytes that were asked for. Reports as checks_free().
std::size_t checks_bytes(Page* page, const void* p, const FreeCall& given) noexcept;

// Gives the block another size in its place; false when it has to move.
enum class Resize : std::uint8_t {
  if_near,  // A block that would leave most of its place unused moves.
  if_fits,  // A block that fits into its place stays there.
};
bool checks_resize(Page* page, void* p, std::size_t bytes, const FreeCall& given,
                   Resize how) noexcept;

// True when a live block begins at p. Reports nothing.
bool checks_has(Page* page, const void* p) noexcept;

// Takes all memory of the heap as a chain for the store, no longer charged. Blocks of the system's
// malloc are given back to it. pre: held exclusively
Span* checks_take_all(HeapRecord& record) noexcept;

// Empties the quarantine, and gives back the spans that are empty then, down to the floor. Does
// nothing while another thread holds the heap exclusively.
void checks_collect(HeapRecord& record) noexcept;

// The blocks are malloc's from here on. True when there are none. pre: held exclusively
bool checks_disown(HeapRecord& record) noexcept;

// Reports damage of blocks that are live or in quarantine. pre: held exclusively
void checks_verify(HeapRecord& record, const char* function) noexcept;

// Called after a walk, during which nothing leaves the quarantine.
void checks_finish_walk(HeapRecord& record) noexcept;

void checks_fill_stats(HeapRecord& record, tarn_heap_stats* stats) noexcept;

// In the child of a fork whose other threads may have left the lists half-changed.
void checks_repair(HeapRecord& record) noexcept;

}  // namespace tarn
