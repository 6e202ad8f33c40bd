// process: the one object for what the process has once: settings, totals, the account. It is
// constant-initialised, so it is there before the first constructor and after the last destructor.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "base/config.hpp"
#include "settings/settings.hpp"
#include "tarn/account.h"
#include "tarn/heap.h"

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

  // In the child of a fork: repairs what other threads held, and opens an account of its own.
  void recover_after_fork() noexcept;

  void add_live(std::int64_t delta) noexcept;
  void add_large(std::int64_t delta_bytes) noexcept;     // A block comes (> 0) or goes (< 0).
  void resize_large(std::int64_t delta_bytes) noexcept;  // A block changes its size.

  // Fills in the totals, and the classes when `with_classes`. Any thread; exact when it is alone.
  void fill_account(tarn_account* account, bool with_classes) noexcept;

  // As fill_account with classes and the process's identity: a whole tarn_account.
  void describe(tarn_account* account) noexcept;

  // Freed memory that stays warm however old it is.
  void keep_warm(std::size_t bytes) noexcept;

  const Settings& settings() const noexcept { return settings_; }
  bool is_configured() const noexcept { return configured_.load(std::memory_order_acquire); }

 private:
  void start_once() noexcept;
  static void identify(tarn_account* account) noexcept;
  bool account_path(char* path) const noexcept;
  void open_account() noexcept;
  void renew_account() noexcept;
  void begin_account() noexcept;
  void refresh_account() noexcept;

  Settings settings_;
  std::atomic<bool> started_{false};
  std::atomic<bool> configuring_{false};
  std::atomic<bool> configured_{false};  // Release after the settings are read, acquire in start().
  tarn_account* account_ = nullptr;  // Mapped and shared with whoever reads the file.

  std::atomic<std::int64_t> live_bytes_{0};
  std::atomic<std::int64_t> live_bytes_peak_{0};
  std::atomic<std::uint64_t> large_allocations_{0};
  std::atomic<std::int64_t> large_live_blocks_{0};
  std::atomic<std::int64_t> large_live_bytes_{0};
  std::atomic<std::int64_t> large_live_bytes_peak_{0};
};

extern Process process;

}  // namespace tarn
