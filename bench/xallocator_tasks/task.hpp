// What the tasks of bench/xallocator share: who serves the blocks, and how figures are printed.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "../meter/figures.hpp"
#include "tarn/compat/xallocator.h"

namespace tarn {

struct Malloc {
  static void* allocate(std::size_t bytes) { return std::malloc(bytes); }
  static void deallocate(void* p, std::size_t) { std::free(p); }
};
struct Xmalloc {
  static void* allocate(std::size_t bytes) { return xmalloc(bytes); }
  static void deallocate(void* p, std::size_t) { xfree(p); }
};

// The status of a program that ran out of memory.
inline constexpr int no_memory = 3;

// Each runs with the contestant that is named, and prints what it found as a JSON object. `number`
// says how much is done. False: the task has no such contestant.
bool task_bare(std::string_view contestant, std::size_t number);
bool task_used(std::string_view contestant, std::size_t number);
bool task_own(std::string_view contestant, std::size_t number);
bool task_own_two(std::string_view contestant, std::size_t number);
bool task_handed(std::string_view contestant, std::size_t number);
bool task_pair(std::string_view contestant, std::size_t number);
bool task_containers(std::string_view contestant, std::size_t number);

}  // namespace tarn
