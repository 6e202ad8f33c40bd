// guarded: see guarded.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/checked/guarded.hpp"

#include "engine/spans/page_map.hpp"
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

// The span whose guarded block or guard page is at this address; null when there is none.
const Page* guarded_around(const void* p) noexcept {
  constexpr std::size_t slices_most = guarded_kept_bytes_max / slice_bytes + 1;
  const auto* const page =
      static_cast<const Page*>(page_map.span_around(p, SpanKind::lone, slices_most));
  return page != nullptr && page->notes->has(Note::guarded) ? page : nullptr;
}

// In a signal handler, without the lock. Notes and records are never given back.
void explain_fault(const os::Fault& fault) noexcept {
  const Page* const page = guarded_around(fault.address);
  const HeapRecord* const record = page == nullptr ? nullptr : page->record_now();
  if (record == nullptr) return;
  const Place place = lone_place(page);
  const bool is_live = place.note->state() == NoteState::live;
  if (is_live && fault.address < place.start + place.bytes) return;
  explain_block_fault(block_report(
      is_live ? Misuse::overrun : Misuse::use_after_free, *record, place,
      {os::name_of(fault.access), stacks.at_stop({fault.pc, fault.sp, fault.fp})}, fault.address));
}

}  // namespace

void explain_guarded() noexcept { os::explain_faults(explain_fault); }

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
