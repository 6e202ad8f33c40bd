// meter: see meter.hpp.
//
// SPDX-License-Identifier: MIT
#include "meter.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "maker.hpp"

namespace tarn {
namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// "Name:   123 kB" in a text of smaps_rollup.
std::uint64_t field_bytes(const char* text, const char* name) {
  const char* const found = std::strstr(text, name);
  if (found == nullptr) fail("smaps_rollup lacks ", name);
  return std::strtoull(found + std::strlen(name), nullptr, 10) * 1024;
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
  usage.cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  usage.wall = seconds_of(CLOCK_MONOTONIC);
  return usage;
}

Footprint footprint() {
  char text[4096];
  const int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
  const ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (got <= 0) fail("cannot read /proc/self/smaps_rollup");
  close(file);
  text[got] = '\0';
  return {field_bytes(text, "\nAnonymous:"), field_bytes(text, "\nSwap:")};
}

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
