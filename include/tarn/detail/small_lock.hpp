// small_lock: a lock of one word with lock() and unlock() as std::mutex has them, for programs
// without that. Waiting threads sleep (std::atomic's wait). C++20.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_SMALL_LOCK_HPP
#define TARN_SMALL_LOCK_HPP

#include "language.hpp"
#if defined(TARN_LANGUAGE_17) && __cplusplus < 202002L
#error "tarn/detail/small_lock.hpp needs C++20: compile with -std=c++20, or a later one"
#elif defined(TARN_LANGUAGE_17)

#include <atomic>

namespace tarn {

// Mutex 2 of U. Drepper, Futexes Are Tricky, 2011: its states are free, held, and held and waited
// for. Taking a free lock is one atomic operation, and so is giving it back. It is neither fair nor
// recursive. In the child of a fork, a lock that another thread held stays held for ever.
class SmallLock {
 public:
  SmallLock() noexcept = default;
  SmallLock(const SmallLock&) = delete;
  SmallLock& operator=(const SmallLock&) = delete;

  void lock() noexcept {
    int seen = free_;
    // Acquire, here and below: pairs with the release in unlock().
    if (word_.compare_exchange_strong(seen, held_, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
      return;
    }
    while (word_.exchange(awaited_, std::memory_order_acquire) != free_) {
      word_.wait(awaited_, std::memory_order_relaxed);
    }
  }

  bool try_lock() noexcept {
    int seen = free_;
    return word_.compare_exchange_strong(seen, held_, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  void unlock() noexcept {
    if (word_.exchange(free_, std::memory_order_release) == awaited_) word_.notify_one();
  }

 private:
  static constexpr int free_ = 0;
  static constexpr int held_ = 1;
  static constexpr int awaited_ = 2;
  std::atomic<int> word_{free_};
};

}  // namespace tarn

#endif
#endif
