// thread heaps: what the threads have of heaps of one's own. Each thread that allocates from a heap
// has a thread heap of it, a ThreadHeap: its pages are the thread's to use, without a lock.
//
//   HeapRecord::thread_heaps -> thread heap of thread 1 -> thread heap of thread 2 (next_of_record)
//   Thread::heaps            -> thread heap of heap 1  <-> thread heap of heap 2 (next_of_thread)
//   Thread::left_over        -> thread heaps of heaps that have been deleted     (next_of_record)
//
// Thread heaps are never freed but with a region, only reused, with the bins that they have. The
// lock guards each thread's list, the spare thread heaps, and the registry's lists of records. It
// comes before a record's lock, and after the record's gate, which its holder only tries.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/records/gate.hpp"
#include "engine/records/record.hpp"
#include "engine/records/thread.hpp"
#include "engine/zones/zone.hpp"
#include "platform/os/thread.hpp"
#include "tarn/diagnose/account.h"

namespace tarn {

inline bool is_region(const HeapRecord& record) noexcept {
  return record.zone != nullptr && record.zone->traits().region;
}

// Its thread vanished in a fork while it was changing its lists.
inline bool is_lost(const ThreadHeap& thread_heap) noexcept {
  return thread_heap.thread->state.load(std::memory_order_relaxed) == ThreadState::lost;
}

// The thread heap of a thread in a heap, wherever it is kept; null when there is none. Any thread
// inside.
ThreadHeap* find_thread_heap(HeapRecord& record, const Thread& thread) noexcept;

// The thread heap of a deleted heap, put down, has no pages any more: flush_left_over() gives it
// back. pre: the calling thread may change the thread heap's lists
void note_emptied(ThreadHeap& thread_heap) noexcept;

// Adds the counts of a thread heap to the rows of the account's classes.
void add_counts_of(const ThreadHeap& thread_heap, HeapRecord& record,
                   tarn_account* account) noexcept;

class ThreadHeaps {
 public:
  // The thread heap of an open heap, made when there is none, and put in its slot; null when out
  // of memory. The calling thread acts for `thread`, and is inside the heap.
  ThreadHeap* join(HeapRecord& record, Thread& thread) noexcept;

  // Puts the current page of a heap's own class in the thread's slot for it. pre: as join(), whose
  // thread heap it is
  void join_fixed(ThreadHeap& thread_heap, const FixedClass& fixed) noexcept;

  // The one thread heap of a heap that is not shared, owned by `owner`.
  ThreadHeap* join_alone(HeapRecord& record, Thread& owner) noexcept;

  // Takes back the thread heaps of an exclusively held heap that have no pages. The others count as
  // malloc's from here on, and stay with their threads.
  void give_all(HeapRecord& record) noexcept;

  // The thread's thread heaps of heaps that were deleted since the last call, linked by
  // next_of_record.
  ThreadHeap* take_left_over(Thread& thread) noexcept;

  // Takes back a thread heap of a deleted heap that has no pages any more.
  void give(ThreadHeap& thread_heap) noexcept;

  // Calls visit(thread heap) for a thread's thread heaps of heaps that are open. Holds the lock.
  // pre: the calling thread is busy.
  template <class Visit>
  void for_each(const Thread& thread, Visit visit) noexcept {
    os::Locked locked(lock_);
    for (ThreadHeap* h = thread.heaps.head(); h != nullptr;) {
      ThreadHeap& thread_heap = *h;
      h = h->next_of_thread;
      if (!keeps_off(*thread_heap.record)) visit(thread_heap);
    }
  }

  // Counts a block that a heap has handed out without a thread heap: from its mixed page, or
  // checked.
  void count_without_thread_heap(std::size_t bytes) noexcept;

  // Adds what thread heaps have counted that were given back, and what was counted without one, to
  // the rows of the account's classes.
  void add_past_counts(tarn_account* account) const noexcept;

  os::Lock& lock() noexcept { return lock_; }

  // In the child of a fork, where the lists may be half-changed: they are made again. First every
  // thread's list is abandoned, then each record's thread heaps are listed, and then all others.
  void list_thread_heaps_of(const HeapRecord& record) noexcept;
  void list_others() noexcept;

 private:
  ThreadHeap* take_locked(const HeapRecord& record) noexcept;
  void give_locked(ThreadHeap& thread_heap, HeapRecord& record) noexcept;
  void leave_region_locked(ThreadHeap& thread_heap, HeapRecord& record) noexcept;
  void keep_counts(ThreadHeap& thread_heap, HeapRecord& record) noexcept;

  os::Lock lock_;
  ThreadHeap* spare_ = nullptr;  // Linked by next_of_record.
  ThreadHeap* known_ = nullptr;  // All but those of regions, linked by next_known.

  // By thread heaps that have been given back, and by mixed pages.
  struct PastCounts {
    std::atomic<std::uint64_t> allocations{0};
    std::atomic<std::uint64_t> sampled{0};
    std::atomic<std::uint64_t> sampled_bytes{0};
  };
  std::array<PastCounts, class_count> past_{};
};

extern ThreadHeaps thread_heaps;

}  // namespace tarn
