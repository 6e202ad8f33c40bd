// heap_large: see heap_large.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/heap/heap_large.hpp"

#include "engine/records/gate.hpp"
#include "engine/records/limits.hpp"
#include "engine/records/live_bytes.hpp"
#include "engine/threads/span_cache.hpp"
#include "heaps/heap/large.hpp"
#include "heaps/heap/soft_marks.hpp"
#include "heaps/heap/zone_chunks.hpp"
#include "platform/base/check.hpp"
#include "platform/base/fill.hpp"

namespace tarn {

namespace {

// malloc's have no limits, and are on no list.
Attempt allocate_for_main(const Request& request) noexcept {
  void* const block = large_allocate(request.bytes, request.alignment, request.zero);
  if (block == nullptr) return {Outcome::out_of_memory, nullptr, nullptr};
  return {Outcome::done, block, nullptr, request.zero};
}

}  // namespace

Attempt heap_large_allocate(HeapRecord& record, const Request& request) noexcept {
  if (&record == &main_record) return allocate_for_main(request);
  if (request.bytes > request_bytes_max) return {Outcome::out_of_memory, nullptr, nullptr};
  const std::size_t slices = request.bytes == 0 ? 1 : slices_for(request.bytes);
  if (HeapRecord* const refused_by = charge(record, slices << slice_shift)) {
    return {Outcome::refused, nullptr, refused_by};
  }
  Span* const span = large_take(request.bytes, request.alignment, request.zero, record.source,
                                request.roomy ? Fit::roomy : Fit::warm);
  if (span == nullptr) {
    cancel_charge(record, slices << slice_shift);
    return {Outcome::out_of_memory, nullptr, nullptr};
  }
  static_cast<Page*>(span)->set_record(&record);
  {
    os::Locked locked(record.lock);
    if (!exclusive_to_another(record)) {
      TARN_ASSERT(record.id.load(std::memory_order_relaxed) != 0);
      record.large.push_front(span);
      add_live(record, static_cast<std::int64_t>(span->bytes()));
      return {Outcome::done, span->base, nullptr, request.zero};
    }
  }
  large_give(span, record.source);
  cancel_charge(record, slices << slice_shift);
  return {Outcome::again, nullptr, nullptr};
}

bool heap_large_copies(const HeapRecord& record, const Span& span) noexcept {
  return span.kind_now() == SpanKind::large && large_moves(span) && record.source.is_store() &&
         !is_limited(record);
}

void heap_large_free(Span* span) noexcept {
  TARN_ASSERT(span->kind_now() == SpanKind::large);
  auto* const page = static_cast<Page*>(span);
  SpanSource source;  // The store's, where the heap was deleted meanwhile.
  HeapRecord* record = nullptr;
  {
    const LockedPastGate locked([&] { return page->record_now(); });
    record = &locked.record();
    report_if_frozen(*record);
    if (record != &main_record) {
      record->large.remove(span);
      uncharge(*record, span->bytes());
      source = record->source;
    }
    add_live(*record, -static_cast<std::int64_t>(span->bytes()));
  }
  if (record->secret) wipe(span->base, span->bytes());
  const bool is_held = record->hardened && current_thread != no_thread();
  if (is_held && span_cache_hold(*current_thread, span)) return;
  large_give(span, source);
  tend_zone(*record);
}

namespace {

// Lock held.
bool resize_locked(HeapRecord& record, Span* span, std::size_t bytes, bool may_move) noexcept {
  TARN_ASSERT(record.lock.held_by_this_thread() && span->kind_now() == SpanKind::large);
  const std::size_t before = span->bytes();
  const std::size_t wanted = slices_for(bytes) << slice_shift;
  if (wanted > before && charge(record, wanted - before) != nullptr) return false;
  if (record.secret && bytes < before) wipe(span->base + bytes, before - bytes);
  bool resized = large_resize(span, wanted >> slice_shift, record.source);
  if (!resized && may_move && record.source.is_store()) {
    resized = large_remap(span, wanted >> slice_shift);
  }
  const std::size_t now = span->bytes();
  TARN_ASSERT(!resized || now >= bytes);
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
  std::uint64_t due_for = 0;  // The id of the heap, if a soft mark is.
  {
    const LockedPastGate locked([&] { return page->record_now(); });
    record = &locked.record();
    if (is_frozen(*record)) return false;
    resized = record == &main_record ? large_resize(span, slices_for(bytes), {})
                                     : resize_locked(*record, span, bytes, may_move);
    if (resized) page->set_requested(bytes);
    if (resized && soft_marks_due(*record)) due_for = record->handle().id;
  }
  tend_zone(*record);
  if (due_for != 0) call_due_soft_marks(*record, due_for);
  return resized;
}

}  // namespace tarn
