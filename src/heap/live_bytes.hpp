// live_bytes: how many bytes of a heap are in use, as far as those that change it have told, and
// the most that it ever was. Hit paths tell nothing: a share adds up what its slow paths find on
// pages that they come to, and tells its heap now and then.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "heap/record.hpp"
#include "heap/thread.hpp"

namespace tarn {

// Blocks have come (> 0) or gone (< 0). Any thread.
void add_live(HeapRecord& record, std::int64_t bytes) noexcept;

// The heap was seen to have so many.
void raise_live_peak(HeapRecord& record, std::uint64_t bytes) noexcept;

// Adds what the share knows to the totals of its heap and of the process. What would be a new peak
// is made sure of first: pages that the share has not come to since they lost blocks are looked at,
// once for each eighth that the total grows. Owner.
void publish_live(ThreadHeap& heap) noexcept;

// A page of the share has `live` blocks. Owner.
inline void note_live(ThreadHeap& heap, Page& page, std::uint32_t live) noexcept {
  heap.live_delta += (std::int64_t{live} - std::int64_t{page.live_seen}) * page.block_bytes;
  page.live_seen = live;
  if (heap.live_delta > heap.live_delta_max || heap.live_delta < -heap.live_delta_max) {
    publish_live(heap);
  }
}

}  // namespace tarn
