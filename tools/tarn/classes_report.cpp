// classes_report: see classes_report.hpp.
// SPDX-License-Identifier: MIT
#include "classes_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "quantity.hpp"
#include "tarn/heap/heap.h"

namespace tarn {

namespace {

using Json = nlohmann::ordered_json;

constexpr unsigned step_choices[] = {1, 2, 4, 8};

std::vector<std::size_t> table_of(unsigned steps, std::size_t least, std::size_t most,
                                  std::size_t grain) {
  const std::size_t count = tarn_class_table(steps, least, most, grain, nullptr, 0);
  std::vector<std::size_t> classes(count);
  tarn_class_table(steps, least, most, grain, classes.data(), count);
  return classes;
}

// The classes of heaps without a table: steps of 16 up to 1 KiB, then eight for each doubling.
std::vector<std::size_t> common_classes() {
  constexpr std::size_t linear_most = 1024;
  std::vector<std::size_t> classes =
      table_of(64, TARN_HEAP_CLASS_GRAIN, linear_most, TARN_HEAP_CLASS_GRAIN);
  const std::vector<std::size_t> stepped =
      table_of(8, linear_most, TARN_HEAP_CLASS_BYTES_MAX, TARN_HEAP_CLASS_GRAIN);
  classes.insert(classes.end(), stepped.begin() + 1, stepped.end());
  return classes;
}

std::string name_of(unsigned steps) {
  return fmt::format("{} step{} a doubling", steps, steps == 1 ? "" : "s");
}

// Each class that the block leaves is copied whole; it stays in the last one.
double copied_of(const std::vector<std::size_t>& classes, std::size_t first, std::size_t last) {
  double copied = 0;
  for (std::size_t i = first; i < last; ++i) copied += static_cast<double>(classes[i]);
  return copied / static_cast<double>(classes[last]);
}

std::string percent(double part) { return fmt::format("{:.1f} %", part * 100); }

std::string rows_text(const std::vector<TableFigures>& tables) {
  std::string text = fmt::format("{:<22} {:>8} {:>10} {:>8} {:>8} {:>8}\n", "table", "classes",
                                 "asked for", "slack", "moves", "copied");
  for (const TableFigures& table : tables) {
    text +=
        fmt::format("{:<22} {:>8} {:>10} {:>8} {:>8} {:>8.2f}\n", table.name, table.classes.size(),
                    percent(table.fill), percent(table.slack()), table.moves, table.copied);
  }
  return text +
         "moves: of a block that grows from the least size to the largest; copied: so many times "
         "the last\n";
}

// The numbers with commas between them, broken into short lines.
std::string wrapped(const std::vector<std::size_t>& numbers, std::string_view indent) {
  constexpr std::size_t columns = 96;
  std::string text(indent);
  std::size_t line = text.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string word = fmt::format("{}{}", numbers[i], i + 1 < numbers.size() ? "," : "");
    if (line + word.size() + 1 > columns) {
      text += fmt::format("\n{}", indent);
      line = indent.size();
    }
    const bool begins = line == indent.size();
    text += begins ? word : " " + word;
    line += word.size() + (begins ? 0 : 1);
  }
  return text;
}

std::string requests_text(const SizeCounts& counts) {
  std::string text = fmt::format(
      "{} of {}, {} to {} bytes, {} in all", text_of_many(counts.requests, "request"),
      text_of_many(counts.sizes.size(), "size"), text_of_count(counts.sizes.front().bytes),
      text_of_count(counts.sizes.back().bytes), text_of_bytes(static_cast<double>(counts.bytes)));
  if (counts.large_requests != 0) {
    text += fmt::format("\nand {} above 128 KiB ({}), which {} no class",
                        text_of_count(counts.large_requests), text_of_bytes(counts.large_bytes),
                        counts.large_requests == 1 ? "is in" : "are in");
  }
  return text + "\n";
}

std::string summary(const ClassesResult& result) {
  const std::size_t count = result.best.classes.size();
  return fmt::format("{} class{} for {} of {}: {} slack", count, count == 1 ? "" : "es",
                     text_of_many(result.counts.requests, "request"),
                     text_of_many(result.counts.sizes.size(), "size"),
                     percent(result.best.slack()));
}

Json table_json(const TableFigures& table) {
  return {{"name", table.name},          {"class_count", table.classes.size()},
          {"fill", table.fill},          {"slack", table.slack()},
          {"moves", table.moves},        {"copied", table.copied},
          {"class_bytes", table.classes}};
}

Json head_json(std::string_view format) {
  return {{"format", format}, {"format_version", 1}, {"tarn_version", TARN_COMMAND_VERSION}};
}

}  // namespace

