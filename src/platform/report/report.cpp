// report: see report.hpp.
//
// SPDX-License-Identifier: MIT
#include "platform/report/report.hpp"

#include "platform/base/check.hpp"
#include "platform/os/code.hpp"
#include "platform/os/process.hpp"
#include "tarn/detail/hexadecimal.h"

namespace tarn {

Line& Line::text(const char* words, std::size_t length) noexcept {
  for (std::size_t i = 0; i < length && length_ < bytes_max - 1; ++i) text_[length_++] = words[i];
  return *this;
}

Line& Line::text(const char* words) noexcept {
  std::size_t length = 0;
  while (words[length] != '\0') ++length;
  return text(words, length);
}

Decimal::Decimal(std::uint64_t number) noexcept {
  do {
    TARN_ASSERT(first_ != 0);
    digits_[--first_] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
}

Line& Line::decimal(std::uint64_t number) noexcept {
  const Decimal digits(number);
  return text(digits.text(), digits.length());
}

Line& Line::address(const void* p) noexcept {
  return hexadecimal(reinterpret_cast<std::uintptr_t>(p));
}

Line& Line::site(const void* p) noexcept {
  const void* const call = static_cast<const char*>(p) - 1;
  char module[64];
  std::uintptr_t offset = 0;
  if (!os::find_module(call, module, sizeof module, &offset)) return address(call);
  return text(module).text("+").hexadecimal(offset).text(" (").address(call).text(")");
}

Line& Line::hexadecimal(std::uint64_t value) noexcept {
  char digits[TARN_HEXADECIMAL_MAX];
  const std::size_t first = tarn_hexadecimal(digits, value);
  return text("0x").text(digits + first, sizeof digits - first);
}

std::size_t Line::copy(char* to, std::size_t room) const noexcept {
  if (room == 0) return 0;
  const std::size_t length = length_ < room ? length_ : room - 1;
  for (std::size_t i = 0; i < length; ++i) to[i] = text_[i];
  to[length] = '\0';
  return length;
}

void Line::print() noexcept {
  TARN_ASSERT(length_ < bytes_max);
  text_[length_++] = '\n';
  os::write_error(text_, length_);
  length_ = 0;
}

void check_failed(const char* condition, const char* file, int line) noexcept {
  Line()
      .text("tarn: internal error: ")
      .text(file)
      .text(":")
      .decimal(static_cast<std::uint64_t>(line))
      .text(": ")
      .text(condition)
      .text(" does not hold; the heap is damaged or the library has a defect")
      .print();
  os::process_abort();
}

}  // namespace tarn
