// count: see count.hpp. The child stops itself before the body and after it.
//
// SPDX-License-Identifier: MIT
#include "count.hpp"

#include <csignal>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tarn {

std::uint64_t count_instructions(void (*body)(void*), void* context) {
  const pid_t child = fork();
  if (child < 0) return 0;
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    raise(SIGSTOP);
    body(context);
    raise(SIGSTOP);
    _exit(0);
  }
  std::uint64_t steps = 0;
  int status = 0;
  bool has_begun = false;
  while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    const int signal = WSTOPSIG(status);
    if (signal == SIGSTOP && has_begun) break;
    if (signal != SIGSTOP && signal != SIGTRAP) break;
    has_begun = true;
    ++steps;
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) break;
  }
  const bool has_ended = WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP;
  if (!WIFEXITED(status)) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  return has_ended ? steps : 0;
}

}  // namespace tarn
