// registry: the records of all heaps, and the threads' shares of them. Neither is ever freed, only
// reused: a record under a new id, a share with the bins that it has.
//
// Its lock guards the lists of records, the spare shares, and each thread's list of its shares. It
// comes before a record's lock, and after the record's gate, which it only tries.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "heap/record.hpp"
#include "heap/thread.hpp"
#include "os/thread.hpp"
#include "source/zone.hpp"
#include "tarn/account.h"

namespace tarn {

inline bool is_region(const HeapRecord& record) noexcept {
  return record.zone != nullptr && record.zone->traits().region;
}

class Registry {
 public:
  // A record under a new id, on the list of live ones, everything else as a new record has it; null
  // when out of memory. `options` has been checked. The zone is the heap's from here on.
  HeapRecord* make(const tarn_heap_options& options, Zone* zone) noexcept;

  // Makes the id of a live record 0 and remembers its name; false when it has another id by now.
  bool end_id(HeapRecord& record, std::uint64_t id) noexcept;

  // Takes a record back that has neither id nor memory. It stays, out of sight, while it has
  // children.
  void give(HeapRecord& record) noexcept;

  // The thread's share of an open heap, made when there is none, and put in its slot; null when out
  // of memory. The calling thread acts for `thread`, and is inside the heap.
  ThreadHeap* join(HeapRecord& record, Thread& thread) noexcept;

  // Puts the current page of a heap's own class in the thread's slot for it. pre: as join(), whose
  // share it is
  void join_fixed(ThreadHeap& share, const FixedClass& fixed) noexcept;

  // The heap's class of blocks of that size, made when there is none; null with errno set when it
  // cannot be.
  FixedClass* make_fixed(HeapRecord& record, std::uint64_t heap_id,
                         std::size_t block_bytes) noexcept;

  // The one share of a heap that is not shared, owned by `owner`.
  ThreadHeap* join_alone(HeapRecord& record, Thread& owner) noexcept;

  // Takes back the shares of a closed heap that have no pages. The others count as malloc's from
  // here on, and stay with their threads.
  void give_shares(HeapRecord& record) noexcept;

  // The thread's shares of heaps that were deleted since the last call, linked by next_of_record.
  ThreadHeap* take_left_over(Thread& thread) noexcept;

  // Takes back a share of a deleted heap that has no pages any more.
  void give_share(ThreadHeap& share) noexcept;

  // Calls visit(share) for a thread's shares of heaps that are open. Holds the lock. pre: the
  // calling thread is busy.
  template <class Visit>
  void for_each_share(const Thread& thread, Visit visit) noexcept {
    os::Locked locked(lock_);
    for (ThreadHeap* h = thread.heaps.head(); h != nullptr;) {
      ThreadHeap& share = *h;
      h = h->next_of_thread;
      if (!keeps_off(*share.record)) visit(share);
    }
  }

  // Calls visit(record) for the live records, newest last. Holds the lock.
  template <class Visit>
  void for_each(Visit visit) noexcept {
    os::LockedUnlessHeld locked(lock_);
    for (HeapRecord* r = live_.head(); r != nullptr; r = r->next) visit(*r);
  }

  // Calls visit(record) for all records that there are but malloc's, in use or not. No lock.
  template <class Visit>
  void for_each_known(Visit visit) noexcept {
    for (HeapRecord* r = known_.load(std::memory_order_acquire); r != nullptr; r = r->next_known) {
      visit(*r);
    }
  }

  // Whether the heap is live, and `top` or below it.
  bool is_live_in(const tarn_heap& heap, const HeapRecord* top) noexcept;

  // Calls visit(span) for the descriptors that lie in regions. Also where a signal has interrupted
  // the registry.
  template <class Visit>
  void for_each_region_span(Visit visit) noexcept {
    os::LockedUnlessHeld locked(lock_);
    for (HeapRecord* r = live_.head(); r != nullptr; r = r->next) {
      if (r->zone != nullptr) r->zone->for_each_span(visit);
    }
  }

  // For who has to see lists of several rooms at rest.
  os::Lock& lock() noexcept { return lock_; }

  // The live heap after this one, the first one for the zero value; the zero value at the end, or
  // when the heap has ended. `ancestor`, if not null: only those below it.
  tarn_heap next_after(const tarn_heap& heap, const HeapRecord* ancestor) noexcept;

  // In the child of a fork, after the threads' records are in order. Heaps that a vanished thread
  // was changing lose what they had: its blocks can be freed, their memory is not used again.
  // survivor, late: as Orphans::recover_after_fork().
  void recover_after_fork(const Thread* survivor, const Thread* late) noexcept;

  // Adds what heaps of one's own have allocated, those that have ended included, to the rows of the
  // account's classes. (Of ended heaps blocks are counted that were never handed out: some OS pages
  // of each size at most.) Any thread, also where a signal has interrupted it.
  void add_counts(tarn_account* account) noexcept;
  void count_in_nursery(std::size_t bytes) noexcept;

 private:
  HeapRecord* take_record_locked(bool for_region) noexcept;  // With its gate held;
  HeapRecord* new_record_locked(void* memory) noexcept;      // likewise. Null for null.
  void spare_record_locked(HeapRecord& record) noexcept;
  ThreadHeap* take_share_locked(const HeapRecord& record) noexcept;
  void give_share_locked(ThreadHeap& share, HeapRecord& record) noexcept;
  void leave_region_locked(ThreadHeap& share, HeapRecord& record) noexcept;
  void keep_counts(ThreadHeap& share, HeapRecord& record) noexcept;
  void rebuild() noexcept;
  std::uint64_t new_id_locked() noexcept { return main_heap_id + ++ids_given_; }

  os::Lock lock_;
  List<HeapRecord> live_;
  List<HeapRecord> spare_;
  // A region makes no call of the OS, and its record must outlive it: these are for regions.
  static constexpr std::size_t static_records_ = 64;
  List<HeapRecord> spare_static_;
  std::size_t static_used_ = 0;
  alignas(HeapRecord) std::byte static_memory_[static_records_][sizeof(HeapRecord)] = {};
  ThreadHeap* spare_shares_ = nullptr;  // Linked by next_of_record.
  ThreadHeap* known_shares_ = nullptr;
  std::atomic<HeapRecord*> known_{nullptr};
  std::uint64_t ids_given_ = 0;  // Since malloc's own: all of this is zero at first, and no file's.

  // By shares that have been given back, and by nurseries.
  struct PastCounts {
    std::atomic<std::uint64_t> allocations{0};
    std::atomic<std::uint64_t> sampled{0};
    std::atomic<std::uint64_t> sampled_bytes{0};
  };
  std::array<PastCounts, class_count> past_{};
};

// Adds the counts of a share to the rows of the account's classes.
void add_counts_of(const ThreadHeap& share, HeapRecord& record, tarn_account* account) noexcept;

extern Registry registry;

// The share of a thread in a heap, wherever it is kept; null when there is none. Any thread inside.
ThreadHeap* find_share(HeapRecord& record, const Thread& thread) noexcept;

}  // namespace tarn
