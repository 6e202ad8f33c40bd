// upkeep: what somebody has to see to now and then, so that memory goes back in time although the
// program frees nothing that reaches the store: whoever refills comes by every 64th time, takers of
// large blocks every 4 MiB, ending threads each time, and a thread of the
// library's own where it is wanted.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/records/thread.hpp"
#include "platform/base/config.hpp"
#include "platform/os/thread.hpp"

namespace tarn {

// The thread that purges while the program sleeps. It waits without a time as long as nothing is
// free, allocates nothing, and takes no lock for longer than another purging thread does.
class Background {
 public:
  // It is made by the next upkeep().
  void want() noexcept;

  // Made if it is wanted and not there; what the OS has refused is not asked for again.
  void provide() noexcept {
    if (TARN_UNLIKELY(wanted_.load(std::memory_order_relaxed)) &&
        state_.load(std::memory_order_relaxed) == State::none) {
      begin_quietly();
    }
  }

  // Wants it and makes it; false with errno set when the OS refuses. pre: as upkeep()
  bool start() noexcept;

  // At the library's end: nothing of it may run afterwards. Waits for a purge under way, but not
  // for ever: the caller may have interrupted who holds the lock that the thread waits for.
  void end() noexcept;

  // In the child of a fork, where it is not: the next upkeep() makes another one.
  void recover_after_fork() noexcept;

 private:
  enum class State : std::uint32_t { none, starting, there, refused, ended };

  bool begin() noexcept;
  void begin_quietly() noexcept;
  static void run() noexcept;

  std::atomic<bool> wanted_{false};
  std::atomic<State> state_{State::none};
  std::atomic<std::uint64_t> home_{0};  // The process whose memory this is.
  std::atomic<std::uint32_t> left_{0};  // The thread has done its last.
  os::OwnThread thread_{};
};

extern Background background;

// Gives back what is due, and makes the background's thread if it is wanted and not there. May
// allocate. pre: the calling thread is not busy, holds no lock and is inside no heap.
void upkeep() noexcept;

// For each refill of the thread, and for what is worth so many. pre: as above
inline constexpr std::uint32_t refills_between = 64;
TARN_INLINE void count_refills(Thread& thread, std::uint32_t refills = 1) noexcept {
  const std::uint32_t before = thread.refills;
  thread.refills = before + refills;
  if (TARN_UNLIKELY((before ^ thread.refills) >= refills_between)) upkeep();
}

}  // namespace tarn
