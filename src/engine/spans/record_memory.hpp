// record_memory: memory for the records of heaps, threads and spans. It is never given back.
//
// Threads are in groups, and the records of a group lie in pieces of its own. A core that sees its
// thread go through the lines of a slice prefetches the next ones, and so takes them from a core
// that is about to write them: records of two threads side by side cost 4 to 8 % of the threads'
// speed, in pieces of 4 KiB still 1 to 3 %, in pieces of 16 KiB nothing.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/spans/metadata.hpp"
#include "platform/base/config.hpp"

namespace tarn {

inline constexpr std::size_t thread_groups = 64;

// The calling thread's group. It comes with the thread's record (engine/records/thread.hpp), which
// outlives the thread.
extern TARN_INITIAL_EXEC __thread std::uint8_t thread_group;

// The caller's lock guards the object.
class Records {
 public:
  static constexpr std::size_t piece_bytes = 16 * 1024;

  // Zeroed, aligned to a cache line; null when the OS refuses.
  void* allocate(std::size_t bytes) noexcept;

  // In the child of a fork, when the lock's holder has vanished: nothing more is handed out of the
  // pieces in use.
  void repair() noexcept;

  // Calls visit(record) for every record that was handed out, and for what is left of the pieces,
  // which reads as zero. pre: as Metadata::for_each()
  template <class Visit>
  void for_each(std::size_t bytes, Visit visit) const noexcept {
    memory_.for_each(bytes, visit);
  }

  template <class Visit>
  void for_each_region(Visit visit) const noexcept {
    memory_.for_each_region(visit);
  }

  std::size_t bytes_reserved() const noexcept { return memory_.bytes_reserved(); }

  // For assertions, in debug builds alone: true when the regions are in order and what is left of
  // each group's piece reads as zero.
  bool check() const noexcept;

 private:
  friend struct RecordsAccess;  // Of the tests.

  std::array<Metadata::Piece, thread_groups> pieces_{};
  Metadata memory_;
};

}  // namespace tarn
