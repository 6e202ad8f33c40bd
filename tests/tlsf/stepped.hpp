// stepped: the operations whose instructions are counted, each a function that does nothing else,
// as a release build has them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

// One heap. resize: reallocate, where the block can stay.
struct Stepped {
  const char* name;
  void* (*allocate)(std::size_t bytes);
  void* (*allocate_aligned)(std::size_t bytes, std::size_t alignment);
  void* (*resize)(void* p, std::size_t bytes);
  void (*deallocate)(void* p);
};

extern const Stepped stepped[];
extern const std::size_t stepped_count;
