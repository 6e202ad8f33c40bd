// orders: what the memory orders of C++ promise about a run: which accesses happen before which. An
// access that is not atomic must be ordered with all others to the same bytes, if one of the two
// writes. Fences are not counted: so what is found to be ordered is ordered without them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "search.hpp"

namespace explorer {

class Orders {
 public:
  void begin() {
    clocks_ = {};
    for (unsigned i = 0; i < threads_max; ++i) clocks_[i][i] = 1;
    releases_.clear();
    cells_.clear();
  }

  void acquire(unsigned thread, std::uintptr_t place) {
    const auto found = releases_.find(place);
    if (found != releases_.end()) join(clocks_[thread], found->second);
  }
  // `continues`: a read and a write in one, which keeps what others have released.
  void release(unsigned thread, std::uintptr_t place, bool continues) {
    Clock& released = releases_[place];
    if (!continues) released = Clock{};
    join(released, clocks_[thread]);
    ++clocks_[thread][thread];
  }
  // The two halves of a release by a store that reaches memory later.
  Clock released_by(unsigned thread) {
    const Clock clock = clocks_[thread];
    ++clocks_[thread][thread];
    return clock;
  }
  void set_released(std::uintptr_t place, const Clock& clock) { releases_[place] = clock; }
  // A write that releases nothing.
  void forget(std::uintptr_t place) { releases_.erase(place); }

  // False when another thread's access to one of these bytes is neither before this one nor atomic
  // as this one is.
  bool touch(unsigned thread, std::uintptr_t place, std::size_t bytes, bool writes, bool atomic) {
    bool ordered = true;
    for (std::uintptr_t at = place; at < place + bytes;) {
      const unsigned from = at % 8;
      const auto rest = static_cast<unsigned>(place + bytes - at);
      const unsigned count = rest < 8 - from ? rest : 8 - from;
      const auto mask = static_cast<std::uint8_t>(((1u << count) - 1) << from);
      ordered = touch_cell(thread, at / 8, mask, writes, atomic) && ordered;
      at += count;
    }
    return ordered;
  }

 private:
  struct Last {
    std::uint32_t when = 0;  // 0: never.
    std::uint8_t mask = 0;
  };
  // The last access of each thread to eight bytes; by whether it writes, and is atomic.
  using Cell = std::array<std::array<Last, threads_max>, 4>;

  bool touch_cell(unsigned thread, std::uintptr_t number, std::uint8_t mask, bool writes,
                  bool atomic) {
    Cell& cell = cells_[number];
    const Clock& clock = clocks_[thread];
    bool ordered = true;
    for (unsigned kind = 0; kind < 4; ++kind) {
      const bool other_writes = (kind & 1) != 0;
      const bool other_atomic = (kind & 2) != 0;
      if ((!writes && !other_writes) || (atomic && other_atomic)) continue;
      for (unsigned t = 0; t < threads_max; ++t) {
        const Last& last = cell[kind][t];
        if (t == thread || last.when == 0 || (last.mask & mask) == 0) continue;
        ordered = ordered && last.when <= clock[t];
      }
    }
    Last& last = cell[(writes ? 1u : 0u) | (atomic ? 2u : 0u)][thread];
    const std::uint32_t now = clock[thread];
    last.mask = static_cast<std::uint8_t>(last.when == now ? last.mask | mask : mask);
    last.when = now;
    return ordered;
  }

  std::array<Clock, threads_max> clocks_{};
  std::unordered_map<std::uintptr_t, Clock> releases_;
  std::unordered_map<std::uintptr_t, Cell> cells_;
};

}  // namespace explorer
