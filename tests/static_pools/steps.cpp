// steps: single-steps every operation of the pools in stepped.cpp through fresh, recycled and
// exhausted states, and prints the most instructions that one took, from its first to its return.
// At most 30 for pools that are not LockFree; heaps add some for each class, and LockFree for its
// atomic operations, while nobody else is at work.
//
// SPDX-License-Identifier: MIT
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "stepped.hpp"

std::size_t stepped_bytes = 160;

namespace {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "steps: %s\n", what);
  std::exit(1);
}

// Fresh blocks to exhaustion, refused requests, blocks from everywhere freed and taken again (whole
// words, single ones), and all freed. Runs in the child; no call but those that are counted.
int exercise(const Stepped& pool) {
  static void* blocks[700];
  const std::size_t n = pool.blocks;
  const std::size_t again = n < 300 ? n : 300;
  for (std::size_t i = 0; i < n; ++i) blocks[i] = pool.allocate();
  if (pool.allocate() != nullptr || blocks[n - 1] == nullptr) return 1;
  for (std::size_t step = 1; step < 70; step += 9) {
    for (std::size_t i = step / 2; i < again; i += step) pool.deallocate(blocks[i]);
    for (std::size_t i = step / 2; i < again; i += step) blocks[i] = pool.allocate();
    if (pool.allocate() != nullptr) return 1;
  }
  pool.deallocate(nullptr);
  for (std::size_t i = n; i > 0; --i) pool.deallocate(blocks[i - 1]);
  return 0;
}

struct Most {
  unsigned allocate = 0;
  unsigned deallocate = 0;
  unsigned long calls = 0;
};

// Counts from the entry of an operation until it has returned: until the stack is above it.
Most count(const Stepped& pool) {
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    _exit(exercise(pool));
  }
  Most most;
  unsigned* at = nullptr;
  unsigned steps = 0;
  unsigned long long stack = 0;
  int status = 0;
  while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, child, nullptr, &registers) != 0) fail("no registers");
    if (at != nullptr) {
      ++steps;
      if (registers.rsp > stack) {
        if (steps > *at) *at = steps;
        at = nullptr;
      }
    }
    if (at == nullptr) {
      if (registers.rip == reinterpret_cast<std::uintptr_t>(pool.allocate)) at = &most.allocate;
      if (registers.rip == reinterpret_cast<std::uintptr_t>(pool.deallocate)) at = &most.deallocate;
      if (at != nullptr) ++most.calls, steps = 0, stack = registers.rsp;
    }
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) fail("no single step");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail("the exercise did not end well");
  return most;
}

}  // namespace

int main() {
  bool good = true;
  std::printf("%-36s %8s %10s %8s\n", "", "allocate", "deallocate", "calls");
  for (std::size_t i = 0; i < stepped_count; ++i) {
    const Stepped& pool = stepped[i];
    const Most most = count(pool);
    const bool lock_free = std::strstr(pool.name, "LockFree") != nullptr;
    const bool heap = std::strstr(pool.name, "Heap") != nullptr;
    const unsigned bound = lock_free ? 80 : heap ? 40 : 30;
    const bool within = most.allocate <= bound && most.deallocate <= bound;
    const bool counted = most.calls > 2 * pool.blocks && most.allocate > 3 && most.deallocate > 3;
    std::printf("%-36s %8u %10u %8lu%s\n", pool.name, most.allocate, most.deallocate, most.calls,
                within && counted ? "" : "  <-- above the bound, or not counted");
    good = good && within && counted;
  }
  return good ? 0 : 1;
}
