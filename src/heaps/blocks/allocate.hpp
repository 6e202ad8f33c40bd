// allocate: allocating from a heap of one's own. The hit path is inline; all others check the
// handle, get past the gate, and try, relieving a ceiling that refuses.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/records/record.hpp"
#include "engine/records/thread.hpp"
#include "heaps/heap/request.hpp"

namespace tarn {

void* heap_allocate_slow(tarn_heap heap, const Request& request) noexcept;

// A block of the class of `page`, the current one of a thread heap of the calling thread, which has
// none left; null, and nothing done, where that takes more than a refill. pre: the thread is inside
// the heap, and found it open; it is inside no longer afterwards.
void* refill_inside(Page* page, std::size_t bytes) noexcept;

// pre: as above; of any size. `current` are the pages of the thread heap.
void* heap_allocate_inside(tarn_heap heap, std::size_t bytes, const char* function,
                           Page** current) noexcept;

// `site` is that of the function that this is compiled into.
TARN_INLINE void* heap_allocate(tarn_heap heap, std::size_t bytes, const char* function,
                                const void* site = __builtin_return_address(0)) noexcept {
  Thread* const thread = current_thread;
  const HeapSlot& slot = thread->slots[heap.id % heap_slots];
  thread->inside.store(true, std::memory_order_relaxed);
  // The processor's order is the closer's business (exclusive.hpp), the compiler's is ours.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (TARN_LIKELY(slot.id.load(std::memory_order_relaxed) == heap.id)) {
    Page** const current = slot.current;
    if (TARN_LIKELY(bytes <= linear_bytes_max)) {
      Page* const page = current[linear_class_of(bytes)];
      if (TARN_LIKELY(page->free != nullptr)) {
        void* const block = page_pop(page);
        thread->inside.store(false, std::memory_order_release);
        return block;
      }
    }
    return heap_allocate_inside(heap, bytes, function, current);
  }
  return heap_allocate_slow(heap, {.bytes = bytes, .function = function, .site = site});
}

}  // namespace tarn
