// lookup: from a block, or an address, to the heap that it is of.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "heap/record.hpp"
#include "heap/thread.hpp"

namespace tarn {

// A zero handle when p is no block's.
tarn_heap heap_of(const void* p) noexcept;

// The heap of a block of the system's malloc. (passthrough.hpp)
HeapRecord* record_of_passed(const void* p) noexcept;

// The heap of a block whose span this is.
inline HeapRecord* record_of(const Span* span, const void* p) noexcept {
  const auto* const page = static_cast<const Page*>(span);
  HeapRecord* record = nullptr;
  if (span->kind_now() == SpanKind::page) {
    record = page->heap_now()->record;
  } else if (span->kind_now() != SpanKind::idle) {
    record = page->record_now();
  } else {
    record = record_of_passed(p);
  }
  // A deleted heap's nursery and what it checks stay with its record; the blocks are malloc's.
  return record->id.load(std::memory_order_relaxed) == 0 ? &main_record : record;
}

}  // namespace tarn
