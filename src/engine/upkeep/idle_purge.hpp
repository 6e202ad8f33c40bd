// idle_purge: purging for threads that do not read their mail. Pages in the mail that have no live
// block lose their contents where they are; docs/design/pages.md says how the owner comes to know.
// One thread at a time does it for all. And what else threads keep, which a higher room gives back.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
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
  bool recover_after_fork() noexcept {
    if (!lock_.recover_after_fork()) return false;
    served_ = nullptr;
    return true;
  }

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

// Freed blocks that a higher room keeps for the threads that freed them, instead of giving them
// back to their pages (kinds/process_wide/block_stacks.hpp).
struct KeptBlocks {
  // Gives back what has not been wanted for the purge delay; at_once: all of it. False when there
  // was nothing. Calls nothing of the program. pre: the calling thread is not busy,
  // holds no lock and is inside no heap
  bool (*give)(bool at_once) noexcept;
  void (*give_own)() noexcept;  // All that is the calling thread's.
  bool (*is_there)() noexcept;
  void (*recover_after_fork)() noexcept;
};
extern std::atomic<const KeptBlocks*> kept_blocks;  // Null: there are none.

inline bool give_kept_blocks(bool at_once) noexcept {
  const KeptBlocks* const kept = kept_blocks.load(std::memory_order_acquire);
  return TARN_UNLIKELY(kept != nullptr) && kept->give(at_once);
}

}  // namespace tarn
