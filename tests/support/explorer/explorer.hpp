// explorer: runs a few threads on the real library in every order that can make a difference, one
// step at a time. A step is one atomic access, and all that its thread does up to the next; what is
// not atomic must be ordered by what is (orders.hpp).
//
//   library, compiled with -fsanitize=thread       each access calls __tsan_...
//   hooks.cpp, in place of ThreadSanitizer's own   those calls; futexes, yields, barriers, clocks
//   turns.cpp                                      threads of which one runs at a time
//   search.hpp                                     whose turn it is
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace explorer {

struct Scenario {
  std::string name;
  std::function<void()> prepare;  // Once, alone.
  std::vector<std::function<void()>> threads;
  std::function<void()> check{};  // After each run, in that run's process, where it may end all.
  std::function<void()> clear{};  // Once, alone: gives back what was prepared.
  // Stores wait in their processor's buffer, as on x86, in the order in which they were made, until
  // a turn of the buffer's own, a locked instruction or a barrier in all threads. Else memory is
  // sequentially consistent.
  bool stores_wait = false;
  // Also orders that look the same as others: for tests of the explorer.
  bool all_orders = false;
};

struct Outcome {
  std::uint64_t runs = 0;
  std::uint64_t redundant = 0;  // Of these, that looked to all threads as another one did.
  std::uint64_t steps = 0;
  bool is_complete = false;  // Every order was tried: there are fewer than `runs_most`.
  bool is_broken = false;    // In the last run, which is told on stderr.
};

// A run is broken by a promise that is not kept (require), a data race, threads that wait for ever,
// a signal; and where the same turns do not lead to the same steps. The calling thread is the only
// one of the process.
Outcome explore(const Scenario& scenario, std::uint64_t runs_most);

void require(bool condition, const char* what);

// The calling thread makes no further step.
[[noreturn]] void end_thread();

}  // namespace explorer
