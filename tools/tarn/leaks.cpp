// leaks: see leaks.hpp.
// SPDX-License-Identifier: MIT
#include "leaks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "quantity.hpp"
#include "symbols.hpp"

namespace tarn {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Whether the pattern, in which * stands for any letters, fits the whole text.
bool fits(std::string_view pattern, std::string_view text) {
  std::size_t star = std::string_view::npos;  // The last one, ...
  std::size_t after = 0;  // ... and where the text that it does not have begins.
  std::size_t p = 0;
  for (std::size_t t = 0; t < text.size();) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++after;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::uint64_t number_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::uint64_t>() : 0;
}

Json calls_in(const Json& group) {
  const auto found = group.find("allocated_at");
  return found != group.end() && found->is_array() ? *found : Json::array();
}

bool covers_any(const Suppression& suppression, const Json& group) {
  return std::ranges::any_of(calls_in(group), [&](const Json& call) {
    return std::ranges::any_of(std::array{"function", "file", "module"}, [&](const char* key) {
      const std::string name = text_in(call, key);
      return !name.empty() && suppression.covers(name);
    });
  });
}

struct Sums {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

// As the library writes calls into a report.
std::string calls_text(std::string_view words, const Json& calls) {
  std::string text;
  std::string label(words);
  for (const Json& call : calls) {
    text += fmt::format("tarn:   {} ", label);
    const std::string module = text_in(call, "module");
    text += module.empty() ? text_in(call, "address")
                           : fmt::format("{}+{} ({})", module, text_in(call, "offset"),
                                         text_in(call, "address"));
    if (call.is_object()) {
      text += text_of({text_in(call, "function"), text_in(call, "file"),
                       static_cast<int>(number_in(call, "line")), call.contains("inlined")});
    }
    text += "\n";
    label = std::string(words.size() - 2, ' ') + "by";
  }
  return text;
}

// Groups of one heap and one stack become one, whose blocks may have several sizes.
Json joined(const Json& groups) {
  std::map<std::string, std::size_t> places;
  Json all = Json::array();
  for (const Json& group : groups) {
    const std::string key =
        calls_in(group).dump() + "\n" + std::to_string(number_in(group, "heap_id"));
    const std::uint64_t bytes = number_in(group, "blocks") * number_in(group, "block_bytes");
    const auto [place, is_new] = places.emplace(key, all.size());
    if (is_new || calls_in(group).empty()) {
      all.push_back(group);
      all.back()["bytes"] = bytes;
      continue;
    }
    Json& same = all[place->second];
    same["bytes"] = number_in(same, "bytes") + bytes;
    same["blocks"] = number_in(same, "blocks") + number_in(group, "blocks");
    same["direct_blocks"] = number_in(same, "direct_blocks") + number_in(group, "direct_blocks");
    same.erase("block_bytes");  // Of several sizes.
  }
  std::stable_sort(all.begin(), all.end(), [](const Json& a, const Json& b) {
    return number_in(a, "bytes") > number_in(b, "bytes");
  });
  return all;
}

}  // namespace

std::string text_in(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool Suppression::covers(std::string_view name) const {
  std::string whole = pattern;
  if (whole.starts_with('^')) {
    whole.erase(0, 1);
  } else {
    whole.insert(0, "*");
  }
  if (whole.ends_with('$')) {
    whole.pop_back();
  } else {
    whole += '*';
  }
  return fits(whole, name);
}

std::vector<Suppression> read_suppressions(std::string_view text) {
  std::vector<Suppression> all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    line = trimmed(line.substr(0, std::min(line.find('#'), line.size())));
    if (line.starts_with("leak:")) line = trimmed(line.substr(5));
    if (!line.empty()) all.push_back({std::string(line), 0, 0});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

std::optional<std::vector<Suppression>> suppressions_in(const std::string& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf() || stream.eof())) return std::nullopt;
  return read_suppressions(text.str());
}

bool suppress(Json& report, std::vector<Suppression>& suppressions) {
  Json left = Json::array();
  Sums gone;
  Sums all;
  Sums direct;
  for (const Json& group : report.value("groups", Json::array())) {
    if (!group.is_object()) continue;
    const std::uint64_t blocks = number_in(group, "blocks");
    const std::uint64_t bytes = number_in(group, "block_bytes");
    const auto by = std::ranges::find_if(
        suppressions, [&](const Suppression& s) { return covers_any(s, group); });
    if (by == suppressions.end()) {
      left.push_back(group);
      all.blocks += blocks;
      all.bytes += blocks * bytes;
      direct.blocks += number_in(group, "direct_blocks");
      direct.bytes += number_in(group, "direct_blocks") * bytes;
      continue;
    }
    by->blocks += blocks;
    by->bytes += blocks * bytes;
    gone.blocks += blocks;
    gone.bytes += blocks * bytes;
  }
  report["blocks"] = all.blocks;
  report["bytes"] = all.bytes;
  report["direct_blocks"] = direct.blocks;
  report["direct_bytes"] = direct.bytes;
  report["suppressed_blocks"] = gone.blocks;
  report["suppressed_bytes"] = gone.bytes;
  report["groups"] = joined(left);
  return !left.empty();
}

std::string leaks_text(const Json& report, const std::vector<Suppression>& suppressions) {
  std::string text = fmt::format(
      "tarn: no pointer reaches {} of {} bytes, {} of {} directly (of {} live ones of {})\n",
      text_of_many(number_in(report, "blocks"), "block"), text_of_count(number_in(report, "bytes")),
      text_of_count(number_in(report, "direct_blocks")),
      text_of_count(number_in(report, "direct_bytes")),
      text_of_count(number_in(report, "live_blocks")),
      text_of_count(number_in(report, "live_bytes")));
  const std::uint64_t missed = number_in(report, "threads_missed");
  if (missed != 0)
    text += fmt::format("tarn: {} threads were not stopped\n", text_of_count(missed));
  for (const Json& group : report["groups"]) {
    const std::uint64_t blocks = number_in(group, "blocks");
    const std::string name = text_in(group, "heap");
    text += fmt::format("tarn: leak: {} bytes, {}{}, {} directly, of the heap {}(number {})\n",
                        text_of_count(number_in(group, "bytes")), text_of_many(blocks, "block"),
                        group.contains("block_bytes")
                            ? " of " + text_of_count(number_in(group, "block_bytes"))
                            : std::string(),
                        text_of_count(number_in(group, "direct_blocks")),
                        name.empty() ? "" : "\"" + name + "\" ", number_in(group, "heap_id"));
    text += calls_text("allocated at", calls_in(group));
  }
  for (const Suppression& suppression : suppressions) {
    if (suppression.blocks == 0) continue;
    text +=
        fmt::format("tarn: suppressed: {} bytes in {} by {}\n", text_of_count(suppression.bytes),
                    text_of_many(suppression.blocks, "block"), suppression.pattern);
  }
  return text;
}

}  // namespace tarn
