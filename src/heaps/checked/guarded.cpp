// guarded: see guarded.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/checked/guarded.hpp"

#include "engine/spans/page_map.hpp"
#include "engine/threads/span_cache.hpp"
#include "heaps/checked/checked.hpp"
#include "heaps/checked/checked_span.hpp"
#include "heaps/checked/guard.hpp"
#include "heaps/checked/notes.hpp"
#include "heaps/checked/places.hpp"
#include "heaps/checked/quarantine.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/os/faults.hpp"
#include "platform/os/vm.hpp"
#include "platform/report/misuse.hpp"
#include "platform/stack/stacks.hpp"

namespace tarn {

namespace {

// A span with its last slice out of reach; null when there is none.
Page* take_guarded(HeapRecord& record, std::size_t slices, std::size_t alignment,
                   Attempt* failed) noexcept {
  Page* page = take_charged_span(record, slices, alignment, failed);
  if (page == nullptr && release_all(record)) {
    page = take_charged_span(record, slices, alignment, failed);
  }
  if (page == nullptr) return nullptr;
  if (os::vm_guard(page->end() - slice_bytes, slice_bytes)) return page;
  give_charged_span(record, page);
  *failed = {Outcome::again, nullptr, nullptr};
  return nullptr;
}

// The span at this address that is guarded or held back; null when there is none. The map leads to
// a span from its first and its last slice; what is in between may be of former ones.
const Page* out_of_reach_around(const void* p) noexcept {
  constexpr std::size_t slices_most = guarded_kept_bytes_max / slice_bytes + 1;
  static_assert(kept_slices_most <= slices_most);
  if (address_of(p) >> address_bits != 0) return nullptr;
  const auto* at = static_cast<const std::byte*>(p);
  for (std::size_t n = 0; n != slices_most && address_of(at) >= slice_bytes; ++n) {
    const auto* const page = static_cast<const Page*>(page_map.span_of(at));
    const SpanKind kind = page->kind_now();
    if ((kind == SpanKind::lone || kind == SpanKind::kept) && page->base <= p && p < page->end()) {
      return kind == SpanKind::kept || page->notes->has(Note::guarded) ? page : nullptr;
    }
    at -= slice_bytes;
  }
  return nullptr;
}

// In a signal handler, without the lock. Notes and records are never given back.
void explain_fault(const os::Fault& fault) noexcept {
  const Page* const page = out_of_reach_around(fault.address);
  const HeapRecord* const record = page == nullptr ? nullptr : page->record_now();
  if (record == nullptr) return;
  const char* const access = fault.access == os::Fault::Access::read    ? "a read"
                             : fault.access == os::Fault::Access::write ? "a write"
                                                                        : "an access";
  const void* const here = stacks.at_stop({fault.pc, fault.sp, fault.fp});
  if (page->kind_now() == SpanKind::kept) {
    return explain_block_fault({.kind = Misuse::use_after_free,
                                .function = access,
                                .p = fault.address,
                                .start = page->base,
                                .bytes = page->requested_now(),
                                .heap_name = record->name,
                                .heap_id = record->id.load(std::memory_order_relaxed),
                                .here = here});
  }
  const Place place = lone_place(page);
  const bool is_live = place.note->state() == NoteState::live;
  if (is_live && fault.address < place.start + place.bytes) return;
  explain_block_fault(block_report(is_live ? Misuse::overrun : Misuse::use_after_free, *record,
                                   place, {access, here}, fault.address));
}

}  // namespace

void explain_out_of_reach() noexcept { os::explain_faults(explain_fault); }

Attempt guarded_allocate(HeapRecord& record, const Request& request) noexcept {
  TARN_ASSERT(record.lock.held_by_this_thread() && is_power_of_two(request.alignment));
  Checks& checks = *record.checks;
  try_unopened();
  bool has_guard = take_guard();
  // Not where all of the heap's would not be enough.
  while (!has_guard && guards_missing() <= checks.kept_guarded && !record.walking) {
    release_oldest(record);
    has_guard = take_guard();
  }
  if (!has_guard) return checked_allocate(record, request);
  LoneNote* const note = notes.take();
  if (note == nullptr) {
    give_guard();
    return {Outcome::out_of_memory, nullptr, nullptr};
  }
  const std::size_t grain = request.alignment < block_align   ? block_align
                            : request.alignment > slice_bytes ? slice_bytes
                                                              : request.alignment;
  const std::size_t bytes = align_up(request.bytes == 0 ? 1 : request.bytes, grain);
  const std::size_t aligned =
      request.alignment <= slice_bytes ? 1 : request.alignment >> slice_shift;
  Attempt failed{};
  Page* const page = take_guarded(record, slices_for(bytes) + 1, aligned, &failed);
  if (page == nullptr) {
    notes.give(*note);
    give_guard();
    // Its guard was refused.
    return failed.outcome == Outcome::again ? checked_allocate(record, request) : failed;
  }
  TARN_ASSERT(page->bytes() >= bytes + slice_bytes);
  return begin_lone(record, page, *note, page->end() - slice_bytes - bytes, request, Note::guarded);
}

}  // namespace tarn
