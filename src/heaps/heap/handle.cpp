// handle: see handle.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/heap/handle.hpp"

#include <cerrno>

#include "engine/records/gate.hpp"
#include "engine/records/thread.hpp"
#include "engine/records/tombstones.hpp"
#include "heaps/heap/exclusive.hpp"
#include "platform/base/check.hpp"
#include "platform/base/config.hpp"
#include "platform/report/misuse.hpp"

namespace tarn {

HeapRecord* live_record(tarn_heap heap, const char* function) noexcept {
  auto* const record = static_cast<HeapRecord*>(heap.record);
  if (record == nullptr || heap.id == 0) {  // A destroyed heap's record has the id 0, too.
    errno = EINVAL;
    return nullptr;
  }
  if (TARN_LIKELY(record->id.load(std::memory_order_relaxed) == heap.id)) return record;
  char name[TARN_HEAP_NAME_BYTES];
  tombstones.name_of(heap.id, name);
  report_ended_heap(function, name, heap.id);
}

HeapRecord* heap_lock(tarn_heap heap, const char* function) noexcept {
  HeapRecord* const record = live_record(heap, function);
  if (record == nullptr || record == &main_record) {
    errno = EINVAL;
    return nullptr;
  }
  enter_exclusive(*record);
  TARN_ASSERT(exclusive_to_this_thread(*record) && is_at_rest());
  if (record->id.load(std::memory_order_relaxed) == heap.id) return record;
  leave_exclusive(*record);
  return live_record(heap, function);  // Ended meanwhile: reports.
}

int heap_set_limit(tarn_heap heap, SetLimit set, std::size_t bytes, const char* function) noexcept {
  HeapRecord* const record = heap_lock(heap, function);
  if (record == nullptr) return -1;
  (record->limits.*set)(bytes);
  leave_exclusive(*record);
  return 0;
}

}  // namespace tarn
