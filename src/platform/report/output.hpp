// output: where reports go: standard error, the file of report_file, or through the program of
// symbolizer, which adds names and lines. One report at a time is written; nothing is allocated.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/os/filter.hpp"

namespace tarn {

// What TARN_OPTIONS say of reports. Written at the library's start. Paths: null or "" for none.
struct ReportOptions {
  bool json = false;
  int status = 0;  // 0: a misuse ends the process by SIGABRT.
  const char* file = nullptr;
  const char* symbolizer = nullptr;
};
extern ReportOptions report_options;

// While it lives, reports of other threads wait, up to some seconds.
class ReportTurn {
 public:
  ReportTurn() noexcept;
  // NOLINTNEXTLINE(performance-trivially-destructible): where there is an OS, it unlocks.
  ~ReportTurn();
  ReportTurn(const ReportTurn&) = delete;
  ReportTurn& operator=(const ReportTurn&) = delete;

  // Within another one, of the same thread.
  bool is_nested() const noexcept { return is_nested_; }
  // They wait for ever: the thread is about to end the process.
  void keep() noexcept { holds_ = false; }

 private:
  bool is_nested_ = false;
  bool holds_ = false;
};

// Where a report goes that is being written: at once, up to 64 KiB of it, so that reports of
// several processes do not mix.
class ReportOutput : public ReportTurn {
 public:
  ReportOutput() noexcept;
  ~ReportOutput();

  void write(const char* text, std::size_t bytes) noexcept;

  // It goes through the symbolizer.
  bool is_filtered() const noexcept { return filter_.to >= 0; }

  // All has been written; what goes through the symbolizer has come out of it. Returns its exit
  // status (os::filter_finish), and 0 without it. Where it has failed, all is to be written again:
  // it goes past it from now on.
  int finish() noexcept;

 private:
  void put(const char* text, std::size_t bytes) noexcept;
  void flush() noexcept;

  int file_ = -1;  // -1: standard error.
  os::Filter filter_;
};

// For ReportText: writes to the ReportOutput to which `context` leads.
int write_to_output(void* context, const char* text, std::size_t bytes) noexcept;

// For ReportText: writes to the file whose descriptor, an int, `context` leads to.
int write_to_descriptor(void* context, const char* text, std::size_t bytes) noexcept;

}  // namespace tarn
