// report_text: the letters of a report on their way to whoever takes them, without allocating.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "tarn/tree_report.h"

namespace tarn {

class ReportText {
 public:
  ReportText(tarn_tree_write write, void* context) noexcept : write_(write), context_(context) {}

  // After a write that failed nothing is written any more.
  ReportText& text(const char* words) noexcept;
  ReportText& decimal(std::uint64_t number) noexcept;  // 12345
  ReportText& grouped(std::uint64_t number) noexcept;  // 12,345
  ReportText& indent(std::size_t depth) noexcept;
  // A name so that it stays in its line: \x1b for what is no visible letter.
  ReportText& visible(const char* name) noexcept;
  ReportText& json_string(const char* name) noexcept;  // With its quotation marks.

  bool has_failed() const noexcept { return has_failed_; }
  bool flush() noexcept;  // False: a write has failed, now or before.

 private:
  void put(const char* letters, std::size_t bytes) noexcept;

  static constexpr std::size_t capacity_ = 512;
  tarn_tree_write write_;
  void* context_;
  std::size_t used_ = 0;
  bool has_failed_ = false;
  char buffer_[capacity_];
};

}  // namespace tarn
