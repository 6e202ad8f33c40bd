// run: the verb `tarn run`: one program on tarn's malloc and its account, or a comparison.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "terminal.hpp"

namespace tarn {

struct RunOptions {
  std::vector<std::string> words;  // PROGRAM and ARGS
  std::string library;
  std::string json;
  bool has_class_table = false;
  bool is_hardened = false;
  bool is_checked = false;
  bool is_guarded = false;
  std::size_t guard_every = 0;  // Of so many blocks one is guarded; 0: not said.
  bool finds_leaks = false;
  std::string suppressions;
  bool is_quiet = false;
  bool wants_color = false;
  bool refuses_color = false;

  std::size_t pairs = 0;  // --compare N; 0 for a plain run
  std::size_t warmups = 1;
  std::vector<std::string> rivals;  // --against
  bool shows_output = false;
  bool allows_failure = false;

  // Of malloc, as TARN_OPTIONS has it; empty: what the user's TARN_OPTIONS says (with --leaks, if
  // it says nothing, checked: fast blocks do not know where they come from).
  std::string mode() const {
    return is_hardened ? "hardened" : is_checked ? "checked" : is_guarded ? "guarded" : "";
  }
  ColorChoice color() const noexcept {
    if (refuses_color) return ColorChoice::never;
    return wants_color ? ColorChoice::always : ColorChoice::automatic;
  }
};

// How tarn ends: with a status, or by the same signal as its program.
struct Ending {
  int status = 0;
  int signal = 0;
};

void add_run_verb(CLI::App& app, RunOptions& options);
// Checks what no option can check alone. Throws Failure.
void check_options(const CLI::App& run);
Ending run_verb(const RunOptions& options);

}  // namespace tarn
