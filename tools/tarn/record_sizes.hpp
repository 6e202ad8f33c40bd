// record_sizes: runs a program and counts each of its requests by size (tools/sizes).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "child.hpp"
#include "size_counts.hpp"
#include "terminal.hpp"

namespace tarn {

struct SizeRecord {
  Outcome outcome;
  SizeCounts counts;
  std::uint64_t processes = 0;  // How many processes counted; 0: tarn did not reach the program.
};

// `library` is the path of libtarn.so, beside which libtarn_sizes.so lies. Throws Failure if the
// program could not be started, or the library that counts is missing. The caller judges the
// program's status. With `keeps_stdout` the program prints to stderr.
SizeRecord record_sizes(const std::vector<std::string>& words, const std::string& library,
                        bool keeps_stdout, Terminal& terminal);

}  // namespace tarn
