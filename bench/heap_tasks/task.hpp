// What a task is: a name, the numbers that it takes, and a body that measures one maker and prints
// its figures as one JSON object.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "../meter/figures.hpp"

namespace tarn {

struct Request {
  std::string_view maker;
  const char* library;     // Path; ignored for glibc.
  const char* numbers[4];  // The task's own arguments; null from the first that is missing.

  std::uint64_t number(int at, std::uint64_t otherwise) const;
  std::string_view word(int at, std::string_view otherwise) const;
};

// Each returns false where no maker has the name. Arguments with their defaults:
bool task_create(const Request&);       // heaps, blocks in each, heaps alive at a time
bool task_many(const Request&);         // heaps, sizes (see task_life.cpp), blocks in each
bool task_destroy(const Request&);      // blocks, bytes, 1: their pages are taken away before
bool task_swapped(const Request&);      // MiB of blocks, bytes of each, MiB of ballast
bool task_speed(const Request&);        // steps, bytes (0: random small sizes)
bool task_scaling(const Request&);      // steps in a slice, rounds
bool task_pages(const Request&);        // iterations
bool task_traverse(const Request&);     // iterations, traversals
bool task_holes(const Request&);        // iterations
bool task_drop(const Request&);         // iterations
bool task_tables(const Request&);       // table and sizes (see task_tables.cpp): table, steps, live
                                        // blocks, sizes
bool task_equilibrium(const Request&);  // steps, live blocks, the largest size

}  // namespace tarn
