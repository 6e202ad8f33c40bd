// counter: numbers that any thread reads: one that a single thread writes, and a peak.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace tarn {

// Without order: a reader may see a number that is a little old.
class Counter {
 public:
  void add(std::uint64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::uint64_t read() const noexcept { return value_.load(std::memory_order_relaxed); }
  void clear() noexcept { value_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Makes the peak at least `value`. Any thread; without order.
template <class Number>
void raise_to(std::atomic<Number>& peak, Number value) noexcept {
  Number seen = peak.load(std::memory_order_relaxed);
  while (value > seen && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace tarn
