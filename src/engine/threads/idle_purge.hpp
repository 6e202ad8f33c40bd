// idle_purge: memory that was freed for threads which do not look at their mail. Pages in there
// that have no live block lose their contents where they are; docs/design/pages.md says how the
// owner comes to know. One thread at a time does it for all.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/thread.hpp"
#include "platform/os/thread.hpp"

namespace tarn {

class IdlePurge {
 public:
  // Purges the free pages of malloc's heap in the mail of other threads: of all at once, else of
  // those that have not read their mail since the last look, and so much that the caller does not
  // wait long. Returns how many bytes have gone: if any, more may be due. A look that finds nothing
  // due costs some loads for each thread. pre: the calling thread has none of the locks that are
  // taken within: the orphans', a zone's, the store's; it may be busy
  std::size_t purge(bool at_once) noexcept;

  // Whether a thread that lives has mail: whatever is freed for it comes there without a word.
  static bool is_there() noexcept;

  // In the child of a fork: true when the thread that was purging is gone, with mail in its hands.
  bool recover_after_fork() noexcept { return lock_.recover_after_fork(); }

  // In the child of a fork: whether this thread was purging, and has mail of that thread in its
  // hands.
  bool is_in_hand(const Thread& owner) const noexcept {
    return served_ == &owner && lock_.held_by_this_thread();
  }

 private:
  friend struct IdlePurgeAccess;  // Of the tests.

  std::size_t purge_locked(bool at_once) noexcept;
  std::size_t serve(Thread& owner, std::size_t most_bytes) noexcept;

  os::Lock lock_;  // Before the orphans', zones' and the store's.
  const Thread* served_ = nullptr;  // Whose mail is out of its place.
};

extern IdlePurge idle_purge;

}  // namespace tarn
