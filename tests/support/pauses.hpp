// pauses: a body that is stopped at one instruction or two, while something else is done to its
// end. x86-64 only.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

#include "trap_flag.hpp"

namespace support {

class Pauses {
 public:
  Pauses() {
    struct sigaction action {};
    action.sa_sigaction = on_step;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, &before_);
  }
  ~Pauses() { sigaction(SIGTRAP, &before_, nullptr); }
  Pauses(const Pauses&) = delete;
  Pauses& operator=(const Pauses&) = delete;

  // Instructions count from 1. False when the body ended before the first pause. A second one that
  // comes no later is none.
  template <class Body>
  [[gnu::always_inline]] static bool run(std::size_t first, std::size_t second,
                                         std::function<void()> meanwhile, Body&& body) {
    meanwhile_ = std::move(meanwhile);
    steps_ = 0;
    first_ = first;
    second_ = second;
    in_steps(body);
    return steps_ >= first;
  }

 private:
  static void on_step(int, siginfo_t*, void* context) {
    ++steps_;
    if (steps_ == first_ || steps_ == second_) meanwhile_();
    if (steps_ < std::max(first_, second_)) return;
    auto* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    registers[REG_EFL] &= ~static_cast<greg_t>(trap_flag);  // The rest at full speed.
  }

  static inline std::function<void()> meanwhile_;
  static inline std::size_t steps_, first_, second_;
  struct sigaction before_ {};
};

}  // namespace support
