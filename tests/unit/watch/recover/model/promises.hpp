// promises: what is asked of a model whose scenarios are programs, one for each thread: that every
// interleaving keeps the promises, and that each mistake it can be told to make is found.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "exploration.hpp"

namespace tarn::model {

template <class Do>
struct Programs {
  const char* name;
  std::vector<std::vector<Do>> programs;
};

// Run: of a vector of programs and a mistake.
template <class Run, class Do, class Mistake>
Outcome explored(const Programs<Do>& scenario, Mistake mistake, std::uint64_t states_max) {
  return explore([&] { return std::make_unique<Run>(scenario.programs, mistake); }, states_max);
}

template <class Run, class Do, class Mistake>
void expect_promises_kept(const std::vector<Programs<Do>>& scenarios, Mistake no_mistake,
                          std::uint64_t states_max) {
  for (const Programs<Do>& scenario : scenarios) {
    const Outcome outcome = explored<Run>(scenario, no_mistake, states_max);
    EXPECT_EQ(outcome.broken, "") << scenario.name << ": " << told(outcome);
    EXPECT_GT(outcome.states, 50u) << "nothing was explored";
    std::printf("%s: %llu states, %llu runs\n", scenario.name,
                static_cast<unsigned long long>(outcome.states),
                static_cast<unsigned long long>(outcome.runs));
  }
}

// The mistakes from 1 to the last one.
template <class Run, class Do, class Mistake>
void expect_mistakes_found(const std::vector<Programs<Do>>& scenarios, Mistake last,
                           std::uint64_t states_max) {
  for (int m = 1; m <= static_cast<int>(last); ++m) {
    std::string found;
    for (const Programs<Do>& scenario : scenarios) {
      const Outcome outcome = explored<Run>(scenario, static_cast<Mistake>(m), states_max);
      if (outcome.broken.empty()) continue;
      found = outcome.broken;
      std::printf("mistake %d: %s: %s\n", m, scenario.name, told(outcome).c_str());
      break;
    }
    EXPECT_NE(found, "") << "no scenario tells mistake " << m << " from the protocol";
  }
}

}  // namespace tarn::model
