// heap_large: see heap_large.hpp.
//
// SPDX-License-Identifier: MIT
#include "heap/heap_large.hpp"

#include "heap/closing.hpp"
#include "heap/large.hpp"
#include "heap/limits.hpp"
#include "heap/process.hpp"
#include "source/store.hpp"

namespace tarn {

Attempt heap_large_allocate(HeapRecord& record, const Request& request) noexcept {
  if (request.bytes > request_bytes_max) return {Outcome::out_of_memory, nullptr, nullptr};
  const std::size_t slices = request.bytes == 0 ? 1 : slices_for(request.bytes);
  if (HeapRecord* const refused_by = charge(record, slices << slice_shift)) {
    return {Outcome::refused, nullptr, refused_by};
  }
  Span* const span = large_take(request.bytes, request.alignment);
  if (span == nullptr) {
    cancel_charge(record, slices << slice_shift);
    return {Outcome::out_of_memory, nullptr, nullptr};
  }
  static_cast<Page*>(span)->set_record(&record);
  {
    os::Locked locked(record.lock);
    if (!closed_by_another(record)) {
      record.large.push_front(span);
      return {Outcome::done, span->base, nullptr, span->zeroed};
    }
  }
  large_give(span);
  cancel_charge(record, slices << slice_shift);
  return {Outcome::again, nullptr, nullptr};
}

void heap_large_free(Span* span) noexcept {
  auto* const page = static_cast<Page*>(span);
  {
    const LockedOpen open([&] { return page->record_now(); });
    HeapRecord& record = open.record();
    if (&record != &main_record) {  // Else the heap was deleted meanwhile.
      record.large.remove(span);
      uncharge(record, span->bytes());
    }
  }
  large_give(span);
}

namespace {

// Lock held.
bool resize_locked(HeapRecord& record, Span* span, std::size_t bytes, bool may_move) noexcept {
  const std::size_t before = span->bytes();
  const std::size_t wanted = slices_for(bytes) << slice_shift;
  if (wanted > before && charge(record, wanted - before) != nullptr) return false;
  bool resized = large_resize(span, wanted >> slice_shift);
  if (!resized && may_move) resized = large_remap(span, wanted >> slice_shift);
  const std::size_t now = span->bytes();
  if (wanted > before && !resized) cancel_charge(record, wanted - before);
  if (now < before) uncharge(record, before - now);
  return resized;
}

}  // namespace

bool heap_large_resize(Span* span, std::size_t bytes, bool may_move) noexcept {
  if (bytes > request_bytes_max) return false;
  auto* const page = static_cast<Page*>(span);
  HeapRecord* record = nullptr;
  bool resized = false;
  {
    const LockedOpen open([&] { return page->record_now(); });
    record = &open.record();
    resized = record == &main_record ? large_resize(span, slices_for(bytes))
                                     : resize_locked(*record, span, bytes, may_move);
  }
  if (resized) call_due_marks(*record);
  return resized;
}

}  // namespace tarn
