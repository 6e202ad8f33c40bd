// malloc_memory: all lists in the process's malloc, whichever that is. This is the single heap.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>

#include "link.hpp"

namespace lists {

class MallocMemory {
 public:
  static constexpr bool dies_at_once = false;

  void* allocate_link() noexcept { return std::malloc(sizeof(Link)); }
  void* allocate_text(std::size_t bytes) noexcept { return std::malloc(bytes); }
  void deallocate(void* block) noexcept { std::free(block); }
};

}  // namespace lists
