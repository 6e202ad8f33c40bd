// report_text: writes a report, as text or as JSON, through a function of the caller's, without
// allocating.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn {

class ReportText {
 public:
  // Takes a part of the report. Returns 0, or anything else when it could not be written.
  using Write = int (*)(void* context, const char* text, std::size_t bytes);

  ReportText(Write write, void* context) noexcept : write_(write), context_(context) {}

  // After a write has failed, nothing more is written.
  ReportText& text(const char* words) noexcept;
  ReportText& decimal(std::uint64_t number) noexcept;  // 12345
  ReportText& grouped(std::uint64_t number) noexcept;  // 12,345
  // The grouped number, at the right of so many columns.
  ReportText& column(std::uint64_t number, std::size_t columns) noexcept;
  ReportText& hexadecimal(std::uint64_t number) noexcept;  // 1f
  ReportText& indent(std::size_t depth) noexcept;
  // A name, with \x1b and the like for what is no visible letter, so that it stays in its line.
  ReportText& visible(const char* name) noexcept;
  ReportText& json_letters(const char* name) noexcept;  // A name as a part of a string.
  ReportText& json_string(const char* name) noexcept;   // A name as a string, in quotation marks.

  bool has_failed() const noexcept { return has_failed_; }
  bool flush() noexcept;  // False when a write has failed, now or before.

 private:
  void put(const char* letters, std::size_t bytes) noexcept;

  static constexpr std::size_t capacity_ = 512;
  Write write_;
  void* context_;
  std::size_t used_ = 0;
  bool has_failed_ = false;
  char buffer_[capacity_];
};

}  // namespace tarn
