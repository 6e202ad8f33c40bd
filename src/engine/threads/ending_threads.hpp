// ending_threads: allocation by threads whose end libc has announced. Destructors of other
// libraries may still allocate then. libc promises only a few rounds of destructors, so a record of
// the thread's own might never be given up. All such threads share one record, under a lock.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/thread.hpp"
#include "platform/os/thread.hpp"

namespace tarn {

class EndingThreads {
 public:
  // A block of the class; null when out of memory. Any thread. Takes the lock, and within it that
  // of the orphans or of the store.
  void* allocate(std::size_t size_class) noexcept;

  // Takes the lock and returns the shared record. Null, and the lock is not held, when out of
  // memory.
  Thread* begin() noexcept;
  void end() noexcept { lock_.unlock(); }

  // Collects what was freed of the shared record's blocks, and gives its empty pages back.
  void trim() noexcept;

  // In the child of a fork, before the orphans' repair: the record becomes an orphan like other
  // threads'. But when this thread holds the lock (it forks in a signal handler), it goes on in the
  // child where it was; the record is returned then, and stays as it is.
  const Thread* recover_after_fork() noexcept;

 private:
  os::Lock lock_;
  Thread* thread_ = nullptr;
};

extern EndingThreads ending_threads;

}  // namespace tarn
