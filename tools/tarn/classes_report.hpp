// classes_report: what `tarn classes` found, as text, as JSON and as source code.
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
  double fill = 0;        // Of what is reserved, what is asked for.
  std::size_t moves = 0;  // Of a block that grows from the least size to the largest,
  double copied = 0;      // and how much of it is copied then: times its last size.

  double slack() const noexcept { return 1 - fill; }
};

struct ClassesResult {
  SizeCounts counts;
  std::string source;                // The file, or the program's name.
  TableFigures best;                 // Of as many classes as were asked for.
  bool is_knee = false;              // or as are worth it.
  std::vector<TableFigures> others;  // Ready-made ones.
  std::vector<std::pair<std::size_t, double>> slack_by_count;  // Of the best tables.
};

TableFigures figures_of(std::string name, const SizeCounts& counts,
                        std::vector<std::size_t> classes);

// Ready-made tables for sizes that are all equally frequent, as `tarn_class_fill` has it.
std::vector<TableFigures> uniform_tables(std::size_t least, std::size_t most);
// For requests: those that a heap takes, and the classes that every heap has.
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
