// thread: the contract for threads: who is running, a lock that survives fork, and the call at a
// thread's end. Nothing here allocates.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "base/config.hpp"

namespace tarn::os {

using ThreadTag = const void*;

// Different for all threads that are alive; a later thread may get the same one again.
TARN_INLINE ThreadTag thread_tag() noexcept {
#if defined(__x86_64__)
  ThreadTag tag;
  __asm__("movq %%fs:0, %0" : "=r"(tag));
  return tag;
#else
  return __builtin_thread_pointer();
#endif
}

// Sleeps while *word == expected, at most until wake(). Spurious returns are allowed.
void word_wait(std::atomic<std::uint32_t>* word, std::uint32_t expected) noexcept;
void word_wake(std::atomic<std::uint32_t>* word) noexcept;

// A mutual exclusion of one word (free, held, held with sleepers). It knows its holder, so that the
// child of a fork can tell a lock that nobody is left to release.
class Lock {
 public:
  void lock() noexcept {
    std::uint32_t expected = free_;
    // Acquire: pairs with the release in unlock().
    if (TARN_UNLIKELY(!word_.compare_exchange_strong(expected, held_, std::memory_order_acquire,
                                                     std::memory_order_relaxed))) {
      lock_slow();
    }
    holder_.store(thread_tag(), std::memory_order_relaxed);
  }

  bool try_lock() noexcept {
    std::uint32_t expected = free_;
    if (!word_.compare_exchange_strong(expected, held_, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
      return false;
    }
    holder_.store(thread_tag(), std::memory_order_relaxed);
    return true;
  }

  void unlock() noexcept {
    holder_.store(nullptr, std::memory_order_relaxed);
    // Release: pairs with the acquire of the next lock().
    if (word_.exchange(free_, std::memory_order_release) == contended_) word_wake(&word_);
  }

  bool held_by_this_thread() const noexcept {
    return word_.load(std::memory_order_relaxed) != free_ &&
           holder_.load(std::memory_order_relaxed) == thread_tag();
  }

  // For the child of a fork, which has one thread: true when the holder is gone. The structure
  // behind the lock may then be half-written. The lock is free afterwards.
  bool recover_after_fork() noexcept {
    if (word_.load(std::memory_order_relaxed) == free_ || held_by_this_thread()) return false;
    holder_.store(nullptr, std::memory_order_relaxed);
    word_.store(free_, std::memory_order_relaxed);
    return true;
  }

 private:
  void lock_slow() noexcept;

  static constexpr std::uint32_t free_ = 0;
  static constexpr std::uint32_t held_ = 1;
  static constexpr std::uint32_t contended_ = 2;

  std::atomic<std::uint32_t> word_{free_};
  std::atomic<ThreadTag> holder_{nullptr};
};

class Locked {
 public:
  explicit Locked(Lock& lock) noexcept : lock_(lock) { lock_.lock(); }
  ~Locked() { lock_.unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Lock& lock_;
};

// Has `ended(value)` called on this thread when it ends, for a value that is not null. It may be
// asked for again from within `ended`. False when the OS has no room for it.
using ThreadEnded = void (*)(void* value);
bool thread_on_end(ThreadEnded ended, void* value) noexcept;

// Has `child` called in the child after each fork, before fork returns there.
void process_on_fork(void (*child)()) noexcept;

}  // namespace tarn::os
