// tombstones: the names of the last heaps that were destroyed, and where their memory was, for
// reports.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "platform/os/thread.hpp"
#include "platform/report/misuse.hpp"
#include "tarn/heap/heap.h"

namespace tarn {

// A few ranges of addresses. Ranges that are added one after the other and touch become one. When
// all are in use, further ones are left out.
class Extent {
 public:
  void add(const std::byte* start, std::size_t bytes) noexcept;
  void clear() noexcept { count_ = 0; }
  bool has(const void* p) const noexcept;

 private:
  struct Range {
    const std::byte* start = nullptr;
    const std::byte* end = nullptr;
  };
  static constexpr std::size_t ranges_max_ = 24;
  std::size_t count_ = 0;
  std::array<Range, ranges_max_> ranges_;
};

class Tombstones {
 public:
  void add(std::uint64_t id, const char* name) noexcept;
  void set_extent(std::uint64_t id, const Extent& extent) noexcept;

  // The name of the heap that had the id, as far as it is remembered; else "". `name` has
  // TARN_HEAP_NAME_BYTES bytes. Any thread, also where a signal has interrupted it.
  void name_of(std::uint64_t id, char* name) noexcept;

  // Reports p, an address of which nothing else is known: as memory of the last destroyed heap that
  // had it, or as misuse of this kind.
  [[noreturn]] void report(Misuse kind, const char* function, const void* p) noexcept;
  // Returns if no such heap is remembered.
  void report_if_known(const char* function, const void* p) noexcept;

  void recover_after_fork() noexcept { lock_.recover_after_fork(); }

 private:
  struct Tombstone {
    std::uint64_t id = 0;
    Extent extent;
    char name[TARN_HEAP_NAME_BYTES] = {};
  };
  static constexpr std::size_t remembered_ = 64;

  os::Lock lock_;  // No other lock is taken while it is held.
  std::array<Tombstone, remembered_> tombstones_{};
  std::size_t count_ = 0;
};

extern Tombstones tombstones;

}  // namespace tarn
