// live_bytes: how many bytes of a heap are in use, as far as its threads have told, and the most
// that it ever was. Hit paths tell nothing: a thread heap adds up what its slow paths find on the
// pages that they visit, and tells its heap now and then.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "engine/records/record.hpp"
#include "engine/records/thread.hpp"

namespace tarn {

// Adds bytes of blocks that were allocated (> 0) or freed (< 0). Any thread.
void add_live(HeapRecord& record, std::int64_t bytes) noexcept;

// Raises the peak to a number of bytes that the heap was seen to have.
void raise_live_peak(HeapRecord& record, std::uint64_t bytes) noexcept;

// Adds what the thread heap knows to its heap's total, and now and then to the process's. Before
// that sets a new peak of the heap, the pages are looked at, once for each eighth that the total
// grows. Owner.
void tell_live(ThreadHeap& heap) noexcept;

// As tell_live(), but nothing is left untold. Owner.
void publish_live(ThreadHeap& heap) noexcept;

// Notes that a page of the thread heap has `live` blocks. Owner.
inline void note_live(ThreadHeap& heap, Page& page, std::uint32_t live) noexcept {
  heap.live_delta += (std::int64_t{live} - std::int64_t{page.live_seen}) * page.block_bytes;
  page.live_seen = live;
  if (heap.live_delta > heap.live_delta_max || heap.live_delta < -heap.live_delta_max) {
    tell_live(heap);
  }
}

}  // namespace tarn
