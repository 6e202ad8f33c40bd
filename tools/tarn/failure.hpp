// failure: the reason why the command itself cannot go on, as opposed to the program that it runs.
//
// The text says what to do about it. main() prints it after "tarn: " and ends with `status`.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>

namespace tarn {

// The command line cannot be understood or carried out. Shells and their users know 2 as that.
inline constexpr int status_usage = 2;
// The machine refused something (no temporary directory, no process). env and timeout use 125 for
// it.
inline constexpr int status_refused = 125;
// The statuses with which shells end for a program that cannot be executed, and for one that does
// not exist.
inline constexpr int status_not_executable = 126;
inline constexpr int status_not_found = 127;

class Failure : public std::runtime_error {
 public:
  Failure(int status, const std::string& text) : std::runtime_error(text), status_(status) {}
  int status() const noexcept { return status_; }

 private:
  int status_;
};

}  // namespace tarn
