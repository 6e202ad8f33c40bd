// default_heap: see default_heap.hpp.
//
// SPDX-License-Identifier: MIT
#include "malloc/blocks/default_heap.hpp"

#include "engine/records/thread_default.hpp"
#include "engine/threads/thread_life.hpp"
#include "heaps/blocks/allocate.hpp"
#include "heaps/heap/handle.hpp"
#include "malloc/process/process.hpp"
#include "platform/base/check.hpp"

namespace tarn {

void* default_heap_allocate(const Wish& wish) noexcept {
  TARN_ASSERT(has_default_heap() && default_heap.id != 0 && is_power_of_two(wish.alignment));
  const Family family = process.remembers_families() ? wish.family : Family::any;
  if (wish.alignment <= block_align && !wish.zero) {
    return heap_allocate(default_heap, wish.bytes, "malloc", wish.site, family);
  }
  return heap_allocate_slow(default_heap, {.bytes = wish.bytes,
                                           .alignment = wish.alignment,
                                           .zero = wish.zero,
                                           .function = wish.zero ? "calloc" : "aligned_alloc",
                                           .family = family,
                                           .site = wish.site});
}

tarn_heap heap_set_default(tarn_heap heap) noexcept {
  const tarn_heap before = has_default_heap() ? default_heap : main_record.handle();
  if (heap.record == nullptr || heap.record == &main_record) {
    serve_as_process();
    return before;
  }
  if (live_record(heap, "tarn_heap_set_default") == nullptr) return {};
  // A thread that starts afterwards would reset it.
  if (!thread_is_ending) process.start();
  if (current_thread == no_thread() && !thread_is_ending) thread_start();
  default_heap = heap;
  current_serving = &empty_view;
  return before;
}

}  // namespace tarn
