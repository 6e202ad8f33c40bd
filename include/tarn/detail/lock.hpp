// lock.hpp: locks that keep other threads out of an allocator while it is used (C++11; no OS). A
// lock is any class with lock() and unlock(): std::mutex, or one of the user's platform. An
// allocator has it as its base or a member, so that a lock without members takes no room.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_LOCK_HPP
#define TARN_LOCK_HPP

#include "language.h"
#if defined(TARN_LANGUAGE)

#include <type_traits>

#if __STDC_HOSTED__ && defined(__unix__)
#define TARN_HAS_POSIX_WAITS 1
#include <sched.h>
#include <time.h>
#endif
#if __STDC_HOSTED__ && defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define TARN_HAS_ONE_THREAD (__libc_single_threaded != 0)
#endif
#endif
#if !defined(TARN_HAS_ONE_THREAD)
#define TARN_HAS_ONE_THREAD 0 /* Nobody knows. */
#endif

namespace tarn {

// No lock and no instruction: the program must see to it that one thread at a time uses the
// allocator.
struct NoLock {
  TARN_CONSTANT void lock() noexcept {}
  TARN_CONSTANT void unlock() noexcept {}
};

// No lock either. Allocators that know this name use atomic operations instead, and are safe for
// use by several threads and in interrupt and signal handlers. Nobody waits: one that is nearly
// empty may refuse a block while another thread is moving the last free ones.
struct LockFree {
  TARN_CONSTANT void lock() noexcept {}
  TARN_CONSTANT void unlock() noexcept {}
};

// As LockFree, for threads but not for handlers: where the C library tells (glibc 2.32), a program
// does without atomic operations until it starts its second thread.
struct ThreadSafe {
  TARN_CONSTANT void lock() noexcept {}
  TARN_CONSTANT void unlock() noexcept {}
};

// What an allocator has whose users need not know that they share it: safe where there may be
// threads and the processor can exchange 64 bits at once.
#if __STDC_HOSTED__ && __GCC_ATOMIC_LLONG_LOCK_FREE == 2
using DefaultLock = ThreadSafe;
#else
using DefaultLock = NoLock;
#endif

// Lets other threads work, for the n-th time in a row. False: they have had a tenth of a second.
inline bool let_others_work(unsigned n) noexcept {
#if defined(TARN_HAS_POSIX_WAITS)
  const struct timespec some = {0, 50000};
  n < 64 ? sched_yield() : nanosleep(&some, nullptr);
#endif
  return n < 1000;
}

// Whether a lock stands for atomic operations.
template <class Lock>
struct IsAtomic : std::integral_constant<bool, std::is_same<Lock, LockFree>::value ||
                                                   std::is_same<Lock, ThreadSafe>::value> {};

// Locks until the end of the scope, as std::lock_guard does, without <mutex>.
template <class Lock>
class LockScope {
 public:
  explicit LockScope(Lock& lock) noexcept(noexcept(lock.lock())) : lock_(lock) { lock_.lock(); }
  ~LockScope() { lock_.unlock(); }
  LockScope(const LockScope&) = delete;
  LockScope& operator=(const LockScope&) = delete;

 private:
  Lock& lock_;
};

}  // namespace tarn

#endif
#endif
