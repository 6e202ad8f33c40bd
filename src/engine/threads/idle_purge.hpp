// idle_purge: purging for threads that do not read their mail. Pages in the mail that have no live
// block lose their contents where they are; docs/design/pages.md says how the owner comes to know.
// One thread at a time does it for all.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/thread.hpp"
#include "platform/os/thread.hpp"

namespace tarn {

class IdlePurge {
 public:
  // Purges the free pages of malloc's heap in the mail of other threads, and returns the bytes that
  // have gone. at_once: in the mail of all threads. Else in that of threads that have not read
  // theirs since the last look, and no more than takes a short time; when bytes have gone, more may
  // be due. A look that finds nothing due costs some loads for each thread. pre: the calling thread
  // holds none of the locks that are taken within (the orphans', a zone's, the store's); it may be
  // busy
  std::size_t purge(bool at_once) noexcept;

  // True when a living thread has mail. No notice is given when a page arrives there.
  static bool is_there() noexcept;

  // In the child of a fork: true when the thread that was purging is gone, and had taken mail.
  bool recover_after_fork() noexcept { return lock_.recover_after_fork(); }

  // In the child of a fork: true when this thread was purging, and has taken the mail of `owner`.
  bool is_in_hand(const Thread& owner) const noexcept {
    return served_ == &owner && lock_.held_by_this_thread();
  }

 private:
  friend struct IdlePurgeAccess;  // Of the tests.

  std::size_t purge_locked(bool at_once) noexcept;
  std::size_t serve(Thread& owner, std::size_t most_bytes) noexcept;

  os::Lock lock_;                   // Before the orphans', zones' and the store's.
  const Thread* served_ = nullptr;  // The thread whose mail is taken at the moment.
};

extern IdlePurge idle_purge;

}  // namespace tarn
