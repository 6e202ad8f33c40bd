// child: starts one program, waits for it, and reports how it ended and what it used.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/resource.h>

#include <string>
#include <vector>

#include "signals.hpp"

namespace tarn {

struct Launch {
  std::vector<std::string> words;        // the program, looked up as by execvp, and its arguments
  std::vector<std::string> environment;  // "NAME=value", complete
  int input = -1;                        // descriptors that become 0, 1 and 2; -1: unchanged
  int output = -1;
  int errors = -1;
};

struct Outcome {
  pid_t pid = 0;
  int wait_status = 0;  // as wait4 gives it
  rusage usage{};       // the program's, and that of the children that it waited for
  double wall_seconds = 0;
  int exec_error = 0;  // errno when the program could not be started; the rest is empty then
  int end_signal = 0;  // a signal asked tarn to end meanwhile: no further runs

  bool has_exited() const noexcept;
  bool has_succeeded() const noexcept;
  int exit_status() const noexcept;  // -1 when it died by a signal
  int signal() const noexcept;       // 0 when it exited
  double user_seconds() const noexcept;
  double system_seconds() const noexcept;
  double peak_rss_bytes() const noexcept;
};

// Waits until the program has ended, relaying signals. Throws Failure when no process could be
// made.
Outcome run_child(const Launch& launch, const SignalGate& gate);
// Throws Failure, with the status that shells use, if `word` could not be started.
void check_started(const Outcome& outcome, const std::string& word);

}  // namespace tarn
