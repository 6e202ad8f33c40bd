// signals: see signals.hpp.
// SPDX-License-Identifier: MIT
#include "signals.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <initializer_list>

namespace tarn {

namespace {

sigset_t every_signal() noexcept {
  sigset_t set;
  sigfillset(&set);
  return set;
}

bool is_from_terminal(int signal) noexcept {
  return signal == SIGINT || signal == SIGQUIT || signal == SIGTSTP || signal == SIGTTIN ||
         signal == SIGTTOU || signal == SIGWINCH || signal == SIGHUP || signal == SIGCONT;
}

bool is_in_foreground() noexcept {
  // The controlling terminal need not be one of the three standard descriptors.
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::tcgetpgrp(descriptor) == ::getpgrp()) return true;
  }
  return false;
}

}  // namespace

SignalGate::SignalGate() {
  const sigset_t all = every_signal();
  ::sigprocmask(SIG_SETMASK, &all, &mask_);
  // With SIGCHLD ignored, as some callers leave it, the kernel would keep no status to wait for.
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &plain, &on_child_);
}

SignalGate::~SignalGate() { restore(); }

void SignalGate::restore() const noexcept {
  ::sigaction(SIGCHLD, &on_child_, nullptr);
  ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

siginfo_t SignalGate::next() const noexcept {
  const sigset_t all = every_signal();
  siginfo_t info{};
  while (::sigwaitinfo(&all, &info) < 0) {
    if (errno != EINTR) std::abort();  // The set is valid, so no other error is possible.
  }
  return info;
}

int SignalGate::pending_end() const noexcept {
  sigset_t pending;
  ::sigpending(&pending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    if (sigismember(&pending, signal) == 1 && asks_to_end(signal)) return signal;
  }
  return 0;
}

bool SignalGate::asks_to_end(int signal) const noexcept {
  if (signal != SIGINT && signal != SIGTERM && signal != SIGHUP && signal != SIGQUIT) return false;
  struct sigaction now {};
  ::sigaction(signal, nullptr, &now);
  return now.sa_handler != SIG_IGN;
}

void SignalGate::drain() const noexcept {
  const sigset_t all = every_signal();
  const timespec at_once{};
  while (::sigtimedwait(&all, nullptr, &at_once) > 0) continue;
}

Standing standing_towards(pid_t program) noexcept {
  Standing standing;
  standing.tarn = ::getpid();
  standing.program = program;
  standing.shares_group = ::getpgid(program) == ::getpgrp();
  standing.leads_session = ::getsid(0) == standing.tarn;
  return standing;
}

bool should_relay(const siginfo_t& info, const Standing& standing) noexcept {
  const int signal = info.si_signo;
  // SIGPIPE comes from tarn's own writing, SIGCHLD from the program's end.
  if (signal == SIGCHLD || signal == SIGPIPE) return false;
  if (info.si_code == SI_KERNEL) {
    if (signal == SIGHUP && standing.leads_session) return true;
    return !(is_from_terminal(signal) && standing.shares_group);
  }
  if (info.si_code == SI_USER || info.si_code == SI_QUEUE || info.si_code == SI_TKILL) {
    // The program called `kill 0`. It has the signal already, and tarn is only another member of
    // its group.
    return info.si_pid != standing.program && info.si_pid != standing.tarn;
  }
  return true;
}

void relay(const siginfo_t& info, pid_t program) noexcept {
  if (info.si_code == SI_QUEUE) {
    ::sigqueue(program, info.si_signo, info.si_value);
  } else {
    ::kill(program, info.si_signo);
  }
}

void follow_stop(int signal) noexcept {
  // A SIGSTOP is often another program's handshake with the program (stop, look, continue), and
  // that would not wake tarn as well. Only in the foreground of a terminal does a shell wait for
  // both.
  if (signal == SIGSTOP && !is_in_foreground()) return;
  struct sigaction before {};
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(SIGTSTP, &plain, &before);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGTSTP);
  // SIGTSTP rather than SIGSTOP, because the kernel ignores it in a group that no shell could wake.
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::sigprocmask(SIG_BLOCK, &only, nullptr);
  ::sigaction(SIGTSTP, &before, nullptr);
}

void end_by_signal(int signal) noexcept {
  // RLIMIT_CORE is not enough: where dumps go to a pipe, a limit of 0 does not prevent them.
  ::prctl(PR_SET_DUMPABLE, 0);
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(signal, &plain, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  // The first process of a container survives its own signals; then the status at least tells the
  // caller.
  std::_Exit(128 + signal);
}

}  // namespace tarn
