// trap_flag: a body of which the processor tells each instruction, by SIGTRAP. x86-64 only.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <x86intrin.h>

namespace support {

inline constexpr unsigned long long trap_flag = 0x100;

// Compiled in place: a call more would be stepped through as well.
template <class Body>
[[gnu::always_inline]] inline void in_steps(Body&& body) {
  __writeeflags(__readeflags() | trap_flag);
  body();
  __writeeflags(__readeflags() & ~trap_flag);
}

}  // namespace support
