// output without an OS: what the program has defined (platform/os/freestanding/process.cpp) gets
// it.
//
// SPDX-License-Identifier: MIT
#include "platform/report/output.hpp"

#include "platform/os/process.hpp"

namespace tarn {

constinit ReportOptions report_options;

ReportTurn::ReportTurn() noexcept = default;
ReportTurn::~ReportTurn() = default;
ReportOutput::ReportOutput() noexcept = default;
ReportOutput::~ReportOutput() = default;

void ReportOutput::write(const char* text, std::size_t bytes) noexcept {
  os::write_error(text, bytes);
}

int ReportOutput::finish() noexcept { return 0; }

int write_to_output(void*, const char* text, std::size_t bytes) noexcept {
  os::write_error(text, bytes);
  return 0;
}

}  // namespace tarn
