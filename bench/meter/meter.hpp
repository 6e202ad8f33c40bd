// What is read of the clock, the kernel and the page table around a step that is measured. Nothing
// here allocates once it has been made, so that it never shows in the figures.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace tarn {

struct Usage {
  double wall = 0;  // Seconds ...
  double cpu = 0;   // ... of this thread, exact.
  double user = 0;  // The kernel's guess of how cpu divides: it looks at ticks.
  double system = 0;
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;

  Usage operator-(const Usage& before) const;
};

Usage usage_now();

// Of anonymous memory in this process, exactly (the page table is walked).
struct Footprint {
  std::uint64_t resident_bytes = 0;
  std::uint64_t swapped_bytes = 0;
};
Footprint footprint();

// Pages of the operating system that blocks lie in: added in any order, then settled (sorted, each
// once). Memory comes straight from the kernel: that for `additions` is written at the start, so
// that it is in a footprint already; more than `additions_max` is refused.
class PageSet {
 public:
  PageSet(std::size_t additions, std::size_t additions_max);
  ~PageSet();
  PageSet(const PageSet&) = delete;
  PageSet& operator=(const PageSet&) = delete;

  void add(const void* block, std::size_t bytes);
  void settle();

  const std::uint64_t* begin() const { return pages_; }
  const std::uint64_t* end() const { return pages_ + count_; }
  std::size_t count() const { return count_; }

  // How many of the settled pages are in the other settled set, too.
  std::size_t count_shared_with(const PageSet& other) const;

 private:
  std::uint64_t* pages_;
  std::size_t count_ = 0;
  std::size_t additions_max_;
};

constexpr std::size_t page_bytes = 4096;

enum class PageState : unsigned char { absent, swapped, present };

// The state of each page of a settled set, into `states`.
void read_states(const PageSet& pages, PageState* states);

// Memory of the benchmark's own, written once as far as `written_bytes`.
void* reserve(std::size_t bytes, std::size_t written_bytes);
inline void* reserve(std::size_t bytes) { return reserve(bytes, bytes); }
void unreserve(void* memory, std::size_t bytes);

}  // namespace tarn
