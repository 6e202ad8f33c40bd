// sums: what recoveries have done since the process began, for tarn_recover_get_stats().
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace tarn {

// A sum for reports. Any thread adds to it, without order.
class Sum {
 public:
  void add(std::uint64_t n) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
  std::uint64_t read() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct RecoverSums {
  Sum recoveries;
  Sum by_allocations;
  Sum by_allocations_in_vain;
  Sum spare_bytes;
  Sum callbacks;
  Sum callbacks_in_vain;
  Sum reclaimed_bytes;
  Sum purged;
  Sum purged_bytes;
  Sum refills;
};
extern RecoverSums recover_sums;

}  // namespace tarn
