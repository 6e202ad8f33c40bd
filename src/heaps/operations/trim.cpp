// trim: see trim.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/operations/trim.hpp"

#include "engine/records/gate.hpp"
#include "engine/records/thread_heaps.hpp"
#include "engine/threads/ending_threads.hpp"
#include "engine/threads/flush.hpp"
#include "engine/threads/orphan_care.hpp"
#include "engine/threads/thread_life.hpp"
#include "engine/upkeep/idle_purge.hpp"
#include "heaps/blocks/empty_pages.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/heap/exclusive.hpp"
#include "heaps/heap/handle.hpp"
#include "heaps/heap/recovery.hpp"
#include "heaps/heap/registry.hpp"
#include "heaps/heap/zone_chunks.hpp"
#include "platform/os/process.hpp"

namespace tarn {

namespace {

// For heaps that no other thread holds exclusively, as far as the calling thread may: its own
// thread heaps, those of ended threads, and those under a lock.
void trim_heaps() noexcept {
  registry.for_each([](HeapRecord& record) noexcept {
    for (ThreadHeap* h = record.first_thread_heap; h != nullptr; h = h->next_of_record) {
      if (h->thread == current_thread) {
        Busy busy(*current_thread);
        if (!keeps_off(record)) flush_thread_heap(*h);
      } else if (h->thread == &locked_owner) {
        os::Locked locked(record.lock);
        if (!keeps_off(record)) flush_thread_heap(*h);
      } else {
        orphan_tend(*h);
      }
    }
    if (record.checks != nullptr) checks_collect(record);
    record.source.purge(true);
  });
  orphans_tend_left_over();
}

}  // namespace

std::size_t heap_trim(tarn_heap heap, std::size_t keep_bytes) noexcept {
  HeapRecord* const record = live_record(heap, "tarn_heap_trim");
  if (record == nullptr) return 0;
  if (record == &main_record || record->hardened) return trim(keep_bytes);
  if (record->everlasting) give_kept_blocks(true);
  const std::size_t given = give_empty_pages(*record, heap.id, {true, keep_bytes});
  if (!trim_zone(*record, heap.id, true)) live_record(heap, "tarn_heap_trim");  // Reports.
  if (given != 0) store.purge(os::clock_coarse_ms(), 0, 0);
  return given;
}

void thread_idle() noexcept {
  if (current_thread == no_thread()) return;
  const KeptBlocks* const kept = kept_blocks.load(std::memory_order_acquire);
  if (kept != nullptr) kept->give_own();
  Thread& thread = *current_thread;
  Busy busy(thread);
  give_at_hand(thread);
  flush_all(thread);
  flush_left_over(thread);
  thread_heaps.for_each(thread,
                        [](ThreadHeap& thread_heap) noexcept { flush_thread_heap(thread_heap); });
  store.purge_when_due(os::clock_coarse_ms());
}

namespace {

// What nobody else is at work with goes back to the store.
void flush_everywhere() noexcept {
  give_kept_blocks(true);
  if (current_thread != no_thread()) {
    Busy busy(*current_thread);
    give_at_hand(*current_thread);
    flush_all(*current_thread);
    flush_left_over(*current_thread);
  }
  ending_threads.trim();
  orphans_trim();
  trim_heaps();
}

// Empty pages of a heap, those of its other threads too; `waits`: also if one of them keeps it
// locked. What comes from the store goes there, and counts when it leaves it; what else there is
// counts here.
std::size_t give_spare_of(HeapRecord& record, std::uint64_t id, bool waits) noexcept {
  if (!(waits ? enter_exclusive_unless_deadlock(record) : enter_exclusive_soon(record))) return 0;
  bool apart = false;
  const std::size_t given = give_empty_pages_and_leave(record, id, {true, 0}, &apart);
  return apart ? given : 0;
}

}  // namespace

std::size_t trim(std::size_t keep_bytes) noexcept {
  flush_everywhere();
  const std::size_t given = idle_purge.purge(true);
  return given + store.purge(os::clock_coarse_ms(), 0, keep_bytes);
}

std::size_t give_spare(std::size_t wanted) noexcept {
  std::size_t given = 0;
  registry.for_each_known([&](HeapRecord& record) noexcept {
    const std::uint64_t id = record.id.load(std::memory_order_relaxed);
    if (id != 0 && given < wanted) given += give_spare_of(record, id, false);
  });
  if (given >= wanted) return given;
  flush_everywhere();
  given += store.purge_some(os::clock_coarse_ms(), wanted - given);
  return given < wanted ? given + idle_purge.purge(true) : given;
}

std::size_t give_spare_below(HeapRecord& top) noexcept {
  if (top.everlasting) give_kept_blocks(true);
  std::size_t given = give_spare_of(top, top.id.load(std::memory_order_relaxed), true);
  for (tarn_heap next = registry.next_after({}, &top); next.record != nullptr;
       next = registry.next_after(next, &top)) {
    given += give_spare_of(*static_cast<HeapRecord*>(next.record), next.id, true);
  }
  return given + store.purge(os::clock_coarse_ms(), 0, 0);
}

void relieve_pressure() noexcept {
  const std::size_t wanted = store.totals().committed_bytes / 8;
  const std::size_t given = trim(0);
  const RecoveryHooks* const hooks = recovery_hooks.load(std::memory_order_acquire);
  if (hooks != nullptr && given < wanted) hooks->recover({}, wanted - given, false);
}

}  // namespace tarn