TableFigures figures_of(std::string name, const SizeCounts& counts,
                        std::vector<std::size_t> classes) {
  TableFigures figures;
  figures.name = std::move(name);
  figures.fill =
      static_cast<double>(counts.bytes) / static_cast<double>(reserved_bytes(counts, classes));
  const auto first = std::ranges::lower_bound(classes, counts.sizes.front().bytes);
  const auto at = static_cast<std::size_t>(first - classes.begin());
  figures.moves = moves_of_growth(counts, classes);
  figures.copied = copied_of(classes, at, at + figures.moves);
  figures.classes = std::move(classes);
  return figures;
}

std::vector<TableFigures> uniform_tables(std::size_t least, std::size_t most) {
  std::vector<TableFigures> tables;
  for (const unsigned steps : step_choices) {
    TableFigures figures;
    figures.name = name_of(steps);
    figures.classes = table_of(steps, least, most, 1);
    const std::size_t count = figures.classes.size();
    figures.fill = tarn_class_fill(figures.classes.data(), count, least, most);
    figures.moves = count - 1;
    figures.copied = copied_of(figures.classes, 0, count - 1);
    tables.push_back(std::move(figures));
  }
  return tables;
}

std::vector<TableFigures> ready_tables(const SizeCounts& counts) {
  std::vector<TableFigures> tables;
  for (const unsigned steps : step_choices) {
    tables.push_back(figures_of(
        name_of(steps), counts,
        table_of(steps, TARN_HEAP_CLASS_GRAIN, TARN_HEAP_CLASS_BYTES_MAX, TARN_HEAP_CLASS_GRAIN)));
  }
  tables.push_back(figures_of("every heap's classes", counts, common_classes()));
  return tables;
}

std::string classes_text(const ClassesResult& result) {
  std::vector<TableFigures> tables{result.best};
  tables.insert(tables.end(), result.others.begin(), result.others.end());
  std::string text = requests_text(result.counts) + "\n" + rows_text(tables) +
                     "\nslack of the best tables by their number of classes\n";
  std::string counts = fmt::format("{:>8}", "classes");
  std::string slacks = fmt::format("{:>8}", "slack");
  for (const auto& [count, slack] : result.slack_by_count) {
    counts += fmt::format(" {:>7}", count);
    slacks += fmt::format(" {:>7}", percent(slack));
  }
  text += counts + "\n" + slacks + "\n\n";
  text += fmt::format(
      "{}{}\n", summary(result),
      result.is_knee ? "; one more would save less than 0.5 % of what is asked for" : "");
  return text + wrapped(result.best.classes, "  ") + "\n";
}

std::string uniform_text(std::size_t least, std::size_t most,
                         const std::vector<TableFigures>& tables) {
  return fmt::format("sizes from {} to {} bytes, all equally frequent\n\n{}", text_of_count(least),
                     text_of_count(most), rows_text(tables));
}

Json classes_json(const ClassesResult& result) {
  Json json = head_json("tarn-classes");
  json["source"] = result.source;
  json["requests"] = result.counts.requests;
  json["sizes"] = result.counts.sizes.size();
  json["asked_bytes"] = result.counts.bytes;
  json["bytes_least"] = result.counts.sizes.front().bytes;
  json["bytes_most"] = result.counts.sizes.back().bytes;
  json["large_requests"] = result.counts.large_requests;
  json["large_bytes"] = result.counts.large_bytes;
  json["best"] = table_json(result.best);
  json["is_knee"] = result.is_knee;
  json["others"] = Json::array();
  for (const TableFigures& table : result.others) json["others"].push_back(table_json(table));
  json["slack_by_count"] = Json::array();
  for (const auto& [count, slack] : result.slack_by_count) {
    json["slack_by_count"].push_back({{"class_count", count}, {"slack", slack}});
  }
  return json;
}

Json uniform_json(std::size_t least, std::size_t most, const std::vector<TableFigures>& tables) {
  Json json = head_json("tarn-classes-uniform");
  json["bytes_least"] = least;
  json["bytes_most"] = most;
  json["tables"] = Json::array();
  for (const TableFigures& table : tables) json["tables"].push_back(table_json(table));
  return json;
}

std::string classes_code(const ClassesResult& result, Language language) {
  const std::string numbers = wrapped(result.best.classes, "    ");
  if (language == Language::cpp) {
    return fmt::format(
        "// {} (tarn classes).\n"
        "constexpr std::size_t class_bytes[] = {{\n{}}};\n"
        "// tarn::HeapOptions options;\n"
        "// options.class_bytes = class_bytes;\n"
        "// options.class_count = std::size(class_bytes);\n",
        summary(result), numbers);
  }
  return fmt::format(
      "/* {} (tarn classes). */\n"
      "static const size_t class_bytes[] = {{\n{}}};\n"
      "/* tarn_heap_options options = TARN_HEAP_OPTIONS(\n"
      "       .class_bytes = class_bytes,\n"
      "       .class_count = sizeof class_bytes / sizeof *class_bytes); */\n",
      summary(result), numbers);
}

}  // namespace tarn
