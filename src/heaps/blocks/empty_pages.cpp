// empty_pages: see empty_pages.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/blocks/empty_pages.hpp"

#include "engine/records/gate.hpp"
#include "engine/records/thread_heaps.hpp"
#include "engine/threads/exclusive_pages.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/heap/exclusive.hpp"
#include "heaps/heap/mixed_blocks.hpp"
#include "heaps/heap/registry.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

std::size_t give_empty_pages_held(HeapRecord& record, KeepEmpty kept) noexcept {
  TARN_ASSERT(exclusive_to_this_thread(record) && &record != &main_record);
  Limits& limits = record.limits;
  const std::size_t wanted = limits.floor_wanted.load(std::memory_order_relaxed);
  limits.floor.store(kept.floor && wanted > kept.bytes ? wanted : kept.bytes,
                     std::memory_order_relaxed);
  const std::size_t before = limits.committed.load(std::memory_order_relaxed);
  flush_thread_heaps_at_hand(record);
  for (ThreadHeap* h = record.first_thread_heap; h != nullptr; h = h->next_of_record) {
    if (h->thread == current_thread || h->thread == &locked_owner || is_lost(*h)) continue;
    const EditingLists editing_lists(record);
    retire_empty_pages(*h);
  }
  mixed_retire(record);
  if (record.checks != nullptr) checks_collect(record);
  limits.floor.store(wanted, std::memory_order_relaxed);
  const std::size_t now = limits.committed.load(std::memory_order_relaxed);
  return now < before ? before - now : 0;
}

}  // namespace

std::size_t give_empty_pages_and_leave(HeapRecord& record, std::uint64_t id, KeepEmpty kept,
                                       bool* apart) noexcept {
  TARN_ASSERT(exclusive_to_this_thread(record) && is_at_rest());
  std::size_t given = 0;
  if (record.id.load(std::memory_order_relaxed) == id && !keeps_off(record)) {
    given = give_empty_pages_held(record, kept);
    if (apart != nullptr) *apart = !record.source.is_store();
  }
  leave_exclusive(record);
  return given;
}

std::size_t give_empty_pages(HeapRecord& record, std::uint64_t id, KeepEmpty kept) noexcept {
  return enter_exclusive_unless_deadlock(record) ? give_empty_pages_and_leave(record, id, kept) : 0;
}

std::size_t heap_give_empty_pages(HeapRecord& record) noexcept {
  TARN_ASSERT(&record != &main_record);
  std::size_t given =
      give_empty_pages(record, record.id.load(std::memory_order_relaxed), {false, 0});
  for (tarn_heap next = registry.next_after({}, &record); next.record != nullptr;
       next = registry.next_after(next, &record)) {
    given += give_empty_pages(*static_cast<HeapRecord*>(next.record), next.id, {false, 0});
  }
  return given;
}

}  // namespace tarn
