// child: see child.hpp.
// SPDX-License-Identifier: MIT
#include "child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "descriptor.hpp"
#include "failure.hpp"
#include "quantity.hpp"

namespace tarn {

namespace {

double seconds_of(const timeval& time) noexcept {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Only async-signal-safe calls from here on: this is the child of a fork.
[[noreturn]] void become(char* const* words, char* const* environment, const Launch& launch,
                         const SignalGate& gate, int report) noexcept {
  const std::array<int, 3> replacements = {launch.input, launch.output, launch.errors};
  bool is_ready = true;
  for (int target = 0; target < 3; ++target) {
    const int source = replacements[static_cast<std::size_t>(target)];
    if (source >= 0) is_ready = ::dup2(source, target) == target && is_ready;
  }
  gate.restore();
  if (is_ready) ::execvpe(words[0], words, environment);
  const int error = errno;
  const ssize_t written = ::write(report, &error, sizeof error);
  ::_exit(written == sizeof error ? status_not_found : status_refused);
}

int read_exec_error(int descriptor) noexcept {
  int error = 0;
  ssize_t got;
  do {
    got = ::read(descriptor, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

// Returns once the program has ended. Notes in `outcome` how it ended, and which signal asked tarn
// to end meanwhile.
void attend(Outcome& outcome, const SignalGate& gate) {
  for (;;) {
    const siginfo_t info = gate.next();
    if (info.si_signo != SIGCHLD) {
      if (should_relay(info, standing_towards(outcome.pid))) relay(info, outcome.pid);
      if (gate.asks_to_end(info.si_signo)) outcome.end_signal = info.si_signo;
      continue;
    }
    for (;;) {
      int status = 0;
      rusage usage{};
      const pid_t pid = ::wait4(outcome.pid, &status, WNOHANG | WUNTRACED, &usage);
      if (pid < 0 && errno != EINTR) {
        throw Failure(status_refused, fmt::format("lost the program: {}", std::strerror(errno)));
      }
      if (pid <= 0) break;
      if (WIFSTOPPED(status)) {
        follow_stop(WSTOPSIG(status));
        continue;
      }
      outcome.wait_status = status;
      outcome.usage = usage;
      return;
    }
  }
}

}  // namespace

bool Outcome::has_exited() const noexcept { return WIFEXITED(wait_status); }
bool Outcome::has_succeeded() const noexcept { return has_exited() && exit_status() == 0; }
int Outcome::exit_status() const noexcept { return has_exited() ? WEXITSTATUS(wait_status) : -1; }
int Outcome::signal() const noexcept {
  return WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
}
double Outcome::user_seconds() const noexcept { return seconds_of(usage.ru_utime); }
double Outcome::system_seconds() const noexcept { return seconds_of(usage.ru_stime); }
double Outcome::peak_rss_bytes() const noexcept {
  return static_cast<double>(usage.ru_maxrss) * 1024;  // Linux counts it in KiB.
}

Outcome run_child(const Launch& launch, const SignalGate& gate) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Failure(status_refused, fmt::format("no pipe: {}", std::strerror(errno)));
  }
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const std::vector<char*> words = pointers_to(launch.words);
  const std::vector<char*> environment = pointers_to(launch.environment);

  Outcome outcome;
  const auto start = std::chrono::steady_clock::now();
  // fork, not vfork: the peak RSS of a child begins with that of the memory from which it calls
  // exec. A forked copy has hardly any, while vfork would count all of tarn's.
  outcome.pid = ::fork();
  if (outcome.pid < 0) {
    throw Failure(status_refused, fmt::format("cannot start a process: {}", std::strerror(errno)));
  }
  if (outcome.pid == 0) {
    become(words.data(), environment.data(), launch, gate, writing.number());
  }
  writing.reset();
  outcome.exec_error = read_exec_error(reading.number());
  attend(outcome, gate);
  outcome.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

void check_started(const Outcome& outcome, const std::string& word) {
  const int error = outcome.exec_error;
  if (error == 0) return;
  const std::string name = text_of_name(word);
  // A script whose interpreter is missing gives ENOENT as well, although the script exists.
  const bool is_path = word.find('/') != std::string::npos;
  if (error == ENOENT && is_path && ::access(word.c_str(), F_OK) == 0) {
    throw Failure(status_not_executable,
                  fmt::format("cannot run '{}': the interpreter that it names is missing", name));
  }
  if (error == ENOENT) {
    throw Failure(status_not_found,
                  is_path ? fmt::format("cannot run '{}': there is no such file", name)
                          : fmt::format("cannot run '{}': not found in PATH", name));
  }
  throw Failure(status_not_executable,
                fmt::format("cannot run '{}': {}", name, std::strerror(error)));
}

}  // namespace tarn
