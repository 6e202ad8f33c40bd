// mixed_blocks: blocks of young heaps, which lie in one span, whatever their classes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/zones/zone.hpp"
#include "heaps/heap/request.hpp"

namespace tarn {

// From the nursery of a heap whose lock is held; `again` when the class, or all, has outgrown it.
// pre: is_in_nursery()
Attempt nursery_allocate(HeapRecord& record, std::size_t size_class,
                         const Request& request) noexcept;

// A block from a nursery that the class has left, when there is no page for it. False: `attempt`
// says what refuses. The calling thread is inside the heap (Visit).
bool nursery_has_room(HeapRecord& record, std::size_t size_class, const Request& request,
                      Attempt& attempt) noexcept;

// Whether the class has no pages of its own yet. Lock held.
inline bool is_in_nursery(const HeapRecord& record, std::size_t size_class) noexcept {
  return record.young.load(std::memory_order_relaxed) && !record.nursery.has_left(size_class);
}

// pre: p is the start of a block
void nursery_free(Page* page, void* p) noexcept;

void nursery_give(Page* page, Zone* zone) noexcept;  // An empty one, to where it came from.
void nursery_retire(HeapRecord& record) noexcept;  // If it is empty. pre: closed
std::size_t nursery_bytes(const Page* page, const void* p) noexcept;  // 0: no block begins there.

}  // namespace tarn
