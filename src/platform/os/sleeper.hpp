// sleeper: one thread that sleeps while there is nothing to do, and is woken by any thread that
// brings work.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/base/check.hpp"
#include "platform/base/config.hpp"
#include "platform/os/thread.hpp"

namespace tarn::os {

class Sleeper {
 public:
  // Called before the thread is made.
  void begin() noexcept { word_.store(awake_, std::memory_order_relaxed); }

  // Called by the sleeping thread: false once it must end.
  bool goes_on() const noexcept { return word_.load(std::memory_order_acquire) != ended_; }

  // Called by the sleeping thread before it looks for work: a thread that brings some from now on
  // wakes it.
  void lie_down() noexcept { change(awake_, asleep_); }

  // Called by the sleeping thread when it found no work: sleeps until a thread rings. pre:
  // lie_down()
  void sleep() noexcept {
    while (word_.load(std::memory_order_acquire) == asleep_) word_wait(&word_, asleep_);
  }

  // Called by the sleeping thread when it found work for later: sleeps for so long, or until it
  // must end. Does not sleep when a thread has rung since. pre: lie_down()
  void nap(std::uint64_t ms) noexcept {
    TARN_ASSERT(ms != 0);
    if (!change(asleep_, napping_)) return;
    word_wait_for(&word_, napping_, ms);
    change(napping_, awake_);
  }

  // Called by the sleeping thread when it found what may become work without a ring: sleeps for so
  // long, or until a thread rings. Returns whether one did. pre: lie_down()
  bool doze(std::uint64_t ms) noexcept {
    if (word_.load(std::memory_order_acquire) == asleep_) word_wait_for(&word_, asleep_, ms);
    return !change(asleep_, awake_);
  }

  // Called by any thread after bringing work; a load when the sleeper is awake. The sleeper sees
  // what was brought if that was done under a lock under which it looks, or sequentially
  // consistently.
  void ring() noexcept {
    if (TARN_LIKELY(word_.load(std::memory_order_seq_cst) != asleep_)) return;
    if (change(asleep_, awake_)) word_wake(&word_);
  }

  // Makes the thread end soon.
  void end() noexcept {
    word_.store(ended_, std::memory_order_release);  // Pairs with goes_on().
    word_wake(&word_);
  }

 private:
  // Sequentially consistent: see ring().
  bool change(std::uint32_t from, std::uint32_t to) noexcept {
    return word_.compare_exchange_strong(from, to, std::memory_order_seq_cst);
  }

  static constexpr std::uint32_t awake_ = 0;
  static constexpr std::uint32_t asleep_ = 1;
  static constexpr std::uint32_t napping_ = 2;
  static constexpr std::uint32_t ended_ = 3;

  std::atomic<std::uint32_t> word_{awake_};
};

}  // namespace tarn::os
