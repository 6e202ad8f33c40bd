// shares: what the threads have of heaps of one's own. Each thread that allocates from a heap has a
// share of it, a ThreadHeap: its pages are the thread's to use, without a lock.
//
//   HeapRecord::thread_heaps -> share of thread 1 -> share of thread 2     (next_of_record)
//   Thread::heaps            -> share of heap 1  <-> share of heap 2       (next_of_thread)
//   Thread::left_over        -> shares of heaps that have been deleted     (next_of_record)
//
// Shares are never freed but with a region, only reused, with the bins that they have. The lock
// guards each thread's list, the spare shares, and the registry's lists of records. It comes before
// a record's lock, and after the record's gate, which its holder only tries.
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
inline bool is_lost(const ThreadHeap& share) noexcept {
  return share.thread->state.load(std::memory_order_relaxed) == ThreadState::lost;
}

// The share of a thread in a heap, wherever it is kept; null when there is none. Any thread inside.
ThreadHeap* find_share(HeapRecord& record, const Thread& thread) noexcept;

// The share of a deleted heap, put down, has no pages any more: put_down_left_over() gives it back.
// pre: the calling thread may change the share's lists
void note_emptied(ThreadHeap& share) noexcept;

// Adds the counts of a share to the rows of the account's classes.
void add_counts_of(const ThreadHeap& share, HeapRecord& record, tarn_account* account) noexcept;

class Shares {
 public:
  // The thread's share of an open heap, made when there is none, and put in its slot; null when out
  // of memory. The calling thread acts for `thread`, and is inside the heap.
  ThreadHeap* join(HeapRecord& record, Thread& thread) noexcept;

  // Puts the current page of a heap's own class in the thread's slot for it. pre: as join(), whose
  // share it is
  void join_fixed(ThreadHeap& share, const FixedClass& fixed) noexcept;

  // The one share of a heap that is not shared, owned by `owner`.
  ThreadHeap* join_alone(HeapRecord& record, Thread& owner) noexcept;

  // Takes back the shares of a closed heap that have no pages. The others count as malloc's from
  // here on, and stay with their threads.
  void give_all(HeapRecord& record) noexcept;

  // The thread's shares of heaps that were deleted since the last call, linked by next_of_record.
  ThreadHeap* take_left_over(Thread& thread) noexcept;

  // Takes back a share of a deleted heap that has no pages any more.
  void give(ThreadHeap& share) noexcept;

  // Calls visit(share) for a thread's shares of heaps that are open. Holds the lock. pre: the
  // calling thread is busy.
  template <class Visit>
  void for_each(const Thread& thread, Visit visit) noexcept {
    os::Locked locked(lock_);
    for (ThreadHeap* h = thread.heaps.head(); h != nullptr;) {
      ThreadHeap& share = *h;
      h = h->next_of_thread;
      if (!keeps_off(*share.record)) visit(share);
    }
  }

  // Counts a block that a heap has handed out without a share: from its nursery, or checked.
  void count_without_share(std::size_t bytes) noexcept;

  // Adds what shares have counted that were given back, and what was counted without one, to the
  // rows of the account's classes.
  void add_past_counts(tarn_account* account) const noexcept;

  os::Lock& lock() noexcept { return lock_; }

  // In the child of a fork, where the lists may be half-changed: they are made again. First every
  // thread's list is abandoned, then each record's shares are listed, and then all others.
  void list_shares_of(const HeapRecord& record) noexcept;
  void list_others() noexcept;

 private:
  ThreadHeap* take_locked(const HeapRecord& record) noexcept;
  void give_locked(ThreadHeap& share, HeapRecord& record) noexcept;
  void leave_region_locked(ThreadHeap& share, HeapRecord& record) noexcept;
  void keep_counts(ThreadHeap& share, HeapRecord& record) noexcept;

  os::Lock lock_;
  ThreadHeap* spare_ = nullptr;  // Linked by next_of_record.
  ThreadHeap* known_ = nullptr;  // All but those of regions, linked by next_known.

  // By shares that have been given back, and by nurseries.
  struct PastCounts {
    std::atomic<std::uint64_t> allocations{0};
    std::atomic<std::uint64_t> sampled{0};
    std::atomic<std::uint64_t> sampled_bytes{0};
  };
  std::array<PastCounts, class_count> past_{};
};

extern Shares shares;

}  // namespace tarn
