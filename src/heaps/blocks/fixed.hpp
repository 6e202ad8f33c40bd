// fixed: blocks of one exact size, of a class of the heap's own.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/record.hpp"
#include "engine/records/thread.hpp"

namespace tarn {

// The handle of the heap's blocks of exactly `bytes`; the zero value with errno set on failure.
tarn_fixed heap_fixed(tarn_heap heap, std::size_t bytes, std::size_t alignment) noexcept;

void* fixed_allocate_slow(tarn_fixed fixed, const void* site) noexcept;

// A block when the hit path found none: the class has no page, or its page has no block left. pre:
// as refill_inside()
void* fixed_allocate_inside(tarn_fixed fixed, Page* page) noexcept;

TARN_INLINE void* fixed_allocate(tarn_fixed fixed) noexcept {
  Thread* const thread = current_thread;
  const HeapSlot& slot = thread->slots[fixed.id % heap_slots];
  thread->inside.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (TARN_LIKELY(slot.id.load(std::memory_order_relaxed) == fixed.id)) {
    Page* const page = *slot.current;
    if (TARN_LIKELY(page->free != nullptr)) {
      void* const block = page_pop(page);
      thread->inside.store(false, std::memory_order_release);
      return block;
    }
    return fixed_allocate_inside(fixed, page);
  }
  return fixed_allocate_slow(fixed, __builtin_return_address(0));
}

}  // namespace tarn
