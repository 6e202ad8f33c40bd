// heap_large: large blocks of heaps of one's own: spans on the record's list, charged whole.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/records/record.hpp"
#include "heaps/heap/request.hpp"

namespace tarn {

// The calling thread is inside the heap (Visit).
Attempt heap_large_allocate(HeapRecord& record, const Request& request) noexcept;

// Any thread.
void heap_large_free(Span* span) noexcept;

// True when a block of the heap that grows out of its place is best copied to where there is warm
// memory with room (Request::roomy), before page tables are asked: grow_elsewhere() in large.cpp.
// Both places count at once, so not where the heap or one above it has a limit.
bool heap_large_copies(const HeapRecord& record, const Span& span) noexcept;

// Makes the block longer or shorter, in place or, if it may move, by page tables. False when that
// cannot be, or when a ceiling refuses; the block is unchanged then.
bool heap_large_resize(Span* span, std::size_t bytes, bool may_move) noexcept;

}  // namespace tarn
