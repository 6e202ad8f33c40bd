// signals: tarn stands between its caller and the program, and neither should notice it.
//
// While a SignalGate exists every signal is blocked and read one by one, so that none can end tarn
// before it has removed its temporary directory. A signal that a process sent to tarn is passed on
// to the program. One that the terminal sent (^C, ^\, ^Z, a new window size) has already reached
// the whole foreground process group, the program included, and is not delivered twice.
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
  // A pending signal that asks tarn to end, or 0. It is checked before a program is started.
  int pending_end() const noexcept;
  // A signal that the caller ignores (nohup, a background job) does not count.
  bool asks_to_end(int signal) const noexcept;
  // Takes the signals that are pending: one sent to the whole group may reach tarn after the
  // program has died of it.
  void drain() const noexcept;
  // For the child, between fork and exec: restores exactly what tarn itself was started with.
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

// The program was stopped by `signal`. Stops tarn as well, so that the shell sees the job stopped.
// The SIGCONT that wakes tarn is pending afterwards, and is passed on to the program like any
// other.
void follow_stop(int signal) noexcept;

// Ends tarn by the signal that ended the program, so that the caller sees the same status. No
// second core is dumped.
[[noreturn]] void end_by_signal(int signal) noexcept;

}  // namespace tarn
