// help: the verbs that explain: `tarn help`, `tarn completion`, and `tarn manual`, which writes the
// source of the manual page when tarn is built.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace tarn {

struct HelpOptions {
  std::string topic;
  std::string shell;
};

void add_help_verbs(CLI::App& app, HelpOptions& options);

// Whether `verb` is one of these.
bool is_help_verb(const CLI::App& verb);

// What such a verb prints. Throws Failure for an unknown topic or shell.
std::string help_text(CLI::App& app, const CLI::App& verb, const HelpOptions& options);

}  // namespace tarn
