// stepper: runs an exercise in a child, instruction by instruction, and counts those that each
// operation takes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace support {

template <std::size_t operations>
struct Most {
  unsigned steps[operations] = {};
  unsigned long calls[operations] = {};
};

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "steps: %s\n", what);
  std::exit(1);
}

// Counts from the entry of an operation until it has returned: until the stack is above it. The
// exercise is a function that returns 0.
template <class Exercise, class... Operation>
Most<sizeof...(Operation)> most_steps(Exercise exercise, Operation... operation) {
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    _exit(exercise());
  }
  constexpr std::size_t none = sizeof...(Operation);
  const std::array<std::uintptr_t, none> entries{reinterpret_cast<std::uintptr_t>(operation)...};
  Most<none> most;
  std::size_t at = none;
  unsigned steps = 0;
  unsigned long long stack = 0;
  int status = 0;
  while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, child, nullptr, &registers) != 0) fail("no registers");
    if (at != none && (++steps, registers.rsp > stack)) {
      most.steps[at] = std::max(most.steps[at], steps);
      at = none;
    }
    if (at == none) {
      const auto entry = std::find(entries.begin(), entries.end(), registers.rip);
      at = static_cast<std::size_t>(entry - entries.begin());
      if (at != none) ++most.calls[at], steps = 0, stack = registers.rsp;
    }
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) fail("no single step");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail("the exercise did not end well");
  return most;
}

}  // namespace support
