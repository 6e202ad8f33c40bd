// report: the result of a run, as a table for people and as JSON for programs.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "exerciser.hpp"
#include "options.hpp"
#include "process_usage.hpp"

namespace lists {

void print_report(const Options& options, const Outcome& outcome, const ProcessUsage& usage);

// Returns false, and says why on stderr, if options.json_file cannot be written.
bool write_json(const Options& options, const Outcome& outcome, const ProcessUsage& usage);

}  // namespace lists
