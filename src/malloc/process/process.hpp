// process: start and end of the library. The object is constant-initialised, so it is there before
// the first constructor and after the last destructor.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "platform/base/config.hpp"
#include "tarn/source/mode.hpp"

namespace tarn {

class Process {
 public:
  // Prepares for forks, reads the settings and opens the account. Called by threads that start, the
  // first of them perhaps before libc knows the environment, and by the library's constructor.
  void start() noexcept {
    if (TARN_UNLIKELY(!configured_.load(std::memory_order_acquire))) start_once();
  }

  // Writes the final account. Called by the library's destructor.
  void finish() noexcept;

  // Freed memory that stays warm however old it is.
  void keep_warm(std::size_t bytes) noexcept;

  // True when blocks are to remember which functions they come from, if their heap can.
  bool remembers_families() const noexcept { return remembers_families_; }

  bool is_configured() const noexcept { return configured_.load(std::memory_order_acquire); }

 private:
  void start_once() noexcept;
  void serve_in(Mode mode, std::uint32_t every) noexcept;
  void verify() noexcept;

  bool remembers_families_ = false;  // Written before the process's heap is.
  std::atomic<bool> started_{false};
  std::atomic<bool> configuring_{false};
  std::atomic<bool> configured_{false};  // Release after the settings are read, acquire in start().
};

extern Process process;

}  // namespace tarn
