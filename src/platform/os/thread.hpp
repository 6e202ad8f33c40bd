// thread: the contract for threads: the id of the calling thread, a lock that survives fork, and
// the call at a thread's end. Nothing here allocates.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/base/check.hpp"
#include "platform/base/config.hpp"

namespace tarn::os {

// Not 0, below 2^31, different for all threads that are alive. In the child of a fork the surviving
// thread keeps the one that it had, and no other thread of that process is given the same.
using ThreadId = std::uint32_t;
extern TARN_INITIAL_EXEC __thread ThreadId known_thread_id;
ThreadId ask_thread_id() noexcept;
TARN_INLINE ThreadId thread_id() noexcept {
  const ThreadId id = known_thread_id;
  return TARN_LIKELY(id != 0) ? id : ask_thread_id();
}

// Sleeps while *word == expected, at most until wake(). Spurious returns are allowed; in the child
// of a fork that has not been repaired yet it is repaired instead, as for a lock.
void word_wait(std::atomic<std::uint32_t>* word, std::uint32_t expected) noexcept;
void word_wake(std::atomic<std::uint32_t>* word) noexcept;

// As word_wait, at most for `ms` milliseconds.
void word_wait_for(std::atomic<std::uint32_t>* word, std::uint32_t expected,
                   std::uint64_t ms) noexcept;

// A mutual exclusion of one word: 0, or the holder's id, with the top bit set when others may sleep
// on it. So the child of a fork can tell a lock that nobody is left to release.
class Lock {
 public:
  // pre: the calling thread does not hold it.
  TARN_EXPLORED void lock() noexcept {
    TARN_ASSERT(!held_by_this_thread());
    const ThreadId me = thread_id();
    std::uint32_t expected = free_;
    // Acquire: pairs with the release in unlock().
    if (TARN_UNLIKELY(!word_.compare_exchange_strong(expected, me, std::memory_order_acquire,
                                                     std::memory_order_relaxed))) {
      lock_slow(me);
    }
  }

  TARN_EXPLORED bool try_lock() noexcept {
    std::uint32_t expected = free_;
    return word_.compare_exchange_strong(expected, thread_id(), std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  // pre: the calling thread holds it.
  TARN_EXPLORED void unlock() noexcept {
    TARN_ASSERT(held_by_this_thread());
    // Release: pairs with the acquire of the next lock().
    if ((word_.exchange(free_, std::memory_order_release) & awaited_) != 0) word_wake(&word_);
  }

  // True while any thread holds it.
  bool is_held() const noexcept { return word_.load(std::memory_order_relaxed) != free_; }

  TARN_EXPLORED bool held_by_this_thread() const noexcept {
    return (word_.load(std::memory_order_relaxed) & ~awaited_) == thread_id();
  }

  // For the child of a fork, which has one thread: true when the holder is gone. The structure
  // behind the lock may then be half-written. The lock is free afterwards.
  bool recover_after_fork() noexcept {
    if (word_.load(std::memory_order_relaxed) == free_ || held_by_this_thread()) return false;
    word_.store(free_, std::memory_order_relaxed);
    return true;
  }

 private:
  void lock_slow(ThreadId me) noexcept;

  static constexpr std::uint32_t free_ = 0;
  static constexpr std::uint32_t awaited_ = std::uint32_t{1} << 31;

  std::atomic<std::uint32_t> word_{free_};
};

// Makes every other thread of the process pass a full barrier: plain stores that they made before
// the call are seen here, and those of this thread are seen by what they do next. False where the
// OS has no such call; nothing has happened then. Takes a few microseconds.
bool barrier_in_all_threads() noexcept;

// Has the same effect by waiting two milliseconds, after which any processor has long passed on
// what it stored. For a process to which the OS refuses barrier_in_all_threads().
void wait_for_stores() noexcept;

// Lets other threads run, for a caller that waits until one of them has done something. The child
// of a fork that has not been repaired yet is repaired first, as for a lock: the other thread may
// be gone.
void yield() noexcept;

class Locked {
 public:
  explicit Locked(Lock& lock) noexcept : lock_(&lock) { lock.lock(); }
  ~Locked() { release(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

  void release() noexcept {
    if (lock_ != nullptr) lock_->unlock();
    lock_ = nullptr;
  }

 private:
  Lock* lock_;
};

// Holds the lock for a function that only reads and may be called from a signal handler: a thread
// that holds the lock already reads without taking it.
class LockedUnlessHeld {
 public:
  explicit LockedUnlessHeld(Lock& lock) noexcept
      : lock_(lock.held_by_this_thread() ? nullptr : &lock) {
    if (lock_ != nullptr) lock_->lock();
  }
  ~LockedUnlessHeld() {
    if (lock_ != nullptr) lock_->unlock();
  }
  LockedUnlessHeld(const LockedUnlessHeld&) = delete;
  LockedUnlessHeld& operator=(const LockedUnlessHeld&) = delete;

 private:
  Lock* lock_;
};

// Has `ended(value)` called when the calling thread ends. False when the OS refuses. There are two
// callers, each with one function for all threads and one value for each.
enum class ThreadEndFor { heap, scratch, block_stacks };
using ThreadEnded = void (*)(void* value);
bool thread_on_end(ThreadEnded ended, void* value, ThreadEndFor whom = ThreadEndFor::heap) noexcept;

// A thread of the library's own, which runs `work` on a small stack with all signals blocked and
// shows itself as `name` (15 characters at most). Making it allocates: no lock may be held. False
// with errno set when the OS refuses.
struct OwnThread {
  std::uintptr_t handle = 0;
};
bool thread_begin_own(void (*work)(), const char* name, OwnThread* thread) noexcept;
void thread_join_own(OwnThread thread) noexcept;

// Has `child` called in the child after each fork: before fork returns there, or before a thread
// waits for a lock, whichever comes first. (Handlers of other libraries may run before ours, and
// allocate.) Called once.
void process_on_fork(void (*child)()) noexcept;

// How many forks are under way, and in the upper half how many there were.
inline constexpr std::uint32_t fork_under_way = 1;
inline constexpr std::uint32_t fork_one = 1 << 16;
extern std::atomic<std::uint32_t> forks;
bool await_fork_slow() noexcept;

// Called by threads that are about to use memory, with nothing half-done. While another thread
// forks, the calling thread waits until that is done, at most some milliseconds and once for each
// fork; true if it has waited. Otherwise the fork would wait for its page faults
// (docs/design/heap.md).
inline bool await_fork() noexcept {
  const std::uint32_t seen = forks.load(std::memory_order_relaxed);
  return TARN_UNLIKELY(seen % fork_one != 0) && await_fork_slow();
}

// Like process_on_fork(), for further callers: `child` is called before fork returns in the child.
// May allocate.
void process_on_fork_also(void (*child)()) noexcept;

// The same for several callers, which `known` tells of each other: true for the first. Where two
// come at once, `child` may be called twice after each fork.
inline bool process_on_fork_once(std::atomic<bool>& known, void (*child)()) noexcept {
  if (known.load(std::memory_order_acquire)) return false;
  process_on_fork_also(child);
  return !known.exchange(true, std::memory_order_acq_rel);
}

// Has `before` called in the parent before each fork, and one of the others after it.
void process_around_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept;

}  // namespace tarn::os
