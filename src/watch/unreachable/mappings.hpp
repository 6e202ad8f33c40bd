// mappings: all memory that the process has mapped, and which parts of it can be read and have
// contents.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/layout/geometry.hpp"
#include "platform/base/check.hpp"
#include "platform/standstill/standstill.hpp"
#include "watch/unreachable/scratch.hpp"

namespace tarn {

class Mappings {
 public:
  ~Mappings() { presence_.close(); }

  // Reads the mappings. False with errno set when the OS does not say, or there is no memory.
  bool begin(Scratch& scratch) noexcept;

  std::size_t count() const noexcept { return count_; }
  const os::Mapping& operator[](std::size_t i) const noexcept {
    TARN_ASSERT(i < count_);
    return all_[i];
  }

  // The number of the mapping that contains the address; count() when none does.
  std::size_t find(const void* p) const noexcept;

  // Whether the memory directly below the mapping cannot be read, as it is below stacks.
  bool has_guard(std::size_t i) const noexcept {
    TARN_ASSERT(i < count_);
    return i > 0 && all_[i - 1].bytes.end == all_[i].bytes.start && !all_[i - 1].readable;
  }

  // Whether no mapping is empty and their ends ascend, as find() needs it.
  bool check() const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (all_[i].bytes.start >= all_[i].bytes.end) return false;
      if (i > 0 && all_[i - 1].bytes.end >= all_[i].bytes.end) return false;
    }
    return true;
  }

  // Calls visit(part) for the parts that can be read and, where they are long, have contents.
  template <class Visit>
  void for_each_readable(os::Bytes bytes, Visit visit) noexcept {
    TARN_ASSERT(bytes.start <= bytes.end);
    for (std::size_t i = first_after(bytes.start); i < count_; ++i) {
      const os::Mapping& m = all_[i];
      if (m.bytes.start >= bytes.end) return;
      if (!m.readable) continue;
      const os::Bytes part{m.bytes.start > bytes.start ? m.bytes.start : bytes.start,
                           m.bytes.end < bytes.end ? m.bytes.end : bytes.end};
      if (part.count() < asked_bytes_min_) {
        visit(part);
      } else {
        for_each_present(part, m, visit);
      }
    }
  }

  // Calls visit(part) for the parts that have contents. pre: the bytes can be read, and are the
  // mapping's
  template <class Visit>
  void for_each_present(os::Bytes bytes, const os::Mapping& m, Visit visit) noexcept {
    TARN_ASSERT(bytes.start >= m.bytes.start && bytes.end <= m.bytes.end);
    const os::Bytes whole = whole_slices(bytes);
    for (os::Bytes left = whole; left.start < left.end;) {
      const os::Bytes run = presence_.first_run(left, m.is_shared);
      if (run.start >= run.end) return;
      TARN_ASSERT(run.start >= left.start && run.end <= left.end);
      visit(os::Bytes{run.start > bytes.start ? run.start : bytes.start,
                      run.end < bytes.end ? run.end : bytes.end});
      left.start = run.end;
    }
  }

 private:
  static constexpr std::size_t asked_bytes_min_ = 16 * slice_bytes;  // Worth a call of the OS.

  std::size_t first_after(const void* p) const noexcept;  // The first one that ends behind p.
  static os::Bytes whole_slices(os::Bytes bytes) noexcept;

  os::Mapping* all_ = nullptr;
  std::size_t count_ = 0;
  os::Presence presence_;
};

}  // namespace tarn
