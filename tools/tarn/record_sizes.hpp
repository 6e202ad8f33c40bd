// record_sizes: runs a program whose every request is counted by size (tools/sizes).
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
  std::uint64_t processes = 0;  // That counted; 0: tarn did not reach the program.
};

// `library`: libtarn.so, beside which libtarn_sizes.so lies. Throws Failure where the program could
// not be started, or what counts is not there. The status is for the caller to judge.
// With `keeps_stdout` the program prints to stderr.
SizeRecord record_sizes(const std::vector<std::string>& words, const std::string& library,
                        bool keeps_stdout, Terminal& terminal);

}  // namespace tarn
