// orphans: the records of threads that have ended, with the pages they left, and all records there
// are. Its lock comes before the store's.
//
//   list_           orphan <-> orphan <-> ...          newest first: the next thread takes that
//   offered_[class] bin of an orphan <-> bin <-> ...   those with pages that wait for an adopter
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/records/thread.hpp"
#include "platform/base/list.hpp"
#include "platform/os/thread.hpp"

namespace tarn {

class Orphans {
 public:
  enum class Counted : bool { no, yes };

  // A record for a new thread: an orphan as it stands, or a fresh one; null when out of memory.
  // Counted: as a thread in the totals. The record is marked busy: the caller ends that when it has
  // put it where a fork finds it.
  Thread* take(Counted counted) noexcept;

  // Makes `heap` the owner of a page of the class that an orphan has queued; null when there is
  // none, or all that it finds soon are in the mail. The page is on no list.
  Page* adopt_page(ThreadHeap& heap, std::size_t size_class) noexcept;

  // A page of the class is queued in an orphan's heap: adopters look there. Nothing for thread
  // heaps of other heaps. pre: the lock is held
  void offer(ThreadHeap& orphan, std::size_t size_class) noexcept;

  // Of those that act as the owner of an orphan (orphan_care.hpp).
  os::Lock& lock() noexcept { return lock_; }

  // pre of these: the lock is held
  // Puts a record that has ended in front. Returns the one that is not warm any longer, or null.
  Thread* push_locked(Thread& thread) noexcept;
  // None of them is warm any longer.
  void cool_all_locked() noexcept;
  template <class Visit>
  void for_each_locked(Visit visit) noexcept {
    for (Thread* t = list_.head(); t != nullptr; t = t->next) visit(*t);
  }

  // In the child of a fork: every other thread is gone. late: a record that the surviving thread
  // uses beside its own, or null.
  void recover_after_fork(const Thread* survivor, const Thread* ending) noexcept;

  // Somebody may be changing the pages of threads that have ended.
  bool is_locked() const noexcept { return lock_.is_held(); }

  Thread* first_known() const noexcept { return known_.load(std::memory_order_acquire); }

 private:
  friend struct OrphansAccess;  // Of the tests.

  bool offer_next_locked() noexcept;
  void withdraw_locked(Thread& thread) noexcept;
  Page* adopt_offered_locked(std::size_t size_class) noexcept;
  void add_vanished(Thread& thread) noexcept;

  os::Lock lock_;
  List<Thread> list_;                       // Newest first, so the warm ones come first.
  Thread* unoffered_ = nullptr;  // From here on the bins of a fork's orphans are to be offered.
  std::array<List<Bin>, class_count> offered_;  // Some bins there may have got empty.
  std::atomic<std::uint32_t> count_{0};     // Read without the lock as a hint.
  std::uint32_t warm_count_ = 0;
  std::atomic<Thread*> known_{nullptr};     // All records. Release on push, acquire on walk.
};

extern Orphans orphans;

}  // namespace tarn
