// lock.hpp: what keeps others out of an allocator while it is used (C++17; no OS). A lock is any
// class with lock() and unlock(), std::mutex or one of the user's platform; an allocator has one as
// its base or member, so that a lock without members takes no room.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_LOCK_HPP
#define TARN_LOCK_HPP

#include "language.h"
#if defined(TARN_LANGUAGE)

#include <type_traits>

namespace tarn {

// One thread at a time, by the user's care; no instruction.
struct NoLock {
  constexpr void lock() noexcept {}
  constexpr void unlock() noexcept {}
};

// No lock either: allocators that know this name use atomic operations instead, and are safe among
// threads and in interrupt and signal handlers.
struct LockFree {
  constexpr void lock() noexcept {}
  constexpr void unlock() noexcept {}
};

// Locks until the end of the scope. (std::lock_guard, without <mutex>.)
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
