// handle: see handle.hpp.
//
// SPDX-License-Identifier: MIT
#include "heap/handle.hpp"

#include <cerrno>

#include "base/config.hpp"
#include "heap/ended.hpp"
#include "report/report.hpp"

namespace tarn {

HeapRecord* live_record(tarn_heap heap, const char* function) noexcept {
  auto* const record = static_cast<HeapRecord*>(heap.record);
  if (record == nullptr || heap.id == 0) {  // A destroyed heap's record has the id 0, too.
    errno = EINVAL;
    return nullptr;
  }
  if (TARN_LIKELY(record->id.load(std::memory_order_relaxed) == heap.id)) return record;
  char name[TARN_HEAP_NAME_BYTES];
  ended_heaps.name_of(heap.id, name);
  report_ended_heap(function, name, heap.id);
}

}  // namespace tarn
