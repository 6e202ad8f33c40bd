// limited_run: see limited_run.hpp.
//
// SPDX-License-Identifier: MIT
#include "limited_run.hpp"

#include <algorithm>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>

#include "cgroup.hpp"
#include "swap_file.hpp"

namespace lists {

namespace {

constexpr std::uint64_t limit_bytes_min = 8 << 20;
// The most that live strings, their nodes and any malloc's overhead take. It decides only the size
// of the swap file.
constexpr std::uint64_t bytes_per_iteration = 450;
constexpr std::uint64_t swap_bytes_spare = 64 << 20;
constexpr int refusals_max = 100;  // So many in a row: there is no memory, so the child is killed.

// SIGINT and its like stay pending until the parent asks for them, so that no clean-up is skipped.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) sigaddset(&set_, signal);
    sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  ~HeldSignals() { release(); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // The signal that has come, or -1 after a millisecond.
  int wait() const noexcept {
    const timespec millisecond{0, 1'000'000};
    return sigtimedwait(&set_, nullptr, &millisecond);
  }
  void release() const noexcept { sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

struct ChildEnd {
  int status = 0;          // As waitpid gives it.
  int interrupted_by = 0;  // The signal that the parent received, or 0.
  std::uint64_t peak_rss_bytes = 0;
};

[[noreturn]] void become(const std::vector<std::string>& words, const MemoryCgroup* group,
                         bool quiet, const HeldSignals& signals) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (group != nullptr && !group->enter()) {
    std::perror("lists: cannot enter the control group");
    _exit(1);
  }
  if (quiet) {
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
  }
  signals.release();
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  std::perror("lists: cannot start itself again");
  _exit(1);
}

ChildEnd run_child(const std::vector<std::string>& words, const MemoryCgroup* group, bool quiet,
                   const HeldSignals& signals) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) throw Lacking(with_errno("cannot start a child"));
  if (child == 0) become(words, group, quiet, signals);

  ChildEnd end;
  rusage usage{};
  int refusals = 0;
  for (pid_t ended = 0; ended == 0;) {
    const int signal = signals.wait();
    if (signal > 0 && signal != SIGCHLD) {
      end.interrupted_by = signal;
    } else if (group != nullptr) {
      refusals = group->relieve() ? 0 : refusals + 1;
    }
    const bool give_up = end.interrupted_by != 0 || refusals == refusals_max;
    if (give_up) kill(child, SIGKILL);
    ended = wait4(child, &end.status, give_up ? 0 : WNOHANG, &usage);
  }
  end.peak_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return end;
}

std::vector<std::string> child_words(const Options& options, std::uint64_t limit_bytes) {
  const Plan& plan = options.plan;
  std::vector<std::string> words = {"lists",
                                    "--iterations",
                                    std::to_string(plan.iterations),
                                    "--seed",
                                    std::to_string(plan.seed),
                                    "--memory",
                                    name_of(options.variant)};
  if (limit_bytes == 0) return words;  // This run measures.
  if (plan.checksum) words.emplace_back("--checksum");
  words.insert(words.end(), {"--limited-to", std::to_string(limit_bytes)});
  if (!options.json_file.empty()) words.insert(words.end(), {"--json", options.json_file});
  return words;
}

bool killed(const ChildEnd& end) noexcept {
  return WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGKILL;
}

int exit_status_of(const ChildEnd& end) {
  if (WIFEXITED(end.status)) return WEXITSTATUS(end.status);
  std::fprintf(stderr, "lists: the limited run was ended by signal %d%s\n", WTERMSIG(end.status),
               killed(end) ? ": the kernel found no memory for it; raise the limit" : "");
  return 1;
}

ChildEnd run_within(const Options& options, const HeldSignals& signals) {
  std::uint64_t limit_bytes = options.limit_bytes;
  std::uint64_t need_bytes = options.plan.iterations * bytes_per_iteration;
  if (options.limit_half) {
    const ChildEnd end = run_child(child_words(options, 0), nullptr, true, signals);
    if (end.interrupted_by != 0 || end.status != 0) return end;
    limit_bytes = std::max(end.peak_rss_bytes / 2, limit_bytes_min);
    need_bytes = end.peak_rss_bytes;
  }
  need_bytes += swap_bytes_spare;

  std::optional<SwapFile> swap;
  if (swap_bytes_free() < need_bytes) {
    const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    swap.emplace(options.swap_folder, need_bytes / page_bytes * page_bytes);
  }
  const MemoryCgroup group(limit_bytes);
  // Under a tight limit the kernel may give up while it is still swapping out. That is no result.
  ChildEnd end;
  for (int tries = 0; tries < 3; ++tries) {
    end = run_child(child_words(options, limit_bytes), &group, false, signals);
    if (end.interrupted_by != 0 || !killed(end)) break;
    std::fprintf(stderr, "lists: the kernel ended attempt %d of 3 for want of memory\n", tries + 1);
  }
  return end;
}

}  // namespace

int run_limited(const Options& options) {
  if (geteuid() != 0) {
    throw Lacking("it takes root, to make a control group and a swap file; try: sudo lists ...");
  }
  int interrupted_by = 0;
  int status = 0;
  {
    const HeldSignals signals;
    const ChildEnd end = run_within(options, signals);
    interrupted_by = end.interrupted_by;
    if (interrupted_by == 0) status = exit_status_of(end);
  }
  if (interrupted_by != 0) {
    signal(interrupted_by, SIG_DFL);
    raise(interrupted_by);
  }
  return status;
}

}  // namespace lists
