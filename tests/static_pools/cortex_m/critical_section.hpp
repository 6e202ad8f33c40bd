// critical_section: a lock for one processor that masks interrupts; for Cortex-M0, which has no
// compare-and-swap, and wherever a bounded time is wanted. docs/static_pools.md shows it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

class CriticalSection {
 public:
  void lock() noexcept {
    std::uint32_t before;
    asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(before)::"memory");
    before_ = before;  // Nobody else writes it before unlock().
  }
  void unlock() noexcept { asm volatile("msr primask, %0" ::"r"(before_) : "memory"); }

 private:
  std::uint32_t before_ = 0;
};
