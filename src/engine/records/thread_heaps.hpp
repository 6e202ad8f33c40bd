// thread_heaps: the lists of thread heaps. Each thread that allocates from a heap has a ThreadHeap
// for it, whose pages the thread uses without a lock.
//
//   HeapRecord::first_thread_heap -> of thread 1 -> of thread 2 ...      (next_of_record)
//   Thread::heaps                 -> for heap 1 <-> for heap 2 ...       (next_of_thread)
//   Thread::left_over             -> for heaps that have been deleted    (next_of_record)
//
// A thread heap is freed only with its region; any other is reused, with the bins that it has. The
// lock guards each thread's list, the spare ones, and the registry's lists of records. It comes
// before a record's lock, and after the record's gate, which its holder only tries.
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
#include "platform/os/thread.hpp"
#include "tarn/diagnose/account.h"

namespace tarn {

inline bool is_region(const HeapRecord& record) noexcept { return record.source.traits().region; }

// True when its thread vanished in a fork while it was changing its lists.
inline bool is_lost(const ThreadHeap& thread_heap) noexcept {
  return thread_heap.thread->state.load(std::memory_order_relaxed) == ThreadState::lost;
}

// Whom the thread heap's pages name as their owner.
inline Thread* owner_of_pages(const ThreadHeap& thread_heap) noexcept {
  Thread* const thread = thread_heap.thread;
  return thread_heap.record->hardened ? &hardened_owner : thread;
}

// The thread's thread heap of a heap; null when there is none. Any thread that is inside the heap.
ThreadHeap* find_thread_heap(HeapRecord& record, const Thread& thread) noexcept;

// Notes that a flushed thread heap of a deleted heap has no pages any more, so that
// flush_left_over() gives it back. pre: the calling thread may change its lists
void note_emptied(ThreadHeap& thread_heap) noexcept;

// Adds the thread heap's counts to the rows of the account's classes.
void add_counts_of(const ThreadHeap& thread_heap, HeapRecord& record,
                   tarn_account* account) noexcept;

class ThreadHeaps {
 public:
  // The thread's thread heap of a heap, made when there is none, and put in its slot. Null when out
  // of memory. pre: the calling thread acts for `thread`, which is busy, and is inside the heap
  ThreadHeap* join(HeapRecord& record, Thread& thread) noexcept;

  // Puts the current page of a class of the heap's own in the thread's slot for that class. pre: as
  // join(), which made `thread_heap`
  void join_fixed(ThreadHeap& thread_heap, const FixedClass& fixed) noexcept;

  // The only thread heap of a heap that is used under a lock, owned by `owner`.
  ThreadHeap* join_alone(HeapRecord& record, Thread& owner) noexcept;

  // Takes back the heap's thread heaps that have no pages. The others count as malloc's from here
  // on, and stay with their threads. pre: held exclusively
  void give_all(HeapRecord& record) noexcept;

  // The thread heaps for heaps that were deleted since the last call, linked by next_of_record.
  ThreadHeap* take_left_over(Thread& thread) noexcept;

  // Takes back a thread heap of a deleted heap. pre: it has no pages any more
  void give(ThreadHeap& thread_heap) noexcept;

  // Calls visit(thread_heap) for those of a thread whose heaps no other thread holds exclusively.
  // Holds the lock. pre: the calling thread is busy
  template <class Visit>
  void for_each(const Thread& thread, Visit visit) noexcept {
    os::Locked locked(lock_);
    for (ThreadHeap* h = thread.heaps.head(); h != nullptr;) {
      ThreadHeap& thread_heap = *h;
      h = h->next_of_thread;
      if (!keeps_off(*thread_heap.record)) visit(thread_heap);
    }
  }

  // Counts a block that came without a thread heap: from a mixed page, or checked.
  void count_without_thread_heap(std::size_t bytes) noexcept;

  // Adds the counts of thread heaps that were given back, and of blocks that came without one, to
  // the rows of the account's classes.
  void add_past_counts(tarn_account* account) const noexcept;

  os::Lock& lock() noexcept { return lock_; }

  // Make the lists again in the child of a fork, where they may be half-changed. First every
  // thread's list is abandoned, then each record's thread heaps are listed, and then all others.
  void list_thread_heaps_of(const HeapRecord& record) noexcept;
  void list_others() noexcept;

 private:
  friend struct ThreadHeapsAccess;  // Of the tests.

  // For assertions, in debug builds alone: true when the spare ones are those of no thread, and
  // have no pages.
  bool check_locked() const noexcept;
  ThreadHeap* take_locked(const HeapRecord& record) noexcept;
  void give_locked(ThreadHeap& thread_heap, HeapRecord& record) noexcept;
  void leave_region_locked(ThreadHeap& thread_heap, HeapRecord& record) noexcept;
  void keep_counts(ThreadHeap& thread_heap, HeapRecord& record) noexcept;

  os::Lock lock_;
  ThreadHeap* spare_ = nullptr;  // Linked by next_of_record.
  ThreadHeap* known_ = nullptr;  // All but those of regions, linked by next_known.

  // Counts of thread heaps that were given back, and of mixed pages.
  struct PastCounts {
    std::atomic<std::uint64_t> allocations{0};
    std::atomic<std::uint64_t> sampled{0};
    std::atomic<std::uint64_t> sampled_bytes{0};
  };
  std::array<PastCounts, class_count> past_{};
};

extern ThreadHeaps thread_heaps;

}  // namespace tarn
