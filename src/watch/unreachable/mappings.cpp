// mappings: see mappings.hpp.
//
// SPDX-License-Identifier: MIT
#include "watch/unreachable/mappings.hpp"

#include <algorithm>
#include <cerrno>

#include "platform/base/bits.hpp"

namespace tarn {

bool Mappings::begin(Scratch& scratch) noexcept {
  TARN_ASSERT(all_ == nullptr && count_ == 0);
  if (!presence_.open()) return false;
  for (std::size_t room = 1024;; room = count_ + count_ / 4) {
    all_ = scratch.take_array<os::Mapping>(room);
    if (all_ == nullptr) {
      errno = ENOMEM;
      return false;
    }
    count_ = os::read_mappings(all_, room);
    TARN_ASSERT(count_ > room || check());
    if (count_ <= room) return count_ != 0;
  }
}

std::size_t Mappings::first_after(const void* p) const noexcept {
  const os::Mapping* const found = std::partition_point(
      all_, all_ + count_, [p](const os::Mapping& m) { return m.bytes.end <= p; });
  return static_cast<std::size_t>(found - all_);
}

std::size_t Mappings::find(const void* p) const noexcept {
  const std::size_t i = first_after(p);
  TARN_ASSERT(i <= count_);
  return i < count_ && all_[i].bytes.has(p) ? i : count_;
}

os::Bytes Mappings::whole_slices(os::Bytes bytes) noexcept {
  const std::uintptr_t mask = slice_bytes - 1;
  return {reinterpret_cast<const std::byte*>(address_of(bytes.start) & ~mask),
          reinterpret_cast<const std::byte*>((address_of(bytes.end) + mask) & ~mask)};
}

}  // namespace tarn
