// totals: what all heaps of the process have together: live bytes, large blocks, threads; and the
// account file (tarn/diagnose/account.h), in which other processes read them while this one runs.
// The object is constant-initialised, so it is there before the first constructor and after the
// last destructor.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "tarn/diagnose/account.h"

namespace tarn {

class Totals {
 public:
  void add_live(std::int64_t delta) noexcept;
  void add_large(std::int64_t delta_bytes) noexcept;     // A block comes (> 0) or goes (< 0).
  void resize_large(std::int64_t delta_bytes) noexcept;  // A block changes its size.

  // pre: the orphans' lock is held
  void count_thread_started() noexcept;
  void count_thread_ended() noexcept;
  void set_threads_alive(std::uint64_t count) noexcept;

  std::uint64_t threads_started() const noexcept {
    return threads_started_.load(std::memory_order_relaxed);
  }
  std::uint64_t threads_alive() const noexcept {
    return threads_alive_.load(std::memory_order_relaxed);
  }
  std::uint64_t threads_peak() const noexcept {
    return threads_peak_.load(std::memory_order_relaxed);
  }

  // Fills in all but the classes and the process's identity. Any thread.
  void fill(tarn_account* account) const noexcept;

  // Creates the account file if the settings want one. Reports a folder in which it cannot.
  void open_account() noexcept;

  // Makes a file for the child of a fork, at the same address.
  void renew_account() noexcept;

  // Null when there is no file. The mapping is shared with the processes that read it.
  tarn_account* account_file() const noexcept { return account_file_; }

  // For assertions, in debug builds alone. pre: the orphans' lock is held
  //
  //   threads alive <= their peak <= threads started
  bool check() const noexcept;

 private:
  friend struct TotalsAccess;  // Of the tests.

  void begin_account() noexcept;
  void refresh_account() noexcept;

  tarn_account* account_file_ = nullptr;
  std::atomic<std::int64_t> live_bytes_{0};
  std::atomic<std::int64_t> live_bytes_peak_{0};
  std::atomic<std::uint64_t> large_allocations_{0};
  std::atomic<std::int64_t> large_live_blocks_{0};
  std::atomic<std::int64_t> large_live_bytes_{0};
  std::atomic<std::int64_t> large_live_bytes_peak_{0};
  std::atomic<std::uint64_t> threads_started_{0};
  std::atomic<std::uint64_t> threads_alive_{0};
  std::atomic<std::uint64_t> threads_peak_{0};
};

extern Totals totals;

// Fills in the identity of this process and its program.
void identify_process(tarn_account* account) noexcept;

}  // namespace tarn
