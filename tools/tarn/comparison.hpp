// comparison: what one program did on several mallocs, and the figures drawn from it.
//
// The first contender is the malloc that the program would have without tarn. Each other one is
// compared with it, run by run, since the n-th runs of all were made right after each other.
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "child.hpp"
#include "program.hpp"
#include "statistics.hpp"
#include "terminal.hpp"

namespace tarn {

struct Contender {
  std::string name;
  std::string library;  // empty for the first contender
  std::vector<Outcome> outcomes;
};

struct Comparison {
  std::vector<std::string> words;
  std::size_t warmups = 0;
  std::vector<Contender> contenders;
  std::vector<Note> notes;

  std::size_t pairs() const noexcept { return contenders.front().outcomes.size(); }
};

struct Metric {
  std::string_view key;    // in the JSON
  std::string_view title;  // in the table
  double (*value)(const Outcome&);
  std::string (*text)(double);
};

std::span<const Metric> metrics();

struct Ratio {
  bool is_known = false;  // false if a run of the first contender used nothing at all
  double of_medians = 0;
  double median_of_pairs = 0;
  Interval interval;  // of median_of_pairs
  std::size_t pairs = 0;

  bool shows_difference() const noexcept {
    return is_known && pairs >= pairs_for_confidence && (interval.low > 1 || interval.high < 1);
  }
};

Spread spread_of(const Contender& contender, const Metric& metric);
Ratio ratio_of(const Contender& contender, const Contender& base, const Metric& metric);

// One sentence that says whether it is faster, whether it uses less memory, and whether so few runs
// can show that.
std::string verdict_of(const Contender& contender, const Contender& base);

std::string comparison_text(const Comparison& comparison, const Terminal& terminal);
nlohmann::ordered_json comparison_json(const Comparison& comparison);

}  // namespace tarn
