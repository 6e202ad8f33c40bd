// mixed_blocks: blocks of young heaps, which lie in one span, whatever their classes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/zones/zone.hpp"
#include "heaps/heap/request.hpp"

namespace tarn {

// From the mixed page of a heap whose lock is held; `again` when the class, or all, has outgrown
// it. pre: is_in_mixed_page()
Attempt mixed_allocate(HeapRecord& record, std::size_t size_class,
                         const Request& request) noexcept;

// A block from a mixed page that the class has left, when there is no page for it. False: `attempt`
// says what refuses. The calling thread is inside the heap (Visit).
bool mixed_has_room(HeapRecord& record, std::size_t size_class, const Request& request,
                      Attempt& attempt) noexcept;

// Whether the class has no pages of its own yet. Lock held.
inline bool is_in_mixed_page(const HeapRecord& record, std::size_t size_class) noexcept {
  return record.young.load(std::memory_order_relaxed) && !record.mixed.has_left(size_class);
}

// pre: p is the start of a block
void mixed_free(Page* page, void* p) noexcept;

void mixed_give(Page* page, Zone* zone) noexcept;  // An empty one, to where it came from.
void mixed_retire(HeapRecord& record) noexcept;  // If it is empty. pre: held exclusively
std::size_t mixed_bytes(const Page* page, const void* p) noexcept;  // 0: no block begins there.

}  // namespace tarn
