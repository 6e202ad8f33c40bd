// output: see output.hpp.
//
// SPDX-License-Identifier: MIT
#include "platform/report/output.hpp"

#include <array>
#include <atomic>
#include <cstring>

#include "platform/os/process.hpp"
#include "platform/os/thread.hpp"
#include "platform/report/report.hpp"

namespace tarn {

constinit ReportOptions report_options;

namespace {

// Held by the thread that reports.
constinit os::Lock reporting;

// What it has not written yet. (Where it would not wait any longer, two threads may mix it up.)
constinit std::array<char, std::size_t{64} << 10> pending{};
constinit std::size_t pending_bytes = 0;

constexpr int looks_most = 100;
constexpr std::uint64_t look_ms = 100;

bool is_given(const char* path) noexcept { return path != nullptr && path[0] != '\0'; }

// Another thread may never end its report: its process's end is what this one waits for.
bool wait_for_others() noexcept {
  std::atomic<std::uint32_t> never{0};
  for (int looks = 0; looks != looks_most; ++looks) {
    if (reporting.try_lock()) return true;
    os::word_wait_for(&never, 0, look_ms);
  }
  return false;
}

}  // namespace

ReportTurn::ReportTurn() noexcept : is_nested_(reporting.held_by_this_thread()) {
  holds_ = !is_nested_ && wait_for_others();
}

ReportTurn::~ReportTurn() {
  if (holds_) reporting.unlock();
}

ReportOutput::ReportOutput() noexcept {
  constexpr int standard_error = 2;
  if (is_given(report_options.file)) {
    file_ = os::open_to_append(report_options.file);
    if (file_ < 0) {
      Line line;
      line.text("tarn: options: report_file: ").text(report_options.file);
      line.text(" cannot be opened; what follows is for it").print();
    }
  }
  if (is_nested() || !is_given(report_options.symbolizer)) return;
  const int output = file_ < 0 ? standard_error : file_;
  os::filter_start(report_options.symbolizer, "symbolize", output, &filter_);
}

ReportOutput::~ReportOutput() {
  finish();
  if (file_ >= 0) os::close_file(file_);
}

void ReportOutput::put(const char* text, std::size_t bytes) noexcept {
  if (is_filtered()) {
    os::filter_write(filter_, text, bytes);  // finish() tells of a failure.
  } else if (file_ >= 0) {
    os::write_all(file_, text, bytes);
  } else {
    os::write_error(text, bytes);
  }
}

void ReportOutput::flush() noexcept {
  if (is_nested() || pending_bytes == 0) return;
  put(pending.data(), pending_bytes);
  pending_bytes = 0;
}

void ReportOutput::write(const char* text, std::size_t bytes) noexcept {
  if (is_nested()) return put(text, bytes);  // The other one has the room.
  if (bytes > pending.size() - pending_bytes) flush();
  if (bytes > pending.size()) return put(text, bytes);
  std::memcpy(pending.data() + pending_bytes, text, bytes);
  pending_bytes += bytes;
}

int ReportOutput::finish() noexcept {
  flush();
  return is_filtered() ? os::filter_finish(filter_) : 0;
}

int write_to_output(void* context, const char* text, std::size_t bytes) noexcept {
  static_cast<ReportOutput*>(context)->write(text, bytes);
  return 0;
}

int write_to_descriptor(void* context, const char* text, std::size_t bytes) noexcept {
  return os::write_all(*static_cast<const int*>(context), text, bytes) ? 0 : -1;
}

}  // namespace tarn
