// meter: see meter.hpp.
//
// SPDX-License-Identifier: MIT
#include "meter.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "process.h"

namespace tarn {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// "Name:   123 kB".
std::uint64_t bytes_of(const char* name) {
  const long kib = number_in("/proc/self/smaps_rollup", name);
  if (kib < 0) fail_with("smaps_rollup lacks ", name + 1);
  return static_cast<std::uint64_t>(kib) * 1024;
}

}  // namespace

Usage Usage::operator-(const Usage& before) const {
  return {wall - before.wall,
          cpu - before.cpu,
          user - before.user,
          system - before.system,
          minor_faults - before.minor_faults,
          major_faults - before.major_faults};
}

Usage usage_now() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  Usage usage;
  usage.user = seconds_of(used.ru_utime);
  usage.system = seconds_of(used.ru_stime);
  usage.minor_faults = static_cast<std::uint64_t>(used.ru_minflt);
  usage.major_faults = static_cast<std::uint64_t>(used.ru_majflt);
  usage.cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) * 1e-9;
  usage.wall = now_ns(CLOCK_MONOTONIC) * 1e-9;
  return usage;
}

Footprint footprint() { return {bytes_of("\nAnonymous:"), bytes_of("\nSwap:")}; }

void* reserve(std::size_t bytes, std::size_t written_bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("out of memory: use a smaller size");
  std::memset(memory, 1, written_bytes);
  return memory;
}

void unreserve(void* memory, std::size_t bytes) { munmap(memory, bytes); }

PageSet::PageSet(std::size_t additions, std::size_t additions_max)
    : pages_(static_cast<std::uint64_t*>(reserve((additions_max + 1) * sizeof(std::uint64_t),
                                                 (additions + 1) * sizeof(std::uint64_t)))),
      additions_max_(additions_max) {}

PageSet::~PageSet() { unreserve(pages_, (additions_max_ + 1) * sizeof(std::uint64_t)); }

void PageSet::add(const void* block, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  const std::uint64_t last = (address + bytes - 1) / page_bytes;
  for (std::uint64_t page = address / page_bytes; page <= last; ++page) {
    if (count_ > 0 && pages_[count_ - 1] == page) continue;
    if (count_ == additions_max_) fail("more pages than were foreseen");
    pages_[count_++] = page;
  }
}

void PageSet::settle() {
  std::sort(pages_, pages_ + count_);
  count_ = static_cast<std::size_t>(std::unique(pages_, pages_ + count_) - pages_);
}

std::size_t PageSet::count_shared_with(const PageSet& other) const {
  std::size_t shared = 0;
  for (const std::uint64_t page : *this) {
    shared += std::binary_search(other.begin(), other.end(), page);
  }
  return shared;
}

void read_states(const PageSet& pages, PageState* states) {
  const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (file < 0) fail("cannot open /proc/self/pagemap");
  for (const std::uint64_t page : pages) {
    std::uint64_t entry = 0;
    if (pread(file, &entry, sizeof entry, static_cast<off_t>(page * sizeof entry)) !=
        sizeof entry) {
      fail("cannot read /proc/self/pagemap");
    }
    const bool present = (entry >> 63 & 1) != 0;
    const bool swapped = (entry >> 62 & 1) != 0;
    *states++ = present ? PageState::present : swapped ? PageState::swapped : PageState::absent;
  }
  close(file);
}

}  // namespace tarn
