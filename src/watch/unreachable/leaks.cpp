// leaks: what no pointer reaches when the process ends, or when a signal asks for it, for programs
// that know nothing of it (TARN_OPTIONS=leaks=1; docs/unreachable.md).
//
//   exit:    the program's functions, all destructors, the report; leak_status in place of 0
//   signal:  a thread of the library's own, which waits for it, makes the report
//
// SPDX-License-Identifier: MIT
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "engine/records/thread_default.hpp"
#include "malloc/process/process.hpp"
#include "platform/base/config.hpp"
#include "platform/os/process.hpp"
#include "platform/os/thread.hpp"
#include "platform/report/output.hpp"
#include "platform/report/report.hpp"
#include "platform/settings/settings.hpp"
#include "platform/standstill/standstill.hpp"
#include "watch/unreachable/print.hpp"
#include "watch/unreachable/search.hpp"

namespace tarn {

namespace {

// What `tarn symbolize` ends with when leaks are left after those that are suppressed.
constexpr int leaks_are_left = 1;

// True when there are leaks.
bool tell_leaks(Search& search) noexcept {
  ReportOutput output;
  ReportText out(write_to_output, &output);
  const unsigned format = report_options.json ? unsigned{TARN_UNREACHABLE_JSON} : 0U;
  if (output.is_filtered()) {
    const LeakReport leaks{true, report_options.json, settings[PathOption::suppressions]};
    print(out, search, TARN_UNREACHABLE_JSON, &leaks);
    const int status = output.finish();
    if (status == 0 || status == leaks_are_left) return status != 0;
  }
  const LeakReport leaks{false, false, ""};
  print(out, search, format, &leaks);
  return true;
}

// Of os::with_registers(). *context: whether there are leaks.
void look_for_leaks(void* context, const os::Standing& self) noexcept {
  process.start();
  tarn_unreachable_options options{};
  Search search;
  if (!complete_options(nullptr, "leaks", &options) || !search.run(options, self)) {
    Line line;
    line.text("tarn: leaks: the search could not be made: ");
    if (errno == EBUSY) {
      line.text("this thread was within the library when a signal came").print();
    } else {
      line.text("error ").decimal(static_cast<std::uint64_t>(errno)).print();
    }
    return;
  }
  if (search.result().blocks != 0) *static_cast<bool*>(context) = tell_leaks(search);
}

bool report_leaks() noexcept {
  bool found = false;
  os::with_registers(look_for_leaks, &found);
  return found;
}

// Called by exit() after all else that was to be done, since it was noted before.
void at_exit(int status, void*) noexcept {
  const auto wanted = static_cast<int>(settings[Option::leak_status]);
  if (!report_leaks() || wanted == 0 || status != 0) return;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): called by exit().
  exit(wanted);  // What is left of exit(): what streams hold is written.
}

std::atomic<std::uint32_t> asked{0};

void answer() noexcept {
  // A thread of the library's own blocks all signals. One that does not stop for a search is looked
  // at as a whole, and its stack has what its last search has found.
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, TARN_UNREACHABLE_SIGNAL);
  pthread_sigmask(SIG_UNBLOCK, &stops, nullptr);
  for (std::uint32_t answered = 0;;) {
    const std::uint32_t now = asked.load(std::memory_order_acquire);
    if (now == answered) {
      os::word_wait(&asked, now);
      continue;
    }
    answered = now;
    report_leaks();
  }
}

void on_signal(int) noexcept {
  const int saved = errno;
  asked.fetch_add(1, std::memory_order_release);
  os::word_wake(&asked);
  errno = saved;
}

// The others are of faults, or have a meaning for each process.
bool is_free(int signal) noexcept {
  constexpr int taken[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGCHLD, SIGPIPE};
  for (const int one : taken) {
    if (signal == one) return false;
  }
  return true;
}

void answer_signal(int signal) noexcept {
  const WithoutDefaultHeap not_the_programs_default;  // libc allocates for the thread.
  os::OwnThread thread{};
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  if (is_free(signal) && os::thread_begin_own(answer, "tarn-leaks", &thread) &&
      sigaction(signal, &action, nullptr) == 0) {
    return;
  }
  Line()
      .text("tarn: options: leak_signal: signal ")
      .decimal(static_cast<unsigned>(signal))
      .text(" cannot be waited for; 10 and 12 (SIGUSR1, SIGUSR2) can")
      .print();
}

}  // namespace

}  // namespace tarn

// After the library's own start, and before any other function that exit() will call is noted.
__attribute__((constructor(102))) static void tarn_leaks_begin() noexcept {
  if (tarn::settings[tarn::Option::leaks] == 0) return;
  if (on_exit(tarn::at_exit, nullptr) != 0) return;
  const auto signal = static_cast<int>(tarn::settings[tarn::Option::leak_signal]);
  if (signal != 0) tarn::answer_signal(signal);
}
