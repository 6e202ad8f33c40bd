// checks: heaps that look at what is done with their blocks (docs/design/modes.md). Here is what
// the rest of the library asks of checked, guarded and passthrough heaps, of a block or of all.
//
//   HeapRecord --checks--> Checks: spans (checked, lone), blocks kept back, passed on
//   block --page map--> span --notes--> Note           (of the system's malloc: Passed)
//
// Everything is under the record's lock. No thread owns the spans, so hit paths never see them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/records/record.hpp"
#include "heaps/checked/places.hpp"
#include "heaps/heap/request.hpp"
#include "platform/report/report.hpp"

namespace tarn {

// Of a heap in one of these modes; null when out of memory.
Checks* checks_make(Mode mode) noexcept;
void checks_give(Checks* checks) noexcept;

// Takes them from a heap that has ended and has no block any more, if it has any.
void checks_end(HeapRecord& record) noexcept;

// In the child of a fork: what no heap has may be half-changed.
void checks_repair_spare() noexcept;

// False for a mode that there is not, or not with these options.
bool mode_is_sound(const tarn_heap_options& options) noexcept;
// False for a sound mode that the system cannot give.
bool mode_is_supported(const tarn_heap_options& options) noexcept;

// The calling thread is inside the heap (Visit).
Attempt checks_allocate(HeapRecord& record, const Request& request) noexcept;

// They report what is no live block, or damaged. pre: the span's kind was a checked one
void checks_free(Page* page, void* p, const FreeCall& given) noexcept;

// As that, of a block of the system's malloc; false, and nothing done, when p is no such block.
bool checks_free_passed(void* p, const FreeCall& given) noexcept;

// The bytes that were asked for. Reports as checks_free().
std::size_t checks_bytes(Page* page, const void* p, const char* function) noexcept;

// Another size in the block's place; false when it has to move.
enum class Resize : std::uint8_t {
  if_near,  // A block that would leave most of its place unused moves.
  if_fits,  // It stays if it can: there is nowhere to go.
};
bool checks_resize(Page* page, void* p, std::size_t bytes, const char* function,
                   Resize how) noexcept;

// Whether a live block begins at p, without a report.
bool checks_has(Page* page, const void* p) noexcept;

// All memory, as a chain for the store, no longer charged; blocks of the system's malloc are given
// back to it. pre: the heap is closed
Span* checks_take_all(HeapRecord& record) noexcept;

// What is kept back goes, and what is empty then, down to the floor, unless another thread has the
// heap closed.
void checks_collect(HeapRecord& record) noexcept;

// The blocks are malloc's from here on. True when there are none. pre: held exclusively
bool checks_disown(HeapRecord& record) noexcept;

// Reports damage of blocks that are live or kept back. pre: held exclusively
void checks_verify(HeapRecord& record, const char* function) noexcept;

// After a walk, in which nothing goes.
void checks_finish_walk(HeapRecord& record) noexcept;

void checks_fill_stats(HeapRecord& record, tarn_heap_stats* stats) noexcept;

// In the child of a fork whose other threads may have left the lists half-changed.
void checks_repair(HeapRecord& record) noexcept;

}  // namespace tarn
