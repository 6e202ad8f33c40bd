// guarded: see guarded.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/checked/guarded.hpp"

#include "heaps/checked/checked.hpp"
#include "heaps/checked/checked_span.hpp"
#include "heaps/checked/guard.hpp"
#include "heaps/checked/notes.hpp"
#include "heaps/checked/places.hpp"
#include "heaps/checked/quarantine.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/os/vm.hpp"

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
  if (os::vm_close(page->end() - slice_bytes, slice_bytes)) return page;
  give_charged_span(record, page);
  *failed = {Outcome::again, nullptr, nullptr};
  return nullptr;
}

}  // namespace

Attempt guarded_allocate(HeapRecord& record, const Request& request) noexcept {
  TARN_ASSERT(record.lock.held_by_this_thread() && is_power_of_two(request.alignment));
  Checks& checks = *record.checks;
  try_unopened();
  bool has_guard = take_guard();
  while (!has_guard && checks.kept_guarded != 0 && !record.walking) {
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
