// steps: single-steps every operation of the heaps in stepped.cpp with few blocks and with many,
// joined and split in all ways, and prints the most instructions that one took, from
// its first to its return. There is a bound, and a heap of many blocks takes no more than it.
//
// SPDX-License-Identifier: MIT
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "stepped.hpp"

namespace {

constexpr std::size_t blocks_max = 300;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "steps: %s\n", what);
  std::exit(1);
}

struct Random {
  std::uint32_t state = 1;
  std::size_t below(std::size_t n) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % n;
  }
};

// Runs in the child. `count` blocks at a time at most.
int exercise(const Stepped& heap, std::size_t count) {
  static void* blocks[blocks_max];
  Random random;
  std::size_t live = 0;
  for (int step = 0; step < 400; ++step) {
    const std::size_t bytes = random.below(random.below(8) == 0 ? 3000 : 300);
    const std::size_t what = random.below(8);
    if (what < 4 && live < count) {
      void* const p = what != 0 ? heap.allocate(bytes)
                                : heap.allocate_aligned(bytes, std::size_t{16} << random.below(6));
      if (p != nullptr) blocks[live++] = p;
    } else if (what < 6 && live != 0) {
      // Where it is: smaller, or a little larger.
      void*& p = blocks[random.below(live)];
      void* const other = heap.resize(p, what == 4 ? 0 : 20);
      if (other != nullptr) p = other;
    } else if (live != 0) {
      std::swap(blocks[random.below(live)], blocks[live - 1]);
      heap.deallocate(blocks[--live]);
    }
  }
  if (heap.allocate(SIZE_MAX / 2) != nullptr) return 1;
  while (live != 0) heap.deallocate(blocks[--live]);
  heap.deallocate(nullptr);
  return 0;
}

struct Most {
  unsigned steps[4] = {};
  unsigned long calls[4] = {};
};

// Counts from the entry of an operation until it has returned: until the stack is above it.
Most count(const Stepped& heap, std::size_t blocks) {
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    _exit(exercise(heap, blocks));
  }
  const std::uintptr_t entries[4] = {
      reinterpret_cast<std::uintptr_t>(heap.allocate),
      reinterpret_cast<std::uintptr_t>(heap.allocate_aligned),
      reinterpret_cast<std::uintptr_t>(heap.resize),
      reinterpret_cast<std::uintptr_t>(heap.deallocate),
  };
  Most most;
  std::size_t at = 4;
  unsigned steps = 0;
  unsigned long long stack = 0;
  int status = 0;
  while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, child, nullptr, &registers) != 0) fail("no registers");
    if (at != 4 && (++steps, registers.rsp > stack)) {
      most.steps[at] = std::max(most.steps[at], steps);
      at = 4;
    }
    if (at == 4) {
      at = static_cast<std::size_t>(std::find(entries, entries + 4, registers.rip) - entries);
      if (at != 4) ++most.calls[at], steps = 0, stack = registers.rsp;
    }
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) fail("no single step");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail("the exercise did not end well");
  return most;
}

}  // namespace

int main() {
  // What docs/static_pools.md says, and some for other compilers. Each resize stays in place: one
  // that moves is an allocation, a copy and a deallocation.
  const unsigned bounds[4] = {260, 300, 290, 290};
  bool good = true;
  std::printf("%-28s %6s %8s %8s %8s %10s\n", "", "blocks", "allocate", "aligned", "resize",
              "deallocate");
  for (std::size_t i = 0; i < stepped_count; ++i) {
    for (const std::size_t blocks : {std::size_t{10}, blocks_max}) {
      if (i != 0 && blocks == 10) continue;
      const Most most = count(stepped[i], blocks);
      bool within = true;
      for (std::size_t k = 0; k < 4; ++k) {
        within = within && most.steps[k] <= bounds[k] && most.steps[k] > 10 && most.calls[k] > 10;
      }
      std::printf("%-28s %6zu %8u %8u %8u %10u%s\n", stepped[i].name, blocks, most.steps[0],
                  most.steps[1], most.steps[2], most.steps[3],
                  within ? "" : "  <-- above the bound, or not counted");
      good = good && within;
    }
  }
  return good ? 0 : 1;
}
