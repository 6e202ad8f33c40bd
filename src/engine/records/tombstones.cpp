// tombstones: see tombstones.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/records/tombstones.hpp"

#include <cstring>

namespace tarn {

constinit EndedHeaps ended_heaps;

void Extent::add(const std::byte* start, std::size_t bytes) noexcept {
  if (count_ != 0) {
    Range& last = ranges_[count_ - 1];
    if (start == last.end) {
      last.end += bytes;
      return;
    }
    if (start + bytes == last.start) {
      last.start = start;
      return;
    }
  }
  if (count_ < ranges_max_) ranges_[count_++] = {start, start + bytes};
}

bool Extent::has(const void* p) const noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (p >= ranges_[i].start && p < ranges_[i].end) return true;
  }
  return false;
}

void EndedHeaps::add(std::uint64_t id, const char* name) noexcept {
  os::Locked locked(lock_);
  Ended& ended = ended_[count_++ % remembered_];
  ended.id = id;
  memcpy(ended.name, name, sizeof ended.name);
  ended.extent.clear();
}

void EndedHeaps::set_extent(std::uint64_t id, const Extent& extent) noexcept {
  os::Locked locked(lock_);
  for (Ended& ended : ended_) {
    if (ended.id == id) ended.extent = extent;
  }
}

void EndedHeaps::name_of(std::uint64_t id, char* name) noexcept {
  os::LockedUnlessHeld locked(lock_);
  name[0] = '\0';
  for (const Ended& ended : ended_) {
    if (ended.id == id) memcpy(name, ended.name, sizeof ended.name);
  }
}

void EndedHeaps::report(Misuse kind, const char* function, const void* p) noexcept {
  char name[TARN_HEAP_NAME_BYTES];
  std::uint64_t id = 0;
  {
    os::LockedUnlessHeld locked(lock_);
    for (std::size_t i = 1; i <= remembered_ && i <= count_ && id == 0; ++i) {
      const Ended& ended = ended_[(count_ - i) % remembered_];
      if (!ended.extent.has(p)) continue;
      id = ended.id;
      memcpy(name, ended.name, sizeof name);
    }
  }
  if (id == 0) report_misuse(kind, function, p);
  report_late_free(function, p, name, id);
}

}  // namespace tarn
