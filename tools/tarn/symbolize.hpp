// symbolize: the verb `tarn symbolize`. It passes a report of misuse on, with the functions and
// lines of its calls. The library runs it for the reports of programs that `tarn run` has started.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "run.hpp"

namespace tarn {

// Its exit status when a report has leaks. The library knows it, too.
inline constexpr int status_leaks = 1;

struct SymbolizeOptions {
  std::vector<std::string> files;  // None: those of the process.
  std::string suppressions;        // A file; else the one that a report names.
  int process = 0;                 // 0: the one that has started this one.
};

void add_symbolize_verb(CLI::App& app, SymbolizeOptions& options);
Ending symbolize_verb(const SymbolizeOptions& options);

}  // namespace tarn
