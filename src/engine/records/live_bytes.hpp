// live_bytes: how many bytes of a heap are in use, as far as those that change it have told, and
// the most that it ever was. Hit paths tell nothing: a thread heap adds up what its slow paths find
// on pages that they come to, and tells its heap now and then.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "engine/records/record.hpp"
#include "engine/records/thread.hpp"

namespace tarn {

// Blocks have come (> 0) or gone (< 0). Any thread.
void add_live(HeapRecord& record, std::int64_t bytes) noexcept;

// The heap was seen to have so many.
void raise_live_peak(HeapRecord& record, std::uint64_t bytes) noexcept;

// Tells the thread heap's heap what it knows, and now and then the process. What would be a new
// peak of the heap is made sure of first: the pages are looked at, once for each eighth that the
// total grows. Owner.
void tell_live(ThreadHeap& heap) noexcept;

// As tell_live(), and nothing is left untold. Owner.
void publish_live(ThreadHeap& heap) noexcept;

// A page of the thread heap has `live` blocks. Owner.
inline void note_live(ThreadHeap& heap, Page& page, std::uint32_t live) noexcept {
  heap.live_delta += (std::int64_t{live} - std::int64_t{page.live_seen}) * page.block_bytes;
  page.live_seen = live;
  if (heap.live_delta > heap.live_delta_max || heap.live_delta < -heap.live_delta_max) {
    tell_live(heap);
  }
}

}  // namespace tarn
