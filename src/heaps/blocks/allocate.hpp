// allocate: allocating from a heap by its handle. The hit path is inline. Every other path checks
// the handle, passes the gate and tries; when a ceiling refuses, it makes room and tries again.
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

// A block of the class of `page`, a current page of the calling thread that has no block left.
// Null, with nothing done, when that takes more than a refill. The thread is no longer inside the
// heap afterwards. pre: the thread is inside the heap, and found its slot filled
void* refill_inside(Page* page, std::size_t bytes) noexcept;

// As refill_inside(), for any size. `current`: the current pages of the thread heap.
void* heap_allocate_inside(tarn_heap heap, std::size_t bytes, const char* function,
                           Page** current) noexcept;

// `site` is that of the function that this is compiled into.
TARN_INLINE void* heap_allocate(tarn_heap heap, std::size_t bytes, const char* function,
                                const void* site = __builtin_return_address(0),
                                Family family = Family::any) noexcept {
  Thread* const thread = current_thread;
  const HeapSlot& slot = thread->slots[heap.id % heap_slots];
  thread->inside.store(true, std::memory_order_relaxed);
  // The entering thread's membarrier orders the processor (exclusive.hpp); this orders the
  // compiler.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (TARN_LIKELY(slot.id.load(std::memory_order_relaxed) == heap.id)) {
    Page** const current = slot.current;
    if (TARN_LIKELY(bytes <= linear_bytes_max)) {
      Page* const page = current[linear_class_of(bytes)];
      if (TARN_LIKELY(page->free != nullptr)) {
        void* const block = page_pop_unmarked(page);
        thread->inside.store(false, std::memory_order_release);
        return block;
      }
    }
    return heap_allocate_inside(heap, bytes, function, current);
  }
  return heap_allocate_slow(heap,
                            {.bytes = bytes, .function = function, .family = family, .site = site});
}

}  // namespace tarn
