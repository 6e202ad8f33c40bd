// Instructions that a piece of the program executes, counted one by one in a child process. Unlike
// what is measured by the clock, this is the same on a busy machine; and pools are as fast as ever,
// while under Valgrind they would be checked.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace tarn {

// 0 where a process must not be traced.
std::uint64_t count_instructions(void (*body)(void*), void* context);

template <class Body>
double instructions_of(Body body) {
  static const std::uint64_t empty = count_instructions([](void*) {}, nullptr);
  const std::uint64_t counted =
      count_instructions([](void* context) { (*static_cast<Body*>(context))(); }, &body);
  return counted == 0 ? 0 : static_cast<double>(counted - empty);
}

}  // namespace tarn
