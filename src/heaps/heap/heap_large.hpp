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

// Longer or shorter, without moving or, if it may move, by page tables; false when that cannot be,
// or a ceiling refuses. The block is then as it was.
bool heap_large_resize(Span* span, std::size_t bytes, bool may_move) noexcept;

}  // namespace tarn
