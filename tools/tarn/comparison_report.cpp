// comparison_report: a comparison as a table for people and as JSON for programs.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "comparison.hpp"
#include "quantity.hpp"
#include "run_report.hpp"

namespace tarn {

namespace {

using Json = nlohmann::ordered_json;

std::string spread_text(const Spread& spread, const Metric& metric) {
  const double half_range = (spread.quartile_high - spread.quartile_low) / 2;
  if (spread.median <= 0) return metric.text(spread.median);
  return fmt::format("{} ± {}", metric.text(spread.median),
                     text_of_percent(half_range / spread.median));
}

Style style_of(const Ratio& ratio) {
  if (!ratio.shows_difference()) return Style::plain;
  return ratio.median_of_pairs < 1 ? Style::good : Style::bad;
}

std::string metric_row(const Contender& contender, const Contender& base, const Metric& metric,
                       const Terminal& terminal) {
  const Ratio ratio = ratio_of(contender, base, metric);
  // Padded before it is coloured, since the codes of a colour take no room on the screen.
  std::string ratios = fmt::format("{:>8} {:>8}", "-", "-");
  std::string interval = "-";
  if (ratio.is_known) {
    ratios = fmt::format("{:>8.3f} {:>8.3f}", ratio.of_medians, ratio.median_of_pairs);
    interval = fmt::format("{:.3f} to {:.3f}", ratio.interval.low, ratio.interval.high);
  }
  return fmt::format("\n  {:<13} {:>20} {:>20} {}  {:>16}", metric.title,
                     spread_text(spread_of(base, metric), metric),
                     spread_text(spread_of(contender, metric), metric),
                     terminal.paint(style_of(ratio), ratios), interval);
}

Json ratio_json(const Ratio& ratio) {
  if (!ratio.is_known) return nullptr;
  return {{"of_medians", ratio.of_medians},
          {"median_of_pairs", ratio.median_of_pairs},
          {"interval_low", ratio.interval.low},
          {"interval_high", ratio.interval.high},
          {"shows_difference", ratio.shows_difference()}};
}

Json contender_json(const Contender& contender, const Contender& base) {
  Json json = {{"name", contender.name},
               {"library", contender.library.empty() ? Json(nullptr) : Json(contender.library)},
               {"verdict", &contender == &base ? Json(nullptr) : Json(verdict_of(contender, base))},
               {"metrics", Json::object()},
               {"runs", Json::array()}};
  for (const Metric& metric : metrics()) {
    const Spread spread = spread_of(contender, metric);
    Json figures = {{"median", spread.median},
                    {"quartile_low", spread.quartile_low},
                    {"quartile_high", spread.quartile_high},
                    {"min", spread.min},
                    {"max", spread.max}};
    if (&contender != &base) figures["ratio"] = ratio_json(ratio_of(contender, base, metric));
    json["metrics"][std::string(metric.key)] = std::move(figures);
  }
  for (const Outcome& outcome : contender.outcomes) {
    Json run = resources_json(outcome);
    run["exit_status"] = outcome.has_exited() ? Json(outcome.exit_status()) : Json(nullptr);
    run["signal"] = outcome.signal() == 0 ? Json(nullptr) : Json(outcome.signal());
    json["runs"].push_back(std::move(run));
  }
  return json;
}

}  // namespace

std::string comparison_text(const Comparison& comparison, const Terminal& terminal) {
  const Contender& base = comparison.contenders.front();
  const bool has_interval = comparison.pairs() >= pairs_for_confidence;
  std::string text = fmt::format(
      "tarn: {} of runs of {}; ± half the quartile range", text_of_many(comparison.pairs(), "pair"),
      terminal.paint(Style::strong, text_of_name(comparison.words.front())));
  for (std::size_t i = 1; i < comparison.contenders.size(); ++i) {
    const Contender& contender = comparison.contenders[i];
    const std::string titles =
        fmt::format("\n  {:<13} {:>20} {:>20}   {} / {}, ratio of", "", base.name,
                    fmt::format("with {}", contender.name), contender.name, base.name);
    const std::string heads =
        fmt::format("\n  {:<13} {:>20} {:>20} {:>8} {:>8}  {:>16}", "", "median", "median",
                    "medians", "pairs", has_interval ? "pairs, 95 % CI" : "pairs, range");
    text += terminal.paint(Style::strong, titles) + terminal.paint(Style::strong, heads);
    for (const Metric& metric : metrics()) text += metric_row(contender, base, metric, terminal);
  }
  for (std::size_t i = 1; i < comparison.contenders.size(); ++i) {
    const std::string verdict = verdict_of(comparison.contenders[i], base);
    text += fmt::format("\n{}", terminal.paint(Style::strong, verdict));
  }
  return text;
}

Json comparison_json(const Comparison& comparison) {
  Json json = {
      {"format", "tarn-compare"},
      {"format_version", 1},
      {"tarn_version", TARN_COMMAND_VERSION},
      {"command", comparison.words},
      {"pairs", comparison.pairs()},
      {"warmups", comparison.warmups},
      {"confidence", comparison.pairs() >= pairs_for_confidence ? Json(confidence) : Json(nullptr)},
      {"notes", Json::array()},
      {"contenders", Json::array()}};
  for (const Note& note : comparison.notes) {
    json["notes"].push_back({{"kind", note.kind}, {"text", note.text}});
  }
  for (const Contender& contender : comparison.contenders) {
    json["contenders"].push_back(contender_json(contender, comparison.contenders.front()));
  }
  return json;
}

}  // namespace tarn
