// compare: `tarn run --compare N`: is the program faster on tarn's malloc?
// SPDX-License-Identifier: MIT
#pragma once

#include "result_file.hpp"
#include "run.hpp"
#include "terminal.hpp"

namespace tarn {

inline constexpr std::size_t pairs_max = 10000;

Ending compare(const RunOptions& options, Terminal& terminal, ResultFile& result);

}  // namespace tarn
