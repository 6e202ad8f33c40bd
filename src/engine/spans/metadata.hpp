// metadata: memory for the library's own records, cut from regions of the OS and never given back:
// descriptors of spans (descriptors.hpp) and records of heaps and threads (record_memory.hpp). A
// record that is no longer used goes on a spare list of its kind, so its memory always holds such a
// record (type-stable).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace tarn {

class Metadata {
 public:
  // Zeroed, aligned to a cache line; null when the OS refuses. The caller's lock guards the object.
  void* allocate(std::size_t bytes) noexcept;

  struct Piece {
    std::byte* start = nullptr;
    std::byte* end = nullptr;

    std::size_t bytes() const noexcept { return static_cast<std::size_t>(end - start); }
  };
  // Takes what is left up to the next multiple of `grain`, zeroed; empty when the OS refuses. pre:
  // grain is a power of two, at least a slice
  Piece allocate_piece(std::size_t grain) noexcept;

  // In the child of a fork that may have left a new region half-begun: completes it.
  void repair() noexcept;

  // Calls visit(record) for every record in what was ever handed out. pre: all are of `bytes`, 64
  // or 128; the caller's lock is held.
  template <class Visit>
  void for_each(std::size_t bytes, Visit visit) const noexcept {
    for (const Region* region = regions_; region != nullptr; region = region->before) {
      auto* const first = reinterpret_cast<std::byte*>(const_cast<Region*>(region + 1));
      std::byte* const last = region == regions_ ? cursor_ : region->used_end;
      for (std::byte* p = first; p + bytes <= last; p += bytes) visit(p);
    }
  }

  // Calls visit(start, bytes) for all regions of the OS. pre: the caller's lock is held.
  template <class Visit>
  void for_each_region(Visit visit) const noexcept {
    for (const Region* region = regions_; region != nullptr; region = region->before) {
      const auto* const start = reinterpret_cast<const std::byte*>(region);
      if (start == first_region_) continue;
      visit(start, static_cast<std::size_t>(region->end - start));
    }
  }

  std::size_t bytes_reserved() const noexcept { return bytes_reserved_; }

  // For assertions, in debug builds alone: true when each region says where what it handed out
  // ends, and the cursor lies in the newest one.
  bool check() const noexcept;

 private:
  friend struct MetadataAccess;  // Of the tests.

  // Two cache lines, which processors fetch in pairs. Descriptors begin behind it.
  struct alignas(128) Region {
    Region* before;
    std::byte* end;
    std::byte* used_end;  // Where the cursor stood when the next region began.
  };
  static constexpr std::size_t first_region_bytes_ = 32 * 1024;

  bool provide(std::size_t bytes) noexcept;
  void begin_region(void* start, std::size_t bytes) noexcept;

  Region* regions_ = nullptr;
  std::byte* cursor_ = nullptr;
  std::byte* end_ = nullptr;
  std::size_t bytes_reserved_ = 0;
  alignas(Region) std::byte first_region_[first_region_bytes_] = {};  // Saves a mapping.
};

}  // namespace tarn
