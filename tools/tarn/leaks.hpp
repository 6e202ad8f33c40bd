// leaks: a report of leaks, as the library has written it, with functions and lines, and without
// those that are suppressed.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tarn {

// A line of a file of suppressions, and what it has left out. Such a file has a pattern in each
// line, in which * stands for any letters; it leaves out each leak for which it is found in the
// name of a function, a file or a module of one of its calls. ^ is a name's begin, $ its end.
// "leak:" may be in front, and behind # is what nobody reads.
struct Suppression {
  std::string pattern;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;

  bool covers(std::string_view name) const;
};

// Of the file's text.
std::vector<Suppression> read_suppressions(std::string_view text);

// Nothing when it cannot be read.
std::optional<std::vector<Suppression>> suppressions_in(const std::string& file);

// A member that is a text, or "".
std::string text_in(const nlohmann::ordered_json& object, const char* key);

// Takes the suppressed groups out of a report whose calls are symbolized, joins those that have the
// same heap and calls, and corrects the sums. Returns whether any leak is left.
bool suppress(nlohmann::ordered_json& report, std::vector<Suppression>& suppressions);

// The report as text.
std::string leaks_text(const nlohmann::ordered_json& report,
                       const std::vector<Suppression>& suppressions);

}  // namespace tarn
