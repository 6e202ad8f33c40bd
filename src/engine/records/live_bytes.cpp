// live_bytes: see live_bytes.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/records/live_bytes.hpp"

#include <algorithm>

#include "engine/records/totals.hpp"
#include "platform/base/check.hpp"
#include "platform/base/counter.hpp"

namespace tarn {

namespace {

// A thread heap may know so much more than it has told its heap: this part of what the heap has,
// between live_delta_least and delta_max.
constexpr std::int64_t delta_part = 8;
constexpr std::int64_t delta_max = 32 * 1024;

// Parts of what the heap has: by how much it grows until its pages are looked at again, from the
// first look on and at the least; and how little a look may find, beside the blocks that have just
// been handed to malloc, for the thread heap to be sure.
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
    TARN_ASSERT(page.heap == &heap && page.kind_now() == SpanKind::page);
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

// A thread heap counts blocks as live that were freed on pages to which it has not come since. So
// the pages are looked at before the peak is raised. When there was little to find, what the thread
// heap knows is good until the heap has grown by an eighth. Otherwise it is not, and if there is no
// new peak either, the next look is farther away: a heap at its peak would look for ever.
void tell_live(ThreadHeap& heap) noexcept {
  TARN_ASSERT(heap.record != nullptr && heap.thread != nullptr && heap.look_part > 0);
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
  TARN_ASSERT(heap.live_delta_max >= live_delta_least && heap.live_delta_max <= delta_max);
  heap.process_delta += heap.live_delta;
  heap.live_delta = 0;
  if (heap.process_delta > delta_max || heap.process_delta < -delta_max) tell_process(heap);
}

void publish_live(ThreadHeap& heap) noexcept {
  tell_live(heap);
  tell_process(heap);
  TARN_ASSERT(heap.live_delta == 0 && heap.process_delta == 0);
}

}  // namespace tarn
