// quantity: see quantity.hpp.
// SPDX-License-Identifier: MIT
#include "quantity.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace tarn {

namespace {

// Three significant digits: a fourth would be noise, and columns stay narrow.
std::string three_digits(double value) {
  const double magnitude = std::fabs(value);
  if (magnitude >= 99.95) return fmt::format("{:.0f}", value);
  if (magnitude >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

}  // namespace

std::string text_of_bytes(double bytes) {
  static constexpr std::array<std::string_view, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  // 999.5 rather than 1024, so that no figure takes four digits.
  while (std::fabs(bytes) >= 999.5 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f} B", bytes);
  return fmt::format("{} {}", three_digits(bytes), units[unit]);
}

std::string text_of_seconds(double seconds) {
  if (seconds >= 120) {
    const double minutes = std::floor(seconds / 60);
    return fmt::format("{:.0f} min {:.0f} s", minutes, std::floor(seconds - minutes * 60));
  }
  if (seconds >= 0.9995) return three_digits(seconds) + " s";
  if (seconds >= 0.0009995) return three_digits(seconds * 1e3) + " ms";
  return fmt::format("{:.0f} us", seconds * 1e6);
}

std::string text_of_count(std::uint64_t count) {
  std::string digits = fmt::format("{}", count);
  for (std::size_t place = digits.size(); place > 3;) {
    place -= 3;
    digits.insert(place, 1, ',');
  }
  return digits;
}

std::string text_of_percent(double fraction) {
  const double percent = fraction * 100;
  return std::fabs(percent) < 9.95 ? fmt::format("{:.1f} %", percent)
                                   : fmt::format("{:.0f} %", percent);
}

std::string text_of_many(std::uint64_t count, std::string_view unit) {
  return fmt::format("{} {}{}", text_of_count(count), unit, count == 1 ? "" : "s");
}

std::string text_of_name(std::string_view name) {
  std::string text;
  for (const char letter : name) {
    const auto code = static_cast<unsigned char>(letter);
    text.push_back(code < 0x20 || code == 0x7f ? '?' : letter);
  }
  return text;
}

}  // namespace tarn
