// settings: see settings.hpp.
//
// SPDX-License-Identifier: MIT
#include "platform/settings/settings.hpp"

#include <cstring>

#include "platform/os/process.hpp"
#include "platform/report/output.hpp"
#include "platform/report/report.hpp"

namespace tarn {

constinit Settings settings;

namespace {

std::size_t length_until(const char* text, char end) noexcept {
  std::size_t length = 0;
  while (text[length] != '\0' && text[length] != end) ++length;
  return length;
}

bool same(const char* words, const char* text, std::size_t length) noexcept {
  return strlen(words) == length && memcmp(words, text, length) == 0;
}

bool parse_decimal(const char* text, std::size_t length, std::uint64_t* number) noexcept {
  if (length == 0 || length > 18) return false;  // 18 digits fit 64 bits.
  *number = 0;
  for (std::size_t i = 0; i < length; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    *number = *number * 10 + static_cast<std::uint64_t>(text[i] - '0');
  }
  return true;
}

// In lines, since all of them would be cut.
void print_known() noexcept {
  constexpr std::size_t line_letters = 90;
  Line line;
  std::size_t letters = 0;
  const auto add = [&](const char* name, const char* values) noexcept {
    line.text(letters == 0 ? "tarn: options: known: " : ", ").text(name).text("=").text(values);
    letters += strlen(name) + strlen(values);
    if (letters < line_letters) return;
    line.print();
    letters = 0;
  };
  for (const TextOptionRow& row : text_option_rows) add(row.name, row.values);
  for (const OptionRow& row : option_rows) add(row.name, "N");
  if (letters != 0) line.print();
}

void print_refusal(const char* part, std::size_t length, const OptionRow* row) noexcept {
  Line line;
  line.text("tarn: options: '").text(part, length).text("' ignored");
  if (row != nullptr) {
    line.text(": ").text(row->name).text(" takes a whole number from ").decimal(row->min);
    line.text(" to ").decimal(row->max).text(" (").text(row->help).text(")");
  }
  line.print();
  if (row == nullptr) print_known();
}

struct ModeName {
  const char* name;
  Mode mode;
};
constexpr ModeName mode_names[] = {{"fast", Mode::fast},
                                   {"checked", Mode::checked},
                                   {"guarded", Mode::guarded},
                                   {"hardened", Mode::hardened},
                                   {"passthrough", Mode::passthrough}};

bool parse_mode(const char* text, std::size_t length, Mode* mode) noexcept {
  for (const ModeName& known : mode_names) {
    if (!same(known.name, text, length)) continue;
    *mode = known.mode;
    return true;
  }
  return false;
}

const OptionRow* find_row(const char* key, std::size_t length) noexcept {
  for (const OptionRow& row : option_rows) {
    if (same(row.name, key, length)) return &row;
  }
  return nullptr;
}

}  // namespace

bool Settings::set(const char* key, std::size_t key_length, const char* value,
                   std::size_t length) noexcept {
  if (same("mode", key, key_length)) return parse_mode(value, length, &mode_);
  for (std::size_t i = 0; i != path_option_count; ++i) {
    if (!same(text_option_rows[i].name, key, key_length)) continue;
    if (length == 0 || length >= option_path_bytes_max - 32) return false;
    memcpy(paths_[i].data(), value, length);
    paths_[i][length] = '\0';
    return true;
  }
  const OptionRow* const row = find_row(key, key_length);
  std::uint64_t number = 0;
  if (row == nullptr || !parse_decimal(value, length, &number)) return false;
  if (number < row->min || number > row->max) return false;
  values_[static_cast<std::size_t>(row - option_rows.data())] = number;
  return true;
}

std::size_t Settings::read(const char* text) noexcept {
  std::size_t refused = 0;
  while (*text != '\0') {
    const std::size_t part = length_until(text, ',');
    if (part != 0) {
      const std::size_t key = length_until(text, '=') < part ? length_until(text, '=') : part;
      const bool has_value = key < part;
      if (!has_value || !set(text, key, text + key + 1, part - key - 1)) {
        print_refusal(text, part, find_row(text, key));
        ++refused;
      }
    }
    text += part;
    if (*text == ',') ++text;
  }
  return refused;
}

void Settings::read_environment() noexcept {
  const char* const text = os::environment("TARN_OPTIONS");
  if (text == nullptr) return;  // Nothing is written: a small program has a page or two less.
  read(text);
  for (const PathOption option : {PathOption::report_file, PathOption::suppressions}) {
    std::array<char, option_path_bytes_max>& path = paths_[static_cast<std::size_t>(option)];
    if (path[0] != '\0') os::make_absolute(path.data(), path.size());  // The program may go away.
  }
  stacks.set_depth((*this)[Option::stack_depth]);
  report_options = {(*this)[Option::report_json] != 0,
                    static_cast<int>((*this)[Option::misuse_status]),
                    (*this)[PathOption::report_file], (*this)[PathOption::symbolizer]};
}

}  // namespace tarn
