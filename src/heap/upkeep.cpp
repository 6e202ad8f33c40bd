// upkeep: see upkeep.hpp.
//
// SPDX-License-Identifier: MIT
#include "heap/upkeep.hpp"

#include "heap/heap_scope.hpp"
#include "heap/thread.hpp"
#include "os/process.hpp"
#include "source/store.hpp"

namespace tarn {

constinit Background background;

namespace {

constexpr std::uint64_t nap_ms_least = 10;  // Between two looks, however much is due.
constexpr std::uint64_t end_wait_ms = 1000;  // For a purge that is under way at the end,
constexpr std::uint64_t end_look_ms = 50;    // and how often it is looked for.

}  // namespace

void upkeep() noexcept {
  store.purge_when_due(os::clock_coarse_ms());
  background.provide();
}

void Background::run() noexcept {
  while (store.purger.goes_on()) {
    const std::uint64_t now = os::clock_coarse_ms();
    store.purge_when_due(now);
    store.purger.lie_down();  // Before the look: who gives after it wakes the thread.
    const std::uint64_t due = store.purge_due_ms();
    if (due == UINT64_MAX) {
      store.purger.sleep();
    } else {
      store.purger.nap(due > now + nap_ms_least ? due - now : nap_ms_least);
    }
  }
  background.left_.store(1, std::memory_order_release);
  os::word_wake(&background.left_);
}

bool Background::begin() noexcept {
  State seen = State::none;
  if (!state_.compare_exchange_strong(seen, State::starting, std::memory_order_relaxed)) {
    return seen != State::refused && seen != State::ended;
  }
  store.purger.begin();
  left_.store(0, std::memory_order_relaxed);
  const OutOfScope not_the_programs_default;  // libc allocates for the thread.
  const bool begun = os::thread_begin_own(run, "tarn-purge", &thread_);
  // Release: pairs with end().
  state_.store(begun ? State::there : State::refused, std::memory_order_release);
  return begun;
}

bool Background::start() noexcept {
  want();
  State refused = State::refused;
  state_.compare_exchange_strong(refused, State::none, std::memory_order_relaxed);
  return begin();
}

void Background::end() noexcept {
  // Acquire: pairs with begin().
  if (state_.exchange(State::ended, std::memory_order_acquire) != State::there) return;
  store.purger.end();
  for (std::uint64_t waited = 0; waited < end_wait_ms; waited += end_look_ms) {
    if (left_.load(std::memory_order_acquire) != 0) {  // Pairs with run().
      os::thread_join_own(thread_);
      return;
    }
    os::word_wait_for(&left_, 0, end_look_ms);
  }
}

void Background::recover_after_fork() noexcept {
  if (state_.load(std::memory_order_relaxed) == State::ended) return;
  state_.store(State::none, std::memory_order_relaxed);
}

}  // namespace tarn
