// options: the command line of the exerciser, read and checked.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "exerciser.hpp"

namespace lists {

// Where lists take their memory from: see malloc_memory.hpp, heap_memory.hpp and so on.
enum class Variant { malloc, heap, smartheap, bump };

const char* name_of(Variant variant) noexcept;

struct Options {
  Plan plan;
  Variant variant = Variant::malloc;
  std::string json_file;  // Empty: none.
  std::string swap_folder = "/var/tmp";
  bool limit_half = false;        // Half of the peak of a run without limit.
  std::uint64_t limit_bytes = 0;  // 0: no limit.
  std::uint64_t limited_to = 0;   // Set by the parent of a limited run, for its report.

  bool limited() const noexcept { return limit_half || limit_bytes != 0; }
};

// Prints and ends the process on --help and on what it does not understand (status 2).
Options read_options(int count, char** words);

}  // namespace lists
