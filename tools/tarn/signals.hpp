// signals: tarn stands between its caller and the program, and both should hardly notice.
//
// While a SignalGate exists every signal is blocked and read one by one, so none can end tarn
// before it has removed its temporary directory. A signal that somebody sent to tarn goes on to the
// program. One that the terminal sent (^C, ^\, ^Z, a new window size) reached the whole foreground
// process group already, the program included, and is not delivered twice.
// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>
#include <sys/types.h>

namespace tarn {

class SignalGate {
 public:
  SignalGate();
  ~SignalGate();
  SignalGate(const SignalGate&) = delete;
  SignalGate& operator=(const SignalGate&) = delete;

  // Waits for the next signal and says what it was.
  siginfo_t next() const noexcept;
  // A pending signal that asks tarn to end, or 0: looked at before a program is started.
  int pending_end() const noexcept;
  // Not one that the caller had ignored (nohup, a background job): that asks nothing of anybody.
  bool asks_to_end(int signal) const noexcept;
  // Takes what is pending: a signal to the whole group may reach tarn after the program died of it.
  void drain() const noexcept;
  // In the child, between fork and exec: exactly what tarn itself was started with.
  void restore() const noexcept;

 private:
  sigset_t mask_{};
  struct sigaction on_child_ {};
};

// Where the program stands relative to tarn and the terminal when a signal comes in.
struct Standing {
  pid_t tarn = 0;
  pid_t program = 0;
  bool shares_group = true;    // the terminal's signals reach both
  bool leads_session = false;  // a hang-up reaches tarn alone
};

Standing standing_towards(pid_t program) noexcept;
bool should_relay(const siginfo_t& info, const Standing& standing) noexcept;
void relay(const siginfo_t& info, pid_t program) noexcept;

// The program was stopped by `signal`: stop as well, so that the shell sees the job stopped. The
// SIGCONT that wakes tarn is pending afterwards, and goes on to the program like any other.
void follow_stop(int signal) noexcept;

// Ends tarn as the program ended, so that the caller sees the same status; no second core dump.
[[noreturn]] void end_by_signal(int signal) noexcept;

}  // namespace tarn
