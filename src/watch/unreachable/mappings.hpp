// mappings: all that a process has mapped, and which parts of it may be read and are worth it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/layout/geometry.hpp"
#include "platform/os/standstill.hpp"
#include "watch/unreachable/scratch.hpp"

namespace tarn {

class Mappings {
 public:
  ~Mappings() { presence_.close(); }

  // False with errno set when the OS does not say, or there is no memory.
  bool begin(Scratch& scratch) noexcept;

  std::size_t count() const noexcept { return count_; }
  const os::Mapping& operator[](std::size_t i) const noexcept { return all_[i]; }

  // The number of the one that has the address, count() when none has.
  std::size_t find(const void* p) const noexcept;

  // True: what is directly below may not be read, as it is below stacks.
  bool has_guard(std::size_t i) const noexcept {
    return i > 0 && all_[i - 1].bytes.end == all_[i].bytes.start && !all_[i - 1].readable;
  }

  // Calls visit(bytes) for the parts that may be read and, where they are long, have contents.
  template <class Visit>
  void for_each_readable(os::Bytes bytes, Visit visit) noexcept {
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

  // As above. pre: the bytes may be read, and are the mapping's
  template <class Visit>
  void for_each_present(os::Bytes bytes, const os::Mapping& m, Visit visit) noexcept {
    const os::Bytes whole = whole_slices(bytes);
    for (os::Bytes left = whole; left.start < left.end;) {
      const os::Bytes run = presence_.first_run(left, m.is_shared);
      if (run.start >= run.end) return;
      visit(os::Bytes{run.start > bytes.start ? run.start : bytes.start,
                      run.end < bytes.end ? run.end : bytes.end});
      left.start = run.end;
    }
  }

 private:
  static constexpr std::size_t asked_bytes_min_ = 16 * slice_bytes;  // Worth a call of the OS.

  std::size_t first_after(const void* p) const noexcept;  // That ends behind it.
  static os::Bytes whole_slices(os::Bytes bytes) noexcept;

  os::Mapping* all_ = nullptr;
  std::size_t count_ = 0;
  os::Presence presence_;
};

}  // namespace tarn
