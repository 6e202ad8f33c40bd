// report_text: numbers, names as lines of text and as strings of JSON, and a buffer for them.
//
// SPDX-License-Identifier: MIT
#include "platform/report/report_text.hpp"

#include <cstring>

#include "platform/base/check.hpp"
#include "platform/report/report.hpp"
#include "tarn/detail/hexadecimal.h"

namespace tarn {

namespace {

bool continues(char letter) noexcept { return (static_cast<unsigned char>(letter) & 0xc0) == 0x80; }

// The number of bytes of the UTF-8 letter that begins there, 0 for none. *code: its number in
// Unicode. Nothing is read behind a '\0'.
std::size_t utf8_letter(const char* at, std::uint32_t* code) noexcept {
  const auto first = static_cast<unsigned char>(*at);
  if (first < 0x80) {
    *code = first;
    return 1;
  }
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  *code = first & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!continues(at[i])) return 0;
    *code = *code << 6 | (static_cast<unsigned char>(at[i]) & 0x3f);
  }
  // The shortest form only, no halves of UTF-16, nothing beyond Unicode.
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_half = *code >= 0xd800 && *code <= 0xdfff;
  return *code < least[bytes] || is_half || *code > 0x10ffff ? 0 : bytes;
}

}  // namespace

void ReportText::put(const char* letters, std::size_t bytes) noexcept {
  while (bytes > 0 && !has_failed_) {
    TARN_ASSERT(used_ <= capacity_);
    if (used_ == capacity_ && !flush()) return;
    const std::size_t room = capacity_ - used_;
    const std::size_t fits = bytes < room ? bytes : room;
    std::memcpy(buffer_ + used_, letters, fits);
    used_ += fits;
    letters += fits;
    bytes -= fits;
  }
}

bool ReportText::flush() noexcept {
  if (used_ != 0) has_failed_ = write_(context_, buffer_, used_) != 0;
  used_ = 0;
  return !has_failed_;
}

ReportText& ReportText::text(const char* words) noexcept {
  std::size_t length = 0;
  while (words[length] != '\0') ++length;
  put(words, length);
  return *this;
}

ReportText& ReportText::decimal(std::uint64_t number) noexcept {
  const Decimal digits(number);
  put(digits.text(), digits.length());
  return *this;
}

ReportText& ReportText::grouped(std::uint64_t number) noexcept {
  const Decimal digits(number);
  for (std::size_t i = 0; i < digits.length(); ++i) {
    if (i != 0 && (digits.length() - i) % 3 == 0) put(",", 1);
    put(digits.text() + i, 1);
  }
  return *this;
}

ReportText& ReportText::column(std::uint64_t number, std::size_t columns) noexcept {
  const std::size_t digits = Decimal(number).length();
  TARN_ASSERT(digits != 0);
  for (std::size_t i = digits + (digits - 1) / 3; i < columns; ++i) put(" ", 1);
  return grouped(number);
}

ReportText& ReportText::hexadecimal(std::uint64_t number) noexcept {
  char digits[TARN_HEXADECIMAL_MAX];
  const std::size_t first = tarn_hexadecimal(digits, number);
  put(digits + first, sizeof digits - first);
  return *this;
}

ReportText& ReportText::indent(std::size_t depth) noexcept {
  for (; depth > 0; --depth) put("  ", 2);
  return *this;
}

ReportText& ReportText::visible(const char* name) noexcept {
  while (*name != '\0' && !has_failed_) {
    std::uint32_t code = 0;
    std::size_t bytes = utf8_letter(name, &code);
    const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    if (bytes != 0 && !is_control && code != '\\') {
      put(name, bytes);
    } else {
      if (bytes == 0) bytes = 1;
      for (std::size_t i = 0; i < bytes; ++i) {
        const auto byte = static_cast<unsigned char>(name[i]);
        const char escape[] = {'\\', 'x', tarn_hexadecimal_digit(byte >> 4),
                               tarn_hexadecimal_digit(byte)};
        put(escape, sizeof escape);
      }
    }
    name += bytes;
  }
  return *this;
}

ReportText& ReportText::json_string(const char* name) noexcept {
  return text("\"").json_letters(name).text("\"");
}

ReportText& ReportText::json_letters(const char* name) noexcept {
  while (*name != '\0' && !has_failed_) {
    std::uint32_t code = 0;
    const std::size_t bytes = utf8_letter(name, &code);
    if (bytes == 0) {
      text("\\ufffd");
    } else if (code == '"' || code == '\\') {
      const char escape[] = {'\\', *name};
      put(escape, sizeof escape);
    } else if (code < 0x20) {
      const char escape[] = {
          '\\', 'u', '0', '0', tarn_hexadecimal_digit(code >> 4), tarn_hexadecimal_digit(code)};
      put(escape, sizeof escape);
    } else {
      put(name, bytes);
    }
    name += bytes != 0 ? bytes : 1;
  }
  return *this;
}

}  // namespace tarn
