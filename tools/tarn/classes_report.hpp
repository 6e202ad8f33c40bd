// classes_report: the result of `tarn classes` as text, as JSON and as source code.
// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "size_counts.hpp"

namespace tarn {

struct TableFigures {
  std::string name;
  std::vector<std::size_t> classes;
  double fill = 0;        // The part of the reserved bytes that is asked for.
  std::size_t moves = 0;  // How often a block moves that grows from the least to the largest size.
  double copied = 0;      // The bytes copied by these moves, as a multiple of the last size.

  double slack() const noexcept { return 1 - fill; }
};

struct ClassesResult {
  SizeCounts counts;
  std::string source;                // The file, or the program's name.
  TableFigures best;                 // With as many classes as were asked for, or as pay.
  bool is_knee = false;              // It has as many as pay.
  std::vector<TableFigures> others;  // Ready-made ones.
  std::vector<std::pair<std::size_t, double>> slack_by_count;  // For the best tables.
};

TableFigures figures_of(std::string name, const SizeCounts& counts,
                        std::vector<std::size_t> classes);

// Ready-made tables, judged for sizes that are all equally frequent, as by `tarn_class_fill`.
std::vector<TableFigures> uniform_tables(std::size_t least, std::size_t most);
// Ready-made tables, judged for the given requests: those that a heap takes, and the classes that
// every heap has.
std::vector<TableFigures> ready_tables(const SizeCounts& counts);

std::string classes_text(const ClassesResult& result);
std::string uniform_text(std::size_t least, std::size_t most,
                         const std::vector<TableFigures>& tables);
nlohmann::ordered_json classes_json(const ClassesResult& result);
nlohmann::ordered_json uniform_json(std::size_t least, std::size_t most,
                                    const std::vector<TableFigures>& tables);

enum class Language { c, cpp };
std::string classes_code(const ClassesResult& result, Language language);

}  // namespace tarn
