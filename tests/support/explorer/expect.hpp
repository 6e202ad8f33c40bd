// expect: an exploration as a test. TARN_EXPLORER_RUNS: how many runs a scenario may have; those
// that need more are explored so far, and say so.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include "explorer.hpp"

namespace explorer {

inline Outcome expect_kept(const Scenario& scenario) {
  const char* const runs = std::getenv("TARN_EXPLORER_RUNS");
  const Outcome outcome =
      explore(scenario, runs == nullptr ? 1000 : std::strtoull(runs, nullptr, 10));
  EXPECT_FALSE(outcome.is_broken) << scenario.name;
  std::printf("%s: %llu runs, %llu of them redundant, %llu steps%s\n", scenario.name.c_str(),
              static_cast<unsigned long long>(outcome.runs),
              static_cast<unsigned long long>(outcome.redundant),
              static_cast<unsigned long long>(outcome.steps),
              outcome.is_complete ? ": complete" : "");
  return outcome;
}

}  // namespace explorer
