// ending_threads: allocation by threads whose end libc has announced. Destructors of other
// libraries may still allocate then, in rounds of which libc promises only so many, so a record of
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
  // A block of the class; null when out of memory. Any thread; takes the lock, then that of the
  // orphans or the store.
  void* allocate(std::size_t size_class) noexcept;

  // Takes the lock and gives the shared record; null when out of memory: then without the lock.
  Thread* begin() noexcept;
  void end() noexcept { lock_.unlock(); }

  // Takes in what was freed of the shared record's blocks, and gives its empty pages back.
  void trim() noexcept;

  // In the child of a fork, before the orphans': the record goes the way of the other threads'. But
  // when this thread holds the lock (it forks in a signal handler), it goes on in the child where
  // it was: then the record is returned and stays as it is.
  const Thread* recover_after_fork() noexcept;

 private:
  os::Lock lock_;
  Thread* thread_ = nullptr;
};

extern EndingThreads ending_threads;

}  // namespace tarn
