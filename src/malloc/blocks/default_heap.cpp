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

void* default_heap_allocate(const Request& request) noexcept {
  TARN_ASSERT(has_default_heap() && default_heap.id != 0 && is_power_of_two(request.alignment));
  Request wanted = request;
  if (!process.remembers_families()) wanted.family = Family::any;
  if (wanted.alignment > block_align || wanted.zero) {
    return heap_allocate_slow(default_heap, wanted);
  }
  return heap_allocate(default_heap, wanted.bytes, wanted.function, wanted.site, wanted.family);
}

tarn_heap heap_set_default(tarn_heap heap) noexcept {
  const tarn_heap before = has_other_default_heap() ? default_heap : main_record.handle();
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
