// report: lines on standard error, without allocating. (What ends the process: misuse.hpp.)
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn {

// A number in decimal digits, without allocating.
class Decimal {
 public:
  explicit Decimal(std::uint64_t number) noexcept;
  const char* text() const noexcept { return digits_ + first_; }
  std::size_t length() const noexcept { return sizeof digits_ - first_; }

 private:
  char digits_[20];
  std::size_t first_ = sizeof digits_;
};

// A line of bounded length, built without allocating; what does not fit is cut.
class Line {
 public:
  static constexpr std::size_t bytes_max = 512;

  Line& text(const char* words) noexcept;
  Line& text(const char* words, std::size_t length) noexcept;
  Line& decimal(std::uint64_t number) noexcept;
  Line& address(const void* p) noexcept;
  Line& hexadecimal(std::uint64_t number) noexcept;
  // The call that returns to p: module+offset, and the address, of its last byte.
  Line& site(const void* p) noexcept;
  // Copies the line with a NUL, as much as there is room for, and returns its length without that.
  std::size_t copy(char* to, std::size_t room) const noexcept;
  void print() noexcept;  // Adds the newline and writes to standard error.

 private:
  char text_[bytes_max];
  std::size_t length_ = 0;
};

}  // namespace tarn
