// heaps: what the functions of tarn/heap.h do. The hit path is inline; all others check the handle,
// get past the gate, and try, relieving a ceiling that refuses.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/record.hpp"
#include "heap/request.hpp"
#include "heap/thread.hpp"

namespace tarn {

void* heap_allocate_slow(tarn_heap heap, const Request& request) noexcept;

// A block of the class of `page`, the current one of a share of the calling thread, which has none
// left; null, and nothing done, where that takes more than a refill. pre: the thread is inside the
// heap, and found it open; it is inside no longer afterwards.
void* refill_inside(Page* page, std::size_t bytes) noexcept;

// pre: as above; of any size. `current` are the pages of the thread's share.
void* heap_allocate_inside(tarn_heap heap, std::size_t bytes, const char* function,
                           Page** current) noexcept;

// `site` is that of the function that this is compiled into.
TARN_INLINE void* heap_allocate(tarn_heap heap, std::size_t bytes, const char* function,
                                const void* site = __builtin_return_address(0)) noexcept {
  Thread* const thread = current_thread;
  const HeapSlot& slot = thread->slots[heap.id % heap_slots];
  thread->inside.store(true, std::memory_order_relaxed);
  // The processor's order is the closer's business (closing.hpp), the compiler's is ours.
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

// Blocks of exactly `bytes`; the zero value with errno set when there can be none.
tarn_fixed heap_fixed(tarn_heap heap, std::size_t bytes, std::size_t alignment) noexcept;

void* fixed_allocate_slow(tarn_fixed fixed, const void* site) noexcept;

// pre: as refill_inside(); the class has no page, or one that has no block left.
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

// As realloc for p != null and bytes != 0: in the heap, from whatever heap p is of. A null
// function: for realloc, in p's own heap; if that is deleted meanwhile, p is malloc's.
void* heap_reallocate(tarn_heap heap, void* p, std::size_t bytes, const char* function,
                      const void* site) noexcept;

bool heap_try_expand(void* p, std::size_t bytes) noexcept;

// The zero handle with errno set when it cannot be made.
tarn_heap heap_create(const tarn_heap_options* options) noexcept;

// Ends the heap; its blocks go on as malloc's. False with EINVAL.
bool heap_delete(tarn_heap heap) noexcept;

// False with EBUSY or EINVAL. `ends`: the heap, not only its blocks.
bool heap_clear(tarn_heap heap, bool ends, const char* function) noexcept;

bool heap_stats(tarn_heap heap, tarn_heap_stats* stats) noexcept;

// Closed for the calling thread; null with EINVAL where that cannot be.
HeapRecord* heap_lock(tarn_heap heap, const char* function) noexcept;
bool heap_unlock(tarn_heap heap) noexcept;
int heap_walk(tarn_heap heap, unsigned flags, tarn_heap_visit visit, void* context) noexcept;

// As the functions of tarn/heap.h: -1 with EINVAL as heap_lock.
using SetLimit = void (Limits::*)(std::size_t) noexcept;
int heap_set_limit(tarn_heap heap, SetLimit set, std::size_t bytes, const char* function) noexcept;

int heap_check(tarn_heap heap) noexcept;
int heap_look(tarn_heap heap, const void* p) noexcept;
tarn_heap heap_next(tarn_heap heap) noexcept;
tarn_heap heap_set_default(tarn_heap heap) noexcept;

// A free of a block of a serialised heap. pre: p is the start of a block
void locked_free(Page* page, void* p) noexcept;

}  // namespace tarn
