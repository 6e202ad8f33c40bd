// registers: what a thread has in its registers, and what may disturb it. x86-64.
//
// SPDX-License-Identifier: MIT
#include <csignal>
#include <initializer_list>
#include <pthread.h>
#include <sys/syscall.h>

#include "platform/standstill/linux/system_call.hpp"
#include "platform/standstill/standstill.hpp"

#if defined(__x86_64__)

__asm__(R"(
.text
.globl tarn_system_call
.hidden tarn_system_call
.type tarn_system_call, @function
tarn_system_call:
  .cfi_startproc
  movq %rdi, %rax
  movq %rsi, %rdi
  movq %rdx, %rsi
  movq %rcx, %rdx
  movq %r8, %r10
  syscall
  ret
  .cfi_endproc
.size tarn_system_call, .-tarn_system_call

.globl tarn_signal_return
.hidden tarn_signal_return
.type tarn_signal_return, @function
  nop
tarn_signal_return:
  movq $15, %rax
  syscall
.size tarn_signal_return, .-tarn_signal_return

.globl tarn_with_registers
.hidden tarn_with_registers
.type tarn_with_registers, @function
tarn_with_registers:
  .cfi_startproc
  pushq %rbx
  pushq %rbp
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  pushq %rbx
  .cfi_def_cfa_offset 64
  movq %rdi, %rax
  movq %rsi, %rdi
  movq %rsp, %rsi
  call *%rax
  addq $56, %rsp
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
.size tarn_with_registers, .-tarn_with_registers
)");

namespace tarn::os {

Undisturbed::Undisturbed() noexcept {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
  std::uint64_t all = ~std::uint64_t{0};
  // A fault of its own has to be seen.
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) {
    all &= ~(std::uint64_t{1} << (fault - 1));
  }
  call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask_, mask_bytes);
}

Undisturbed::~Undisturbed() {
  call(SYS_rt_sigprocmask, SIG_SETMASK, &mask_, nullptr, mask_bytes);
  pthread_setcancelstate(cancel_state_, nullptr);
}

namespace {

struct Errand {
  void (*work)(void*, const Standing&);
  void* context;
};

void run_errand(void* context, const std::byte* stack) noexcept {
  const auto* const errand = static_cast<const Errand*>(context);
  Standing self;
  self.stack = stack;
  self.tls = thread_pointer();
  self.modules = modules_of(self.tls);
  errand->work(errand->context, self);
}

}  // namespace

void with_registers(void (*work)(void*, const Standing&), void* context) noexcept {
  Errand errand{work, context};
  tarn_with_registers(run_errand, &errand);
}

}  // namespace tarn::os

#else

namespace tarn::os {

Undisturbed::Undisturbed() noexcept {}
Undisturbed::~Undisturbed() {}
void with_registers(void (*work)(void*, const Standing&), void* context) noexcept {
  work(context, {});
}

}  // namespace tarn::os

#endif
