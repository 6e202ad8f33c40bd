// faults on Linux: a handler for SIGSEGV in front of the program's.
//
// SPDX-License-Identifier: MIT
#include "platform/os/faults.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace tarn::os {

namespace {

using Action = struct ::sigaction;

using Explain = void (*)(const Fault&);
std::array<std::atomic<Explain>, 2> explainers{};
// What the program has set; written before our handler is.
Action programs{};

bool has_function(const Action& action) noexcept {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

// In what a thread was interrupted.
Fault fault_of(const siginfo_t& info, const void* context) noexcept {
  Fault fault{info.si_addr, nullptr, Fault::Access::unknown, 0, 0, 0};
  const mcontext_t& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  constexpr greg_t written = 2;  // In the processor's error code of a page fault.
  const bool is_write = (machine.gregs[REG_ERR] & written) != 0;
  fault.access = is_write ? Fault::Access::write : Fault::Access::read;
  fault.pc = static_cast<std::uintptr_t>(machine.gregs[REG_RIP]);
  fault.sp = static_cast<std::uintptr_t>(machine.gregs[REG_RSP]);
  fault.fp = static_cast<std::uintptr_t>(machine.gregs[REG_RBP]);
#elif defined(__aarch64__)
  fault.pc = machine.pc;
  fault.sp = machine.sp;
  fault.fp = machine.regs[29];
#else
  static_cast<void>(machine);
#endif
  if (fault.pc != 0) fault.next = reinterpret_cast<const void*>(fault.pc + 1);
  return fault;
}

void reset(int signal) noexcept {
  Action standard{};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
}

// Sends the thread the signal as it was. (Where only the instruction would be tried again, another
// thread may have opened the memory meanwhile.)
void resend(int signal, siginfo_t* info) noexcept {
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), signal, info) != 0) raise(signal);
}

// Whether the stack that the handler is on has room for an explanation.
bool has_room() noexcept {
  constexpr std::uintptr_t wanted = 4096;
  stack_t now{};
  if (sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_ONSTACK) == 0) return true;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return here - reinterpret_cast<std::uintptr_t>(now.ss_sp) >= wanted;
}

// What happens without our handler.
void pass_on(int signal, siginfo_t* info, void* context) noexcept {
  if (!has_function(programs)) {
    const bool is_sent = info->si_code <= 0;
    if (is_sent && programs.sa_handler == SIG_IGN) return;
    reset(signal);  // No fault can be ignored: the process ends.
    return resend(signal, info);
  }
  if ((programs.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) reset(signal);
  if ((programs.sa_flags & SA_SIGINFO) != 0) {
    programs.sa_sigaction(signal, info, context);
  } else {
    programs.sa_handler(signal);
  }
}

void on_fault(int signal, siginfo_t* info, void* context) noexcept {
  const int saved = errno;
  if (info->si_code > 0 && has_room()) {
    const Fault fault = fault_of(*info, context);
    for (const std::atomic<Explain>& each : explainers) {
      const Explain explain = each.load(std::memory_order_relaxed);
      if (explain != nullptr) explain(fault);
    }
  }
  errno = saved;
  pass_on(signal, info, context);
}

// A part of the program that has the library in it may be unloaded.
__attribute__((destructor)) void end_faults() {
  Action now{};
  if (explainers[0].load(std::memory_order_relaxed) == nullptr) return;
  if (sigaction(SIGSEGV, nullptr, &now) == 0 && now.sa_sigaction == on_fault) {
    sigaction(SIGSEGV, &programs, nullptr);
  }
}

}  // namespace

void explain_faults(Explain explain) noexcept {
  for (std::atomic<Explain>& each : explainers) {
    Explain there = nullptr;
    if (each.compare_exchange_strong(there, explain, std::memory_order_relaxed)) break;
    if (there == explain || &each == &explainers.back()) return;
  }
  // Whoever comes first sets the handler.
  if (explain != explainers[0].load(std::memory_order_relaxed) ||
      sigaction(SIGSEGV, nullptr, &programs) != 0) {
    return;
  }
  // With the program's own mask, and on its stack for signals if that is where it would be.
  Action ours{};
  ours.sa_flags = SA_ONSTACK | SA_RESTART;  // A signal that is ignored interrupts nothing.
  if (has_function(programs)) ours = programs;
  ours.sa_sigaction = on_fault;
  ours.sa_flags = (ours.sa_flags | SA_SIGINFO) & ~static_cast<int>(SA_RESETHAND);
  sigaction(SIGSEGV, &ours, nullptr);
}

}  // namespace tarn::os
