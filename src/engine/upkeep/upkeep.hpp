// upkeep: what must be done now and then so that memory goes back in time, although the program
// frees nothing that reaches the store. Every 64th refill of a thread does it, every 4 MiB of large
// blocks, the end of each thread, and a thread of the library's own where that is wanted.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/records/thread.hpp"
#include "platform/base/config.hpp"
#include "platform/os/thread.hpp"

namespace tarn {

// The thread that purges while the program sleeps. It waits without a timeout as long as nothing is
// free, allocates nothing, and takes no lock for longer than another purging thread does.
class Background {
 public:
  // Asks for the thread. The next upkeep() makes it.
  void want() noexcept;

  // Makes the thread if it is wanted and does not exist. After a refusal of the OS it is not tried
  // again.
  void provide() noexcept {
    if (TARN_UNLIKELY(wanted_.load(std::memory_order_relaxed)) &&
        state_.load(std::memory_order_relaxed) == State::none) {
      begin_quietly();
    }
  }

  // Asks for the thread and makes it. False with errno set when the OS refuses. pre: as upkeep()
  bool start() noexcept;

  // At the library's end: nothing of the thread may run afterwards. Waits for a purge under way,
  // but not for ever: the caller may have interrupted a thread that holds the lock for which the
  // purge waits.
  void end() noexcept;

  // In the child of a fork, where the thread does not exist: the next upkeep() makes another one.
  void recover_after_fork() noexcept;

 private:
  enum class State : std::uint32_t { none, starting, there, refused, ended };

  bool begin() noexcept;
  void begin_quietly() noexcept;
  static void run() noexcept;

  std::atomic<bool> wanted_{false};
  std::atomic<State> state_{State::none};
  std::atomic<std::uint64_t> home_{0};  // The process that the thread belongs to.
  std::atomic<std::uint32_t> left_{0};  // Not 0: the thread is past its last step.
  os::OwnThread thread_{};
};

extern Background background;

// Purges what is due, gives what the thread has at hand and does not use back, and makes the
// background thread if it is wanted and does not exist. May allocate. pre: the calling thread is
// not busy, holds no lock and is inside no heap
void upkeep() noexcept;

// There are kept blocks (idle_purge.hpp) from now on: the background thread looks at them.
void note_kept_blocks() noexcept;

// Counts what the thread does, in quarters of a refill; upkeep is due after 64 refills. pre: as
// upkeep()
inline constexpr std::uint32_t work_of_refill = 4;
inline constexpr std::uint32_t work_between = 64 * work_of_refill;
TARN_INLINE void count_work(Thread& thread, std::uint32_t work = work_of_refill) noexcept {
  const std::uint32_t before = thread.work;
  thread.work = before + work;
  if (TARN_UNLIKELY((before ^ thread.work) >= work_between)) upkeep();
}

}  // namespace tarn
