// metadata: memory for the library's own records, cut from regions of the OS and never given back:
// descriptors of spans and records of threads. A record that is done with goes on a spare list of
// its kind, so its memory always holds such a record (type-stable).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace tarn {

class Metadata {
 public:
  // Zeroed, aligned to a cache line; null when the OS refuses. The caller's lock guards the object.
  void* allocate(std::size_t bytes) noexcept;

  // In the child of a fork that may have left a new region half-begun: goes on where that was.
  void repair() noexcept;

  // Calls visit(record) for every record ever handed out. pre: all are of `bytes`, a multiple of
  // the cache line; the caller's lock is held.
  template <class Visit>
  void for_each(std::size_t bytes, Visit visit) const noexcept {
    for (const Region* region = regions_; region != nullptr; region = region->before) {
      auto* const first = reinterpret_cast<std::byte*>(const_cast<Region*>(region + 1));
      std::byte* const last = region == regions_ ? cursor_ : region->used_end;
      for (std::byte* p = first; p + bytes <= last; p += bytes) visit(p);
    }
  }

  std::size_t bytes_reserved() const noexcept { return bytes_reserved_; }

 private:
  struct alignas(64) Region {
    Region* before;
    std::byte* end;
    std::byte* used_end;  // Where the cursor stood when the next region began.
  };
  static constexpr std::size_t first_region_bytes_ = 32 * 1024;

  void begin_region(void* start, std::size_t bytes) noexcept;

  Region* regions_ = nullptr;
  std::byte* cursor_ = nullptr;
  std::byte* end_ = nullptr;
  alignas(64) std::byte first_region_[first_region_bytes_] = {};  // Saves a mapping.
  std::size_t bytes_reserved_ = 0;
};

}  // namespace tarn
