// tombstones: see tombstones.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/records/tombstones.hpp"

#include <cstring>

#include "platform/base/check.hpp"

namespace tarn {

constinit Tombstones tombstones;

void Extent::add(const std::byte* start, std::size_t bytes) noexcept {
  TARN_ASSERT(start != nullptr && bytes != 0 && count_ <= ranges_max_);
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

void Tombstones::add(std::uint64_t id, const char* name) noexcept {
  TARN_ASSERT(id != 0);
  os::Locked locked(lock_);
  Tombstone& tombstone = tombstones_[count_++ % remembered_];
  tombstone.id = id;
  memcpy(tombstone.name, name, sizeof tombstone.name);
  tombstone.extent.clear();
}

void Tombstones::set_extent(std::uint64_t id, const Extent& extent) noexcept {
  os::Locked locked(lock_);
  for (Tombstone& tombstone : tombstones_) {
    if (tombstone.id == id) tombstone.extent = extent;
  }
}

void Tombstones::name_of(std::uint64_t id, char* name) noexcept {
  os::LockedUnlessHeld locked(lock_);
  name[0] = '\0';
  for (const Tombstone& tombstone : tombstones_) {
    if (tombstone.id == id) memcpy(name, tombstone.name, sizeof tombstone.name);
  }
}

void Tombstones::report_if_known(const char* function, const void* p) noexcept {
  char name[TARN_HEAP_NAME_BYTES];
  std::uint64_t id = 0;
  {
    os::LockedUnlessHeld locked(lock_);
    for (std::size_t i = 1; i <= remembered_ && i <= count_ && id == 0; ++i) {
      const Tombstone& tombstone = tombstones_[(count_ - i) % remembered_];
      if (!tombstone.extent.has(p)) continue;
      id = tombstone.id;
      memcpy(name, tombstone.name, sizeof name);
    }
  }
  if (id != 0) report_late_free(function, p, name, id);
}

void Tombstones::report(Misuse kind, const char* function, const void* p) noexcept {
  report_if_known(function, p);
  report_misuse(kind, function, p);
}

}  // namespace tarn
