// settings: the parser of TARN_OPTIONS against another one, written with strings. A text is raw
// bytes or words of the language in any order.
//
// SPDX-License-Identifier: MIT
#include "platform/settings/settings.hpp"

#include <array>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <unistd.h>

#include "input.hpp"

namespace tarn::fuzz {

namespace {

struct Expected {
  std::array<std::uint64_t, option_count> values{};
  std::array<std::string, path_option_count> paths;
  std::size_t refused = 0;
};

bool read_number(std::string_view text, std::uint64_t* number) {
  if (text.empty() || text.size() > 18) return false;
  if (text.find_first_not_of("0123456789") != std::string_view::npos) return false;
  *number = std::stoull(std::string(text));
  return true;
}

bool apply(Expected& expected, std::string_view part) {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view key = part.substr(0, equals);
  const std::string_view value = part.substr(equals + 1);
  if (key == "mode") return value == "fast";
  for (std::size_t i = 0; i < path_option_count; ++i) {
    if (key != text_option_rows[i].name) continue;
    if (value.empty() || value.size() >= option_path_bytes_max - 32) return false;
    expected.paths[i] = value;
    return true;
  }
  for (std::size_t i = 0; i < option_count; ++i) {
    std::uint64_t number = 0;
    if (key != option_rows[i].name || !read_number(value, &number)) continue;
    if (number < option_rows[i].min || number > option_rows[i].max) return false;
    expected.values[i] = number;
    return true;
  }
  return false;
}

Expected parse(std::string_view text) {
  Expected expected;
  for (std::size_t i = 0; i < option_count; ++i) expected.values[i] = option_rows[i].fallback;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    if (!part.empty() && !apply(expected, part)) ++expected.refused;
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return expected;
}

std::string make_text(Input& input) {
  std::string text;
  if (input.byte() % 4 == 0) {
    while (!input.empty()) {
      const char c = static_cast<char>(input.byte());
      if (c != '\0') text += c;
    }
    return text;
  }
  static constexpr std::array<const char*, 11> words = {
      "=",           ",", "mode", "fast", "account",           "symbolizer",
      "some/folder", "-", " ",    "0",    "999999999999999999"};
  while (input.has_step()) {
    const std::size_t choice = input.below(words.size() + option_count + 3);
    if (choice < words.size()) {
      text += words[choice];
    } else if (choice < words.size() + option_count) {
      text += option_rows[choice - words.size()].name;
      text += '=';
    } else if (choice == words.size() + option_count) {
      text += std::to_string(input.magnitude(64));
    } else if (choice == words.size() + option_count + 1) {
      text.append(input.below(5000), 'x');
    } else {
      text += ',';
    }
  }
  return text;
}

// Refusals go to standard error by the thousand.
std::size_t read_quietly(Settings& settings, const char* text) {
  static const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const int saved = dup(STDERR_FILENO);
  dup2(nowhere, STDERR_FILENO);
  const std::size_t refused = settings.read(text);
  dup2(saved, STDERR_FILENO);
  close(saved);
  return refused;
}

}  // namespace

void run(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::string text = make_text(input);
  const Expected expected = parse(text);
  Settings settings;
  TARN_REQUIRE(read_quietly(settings, text.c_str()) == expected.refused);
  for (std::size_t i = 0; i < path_option_count; ++i) {
    TARN_REQUIRE(settings[static_cast<PathOption>(i)] == expected.paths[i]);
  }
  for (std::size_t i = 0; i < option_count; ++i) {
    TARN_REQUIRE(settings[static_cast<Option>(i)] == expected.values[i]);
  }
}

}  // namespace tarn::fuzz
