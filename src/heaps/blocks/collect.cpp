// collect: see collect.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/blocks/collect.hpp"

#include "engine/records/gate.hpp"
#include "engine/records/shares.hpp"
#include "engine/threads/closed_share.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/heap/exclusive.hpp"
#include "heaps/heap/mixed_blocks.hpp"
#include "heaps/heap/registry.hpp"

namespace tarn {

namespace {

std::size_t collect_closed(HeapRecord& record, Kept kept) noexcept {
  Limits& limits = record.limits;
  const std::size_t wanted = limits.floor_wanted.load(std::memory_order_relaxed);
  limits.floor.store(kept.floor && wanted > kept.bytes ? wanted : kept.bytes,
                     std::memory_order_relaxed);
  const std::size_t before = limits.committed.load(std::memory_order_relaxed);
  put_down_shares_at_hand(record);
  for (ThreadHeap* h = record.thread_heaps; h != nullptr; h = h->next_of_record) {
    if (h->thread == current_thread || h->thread == &locked_owner || is_lost(*h)) continue;
    const Losing losing(record);
    retire_empty_pages(*h);
  }
  nursery_retire(record);
  if (record.checks != nullptr) checks_collect(record);
  limits.floor.store(wanted, std::memory_order_relaxed);
  const std::size_t now = limits.committed.load(std::memory_order_relaxed);
  return now < before ? before - now : 0;
}

}  // namespace

std::size_t collect_and_open(HeapRecord& record, std::uint64_t id, Kept kept,
                             bool* apart) noexcept {
  std::size_t given = 0;
  if (record.id.load(std::memory_order_relaxed) == id && !keeps_off(record)) {
    given = collect_closed(record, kept);
    if (apart != nullptr) *apart = record.zone != nullptr;
  }
  open_heap(record);
  return given;
}

std::size_t collect_heap(HeapRecord& record, std::uint64_t id, Kept kept) noexcept {
  return close_heap_unless_deadlock(record) ? collect_and_open(record, id, kept) : 0;
}

std::size_t heap_collect(HeapRecord& record) noexcept {
  std::size_t given = collect_heap(record, record.id.load(std::memory_order_relaxed), {false, 0});
  for (tarn_heap next = registry.next_after({}, &record); next.record != nullptr;
       next = registry.next_after(next, &record)) {
    given += collect_heap(*static_cast<HeapRecord*>(next.record), next.id, {false, 0});
  }
  return given;
}

}  // namespace tarn
