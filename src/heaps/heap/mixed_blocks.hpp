// mixed_blocks: blocks of young heaps, which lie in one span (the mixed page), whatever their
// classes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/zones/span_source.hpp"
#include "heaps/heap/request.hpp"

namespace tarn {

// Allocates from the mixed page; `again` when the class, or the whole heap, has outgrown it. pre:
// the record's lock is held; is_in_mixed_page()
Attempt mixed_allocate(HeapRecord& record, std::size_t size_class, const Request& request) noexcept;

// Tries a mixed page that the class has left, when there is no page for the class. False: `attempt`
// says what refuses. pre: the calling thread is inside the heap (Visit)
bool mixed_has_room(HeapRecord& record, std::size_t size_class, const Request& request,
                    Attempt& attempt) noexcept;

// True while the class has no pages of its own. pre: the record's lock is held
inline bool is_in_mixed_page(const HeapRecord& record, std::size_t size_class) noexcept {
  return record.young.load(std::memory_order_relaxed) && !record.mixed.has_left(size_class);
}

// pre: p is the start of a block
void mixed_free(Page* page, void* p) noexcept;

// Resizes the block in its place; false when that cannot be, or the page would have to grow. pre: p
// is the start of a block
bool mixed_resize(Page* page, void* p, std::size_t bytes) noexcept;

// Gives an empty mixed page back to where it came from.
void mixed_give(Page* page, SpanSource source) noexcept;
// Gives it back if it is empty. pre: held exclusively
void mixed_retire(HeapRecord& record) noexcept;
std::size_t mixed_bytes(const Page* page, const void* p) noexcept;  // 0: no block begins there.
// True when a block may have begun there, and no live one has the place.
bool mixed_is_free(const Page* page, const void* p) noexcept;

}  // namespace tarn
