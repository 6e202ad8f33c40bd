// stage: the standard descriptors of runs that are compared. Every run reads the same input, and
// its output goes nowhere, so that neither a terminal nor a disk is measured.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>

#include "child.hpp"
#include "descriptor.hpp"

namespace tarn {

class Stage {
 public:
  // Throws Failure if /dev/null or a place for stderr cannot be had.
  Stage();

  // True if stdin is a pipe or the like. It could feed only one of the runs, so it feeds none.
  bool drops_input() const noexcept { return drops_input_; }
  // Fills in the descriptors for the next run. With `is_shown` its output goes to the user.
  void set(Launch& launch, bool is_shown);
  // The end of what the last run wrote to stderr; empty if that was shown.
  std::string captured_errors() const;

 private:
  Descriptor nothing_;
  Descriptor input_;
  Descriptor errors_;
  off_t input_start_ = 0;
  bool has_input_file_ = false;
  bool drops_input_ = false;
  bool was_shown_ = true;
};

}  // namespace tarn
