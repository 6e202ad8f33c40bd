// orphans: the records of threads that have ended, with the pages they left, and the list of all
// records. (mimalloc: abandoned pages.) Its lock comes before the store's.
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
  // Counted: the thread counts in the totals. The record is marked busy; the caller ends that once
  // the record is where a fork finds it.
  Thread* take(Counted counted) noexcept;

  // Makes `heap` the owner of a page of the class that an orphan has queued. The page is on no list
  // then. Null when there is none, or when all that a short search finds are in the mail.
  Page* adopt_page(ThreadHeap& heap, std::size_t size_class) noexcept;

  // Lists the orphan's bin of the class where adopters look, since a page is queued there. Does
  // nothing for thread heaps other than malloc's. pre: the lock is held
  void offer(ThreadHeap& orphan, std::size_t size_class) noexcept;

  // For acting as the owner of an orphan (orphan_care.hpp).
  os::Lock& lock() noexcept { return lock_; }

  // pre of the next three: the lock is held
  //
  // Puts the record of a thread that has ended in front. Returns the record that is not warm any
  // longer, or null.
  Thread* push_locked(Thread& thread) noexcept;
  // None of them is warm any longer.
  void cool_all_locked() noexcept;
  template <class Visit>
  void for_each_locked(Visit visit) noexcept {
    for (Thread* t = list_.head(); t != nullptr; t = t->next) visit(*t);
  }

  // In the child of a fork: every other thread is gone. ending: a record that the surviving thread
  // uses beside its own, or null.
  void recover_after_fork(const Thread* survivor, const Thread* ending) noexcept;

  // For assertions, in debug builds alone: true when each bin that says so is on the list of its
  // class, and each that has pages for adopters says so. pre: the lock is held
  bool check_locked() const noexcept;

  // True while a thread may be changing the pages of threads that have ended.
  bool is_locked() const noexcept { return lock_.is_held(); }

  // True in a process that was forked while other threads were there, wherever these were.
  bool has_vanished() const noexcept { return has_vanished_.load(std::memory_order_relaxed); }

  Thread* first_known() const noexcept { return known_.load(std::memory_order_acquire); }

 private:
  friend struct OrphansAccess;  // Of the tests.

  bool offer_next_locked() noexcept;
  void withdraw_locked(Thread& thread) noexcept;
  Page* adopt_offered_locked(std::size_t size_class) noexcept;
  void add_vanished(Thread& thread) noexcept;

  os::Lock lock_;
  List<Thread> list_;  // Newest first, so the warm ones come first.
  // From here on, the bins of a fork's orphans must still be offered.
  Thread* unoffered_ = nullptr;
  // The bins that were offered; some may be empty by now.
  std::array<List<Bin>, class_count> offered_;
  std::atomic<std::uint32_t> count_{0};  // Read without the lock as a hint.
  std::uint32_t warm_count_ = 0;
  std::atomic<bool> has_vanished_{false};
  std::atomic<Thread*> known_{nullptr};  // All records. Release on push, acquire on walk.
};

extern Orphans orphans;

}  // namespace tarn
