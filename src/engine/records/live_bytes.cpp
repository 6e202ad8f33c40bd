// live_bytes: see live_bytes.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/records/live_bytes.hpp"

#include <algorithm>

#include "engine/records/totals.hpp"
#include "platform/base/counter.hpp"

namespace tarn {

namespace {

// What a thread heap may know and its heap not: this part of what the heap has, between
// live_delta_least and delta_max.
constexpr std::int64_t delta_part = 8;
constexpr std::int64_t delta_max = 32 * 1024;

// Parts of what the heap has: by how much it grows until its pages are looked at again, and how
// little a look may find, beside the blocks that have just been handed to malloc.
constexpr std::int64_t look_part_first = 8;
constexpr std::int64_t look_part_least = 2;
constexpr std::int64_t sure_part = 64;

void tell_process(ThreadHeap& heap) noexcept {
  totals.add_live(heap.process_delta);
  heap.process_delta = 0;
}

void look_at_pages(ThreadHeap& heap) noexcept {
  for (Span* s = heap.pages.head(); s != nullptr; s = s->next_of_heap) {
    auto& page = *static_cast<Page*>(s);
    const std::uint32_t live = live_blocks_seen(page);
    heap.live_delta += (std::int64_t{live} - std::int64_t{page.live_seen}) * page.block_bytes;
    page.live_seen = live;
  }
}

}  // namespace

void add_live(HeapRecord& record, std::int64_t bytes) noexcept {
  const std::int64_t now = record.live_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (bytes > 0) raise_to(record.live_bytes_peak, now);
}

void raise_live_peak(HeapRecord& record, std::uint64_t bytes) noexcept {
  raise_to(record.live_bytes_peak, static_cast<std::int64_t>(bytes));
}

// What a thread heap knows is too much by the blocks that were freed on pages which it has not come
// to since. So before the peak is raised the pages are looked at. Where that shows that there was
// little to find, what the thread heap knows is good for the next eighth; else it is not, and if
// there is no new peak either, the next look is farther away: a heap at its peak would look for
// ever.
void tell_live(ThreadHeap& heap) noexcept {
  HeapRecord& record = *heap.record;
  const std::int64_t peak = record.live_bytes_peak.load(std::memory_order_relaxed);
  const std::int64_t before = record.live_bytes.load(std::memory_order_relaxed);
  std::int64_t now = before + heap.live_delta;
  const bool looked = now > peak && now >= heap.look_again_at;
  if (looked) {
    const std::int64_t known = now;
    look_at_pages(heap);
    now = before + heap.live_delta;
    heap.live_is_sure = known - now <= known / sure_part + std::int64_t{slice_bytes};
    heap.look_part = now > peak ? look_part_first : std::max(heap.look_part / 2, look_part_least);
    heap.look_again_at = now + now / heap.look_part;
  }
  heap.live_delta_max = std::clamp(now / delta_part, live_delta_least, delta_max);
  record.live_bytes.fetch_add(heap.live_delta, std::memory_order_relaxed);
  if (looked || heap.live_is_sure) raise_to(record.live_bytes_peak, now);
  heap.process_delta += heap.live_delta;
  heap.live_delta = 0;
  if (heap.process_delta > delta_max || heap.process_delta < -delta_max) tell_process(heap);
}

void publish_live(ThreadHeap& heap) noexcept {
  tell_live(heap);
  tell_process(heap);
}

}  // namespace tarn
