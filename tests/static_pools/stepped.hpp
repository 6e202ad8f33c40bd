// stepped: the operations whose instructions are counted, each a function that does nothing else,
// as a release build has them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

// One kind of pool or heap.
struct Stepped {
  const char* name;
  std::size_t blocks;
  void* (*allocate)();
  void (*deallocate)(void* p);
};

// What is asked of heaps: not known when these are compiled.
extern std::size_t stepped_bytes;

extern const Stepped stepped[];
extern const std::size_t stepped_count;
