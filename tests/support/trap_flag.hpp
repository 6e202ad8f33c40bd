// trap_flag: a body of which the processor tells each instruction, by SIGTRAP; and a thread that
// stands still within it, while another one looks. x86-64 only.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <x86intrin.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace support {

inline constexpr unsigned long long trap_flag = 0x100;

// Compiled in place: a call more would be stepped through as well.
template <class Body>
[[gnu::always_inline]] inline void in_steps(Body&& body) {
  __writeeflags(__readeflags() | trap_flag);
  body();
  __writeeflags(__readeflags() & ~trap_flag);
}

// One thread steps, the other looks; each waits for the other.
enum class Stepping { moves, stands, is_over };
inline std::atomic<Stepping> stepping{Stepping::moves};
inline std::atomic<long> steps{0};
inline long stride = 0;

inline void wait_while(Stepping now) {
  while (stepping.load() == now) std::this_thread::yield();
}

inline void on_step(int /*signal*/) {
  const long step = steps.load(std::memory_order_relaxed) + 1;
  steps.store(step, std::memory_order_relaxed);
  if (stride == 0 || step % stride != 0) return;
  stepping = Stepping::stands;
  wait_while(Stepping::stands);
}

// What steps_of() is given calls it after its last step.
inline void end_steps() { stepping = Stepping::is_over; }

// Does the work in a thread of its own, of which at each wanted_stride-th instruction (0: at none)
// this thread calls at_stand(). The work steps by in_steps(), and ends that by end_steps(). Returns
// how many instructions it took; 0 where there are no single steps.
template <class Work, class AtStand>
long steps_of(long wanted_stride, const Work& work, const AtStand& at_stand) {
  struct sigaction action = {};
  action.sa_handler = on_step;
  if (::sigaction(SIGTRAP, &action, nullptr) != 0) std::abort();
  steps = 0;
  stepping = Stepping::moves;
  stride = wanted_stride;
  std::thread thread(work);
  for (;;) {
    wait_while(Stepping::moves);
    if (stepping == Stepping::is_over) break;
    at_stand();
    stepping = Stepping::moves;
  }
  thread.join();
  return steps;
}

}  // namespace support
