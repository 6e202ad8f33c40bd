// lock.hpp: locks that keep other threads out of an allocator while it is used (C++17; no OS). A
// lock is any class with lock() and unlock(): std::mutex, or one of the user's platform. An
// allocator has it as its base or a member, so that a lock without members takes no room.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_LOCK_HPP
#define TARN_LOCK_HPP

#include "language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <type_traits>

namespace tarn {

// No lock and no instruction: the program must see to it that one thread at a time uses the
// allocator.
struct NoLock {
  constexpr void lock() noexcept {}
  constexpr void unlock() noexcept {}
};

// No lock either. Allocators that know this name use atomic operations instead, and are safe for
// use by several threads and in interrupt and signal handlers.
struct LockFree {
  constexpr void lock() noexcept {}
  constexpr void unlock() noexcept {}
};

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
