// comparison: see comparison.hpp; the figures and the verdict.
// SPDX-License-Identifier: MIT
#include "comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "quantity.hpp"

namespace tarn {

namespace {

double minor_faults_of(const Outcome& outcome) {
  return static_cast<double>(outcome.usage.ru_minflt);
}

std::string text_of_faults(double count) {
  return text_of_count(static_cast<std::uint64_t>(count + 0.5));
}

constexpr std::array all_metrics = {
    Metric{"wall_seconds", "wall time", [](const Outcome& o) { return o.wall_seconds; },
           text_of_seconds},
    Metric{"user_seconds", "user time", [](const Outcome& o) { return o.user_seconds(); },
           text_of_seconds},
    Metric{"system_seconds", "kernel time", [](const Outcome& o) { return o.system_seconds(); },
           text_of_seconds},
    Metric{"peak_rss_bytes", "peak RSS", [](const Outcome& o) { return o.peak_rss_bytes(); },
           text_of_bytes},
    Metric{"minor_faults", "minor faults", minor_faults_of, text_of_faults},
};
constexpr const Metric& wall = all_metrics[0];
constexpr const Metric& memory = all_metrics[3];

std::vector<double> values_of(const Contender& contender, const Metric& metric) {
  std::vector<double> values;
  for (const Outcome& outcome : contender.outcomes) values.push_back(metric.value(outcome));
  return values;
}

// "12 % less time (95 % CI 9.0 % to 15 %)"
std::string change_text(const Ratio& ratio, std::string_view what) {
  const double change = ratio.median_of_pairs - 1;
  const double low = change < 0 ? 1 - ratio.interval.high : ratio.interval.low - 1;
  const double high = change < 0 ? 1 - ratio.interval.low : ratio.interval.high - 1;
  return fmt::format("{} {} {} (95 % CI {} to {})", text_of_percent(std::abs(change)),
                     change < 0 ? "less" : "more", what, text_of_percent(low),
                     text_of_percent(high));
}

std::string so_far_text(const Ratio& ratio, std::string_view what) {
  if (!ratio.is_known) return fmt::format("{} unknown", what);
  const double change = ratio.median_of_pairs - 1;
  return fmt::format("{} {} {}", text_of_percent(std::abs(change)), change < 0 ? "less" : "more",
                     what);
}

}  // namespace

std::span<const Metric> metrics() { return all_metrics; }

Spread spread_of(const Contender& contender, const Metric& metric) {
  return spread_of(values_of(contender, metric));
}

Ratio ratio_of(const Contender& contender, const Contender& base, const Metric& metric) {
  const std::vector<double> values = values_of(contender, metric);
  const std::vector<double> base_values = values_of(base, metric);
  Ratio ratio;
  ratio.pairs = std::min(values.size(), base_values.size());
  std::vector<double> pairs;
  for (std::size_t i = 0; i < ratio.pairs; ++i) {
    if (base_values[i] <= 0) return ratio;
    pairs.push_back(values[i] / base_values[i]);
  }
  if (pairs.empty()) return ratio;
  ratio.is_known = true;
  ratio.of_medians = median_of(values) / median_of(base_values);
  ratio.median_of_pairs = median_of(pairs);
  ratio.interval = median_interval(pairs);
  return ratio;
}

std::string verdict_of(const Contender& contender, const Contender& base) {
  const Ratio time = ratio_of(contender, base, wall);
  const Ratio space = ratio_of(contender, base, memory);
  const std::string& name = contender.name;
  const std::string pairs = text_of_many(time.pairs, "pair");
  if (time.pairs < pairs_for_confidence) {
    return fmt::format(
        "{}: no difference that {} of runs can show (it takes at least {}); so far "
        "{}, {}",
        name, pairs, pairs_for_confidence, so_far_text(time, "time"),
        so_far_text(space, "peak memory"));
  }
  if (!time.shows_difference() && !space.shows_difference()) {
    return fmt::format("{}: no difference that {} of runs can show", name, pairs);
  }
  const std::string space_text =
      space.shows_difference()
          ? change_text(space, "peak memory")
          : fmt::format("no difference in memory that {} of runs can show", pairs);
  if (!time.shows_difference()) {
    return fmt::format("{} uses {}; no difference in time that {} of runs can show", name,
                       space_text, pairs);
  }
  return fmt::format("{} is {}: {}; {}", name, time.median_of_pairs < 1 ? "faster" : "slower",
                     change_text(time, "time"), space_text);
}

}  // namespace tarn
