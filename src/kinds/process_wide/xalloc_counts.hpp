// xalloc_counts: how many blocks of each size xmalloc has made and has in use, as if one list of
// free blocks a class served all threads.
//
//   made   = blocks that no freed block could stand in for    (in one thread: the most in use)
//   spare  = credits of the threads (Thread::credits) + those that threads have shared
//   in use = made - spare
//
// A thread that frees a block has a credit, and pays with it for its next block of the class. One
// with many shares them, and one without takes from these before it makes a block. So the numbers
// are exact in one thread; with several, `made` is larger by what idle credits would have paid for.
//
//   row      0 ... class_count - 1 | large_row, ...
//   blocks   of malloc's classes   | large ones, of up to 2^18, 2^19, ... bytes
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/records/thread.hpp"
#include "platform/base/bits.hpp"
#include "tarn/pool/xalloc.h"

namespace tarn {

inline constexpr unsigned large_log2_least = log2_floor(block_bytes_max) + 1;
inline constexpr unsigned large_log2_most = 47;
inline constexpr std::size_t large_row = class_count;
inline constexpr std::size_t large_rows = large_log2_most - large_log2_least + 1;
inline constexpr std::size_t row_count = large_row + large_rows;

// pre: bytes > block_bytes_max
constexpr std::size_t large_row_of(std::size_t bytes) noexcept {
  TARN_ASSERT(bytes > block_bytes_max);
  const unsigned log2 = log2_floor(bytes - 1) + 1;
  return large_row + (log2 < large_log2_most ? log2 : large_log2_most) - large_log2_least;
}

// Pays for a block with a credit of the calling thread. False: it has none; see count_made().
TARN_INLINE bool take_credit(Thread& thread, std::size_t size_class) noexcept {
  Credit& credit = thread.credits[size_class];
  const std::uint32_t taken = credit.taken;
  if (TARN_UNLIKELY(taken == credit.given)) return false;
  credit.taken = taken + 1;
  return true;
}

// Counts a block of the class that the calling thread has no credit for.
void count_made(Thread& thread, std::size_t size_class) noexcept;
// The calling thread keeps only some of its credits of the class.
void share_credits(Thread& thread, std::size_t size_class) noexcept;

// Count a block that comes or goes on a slow path.
void count_taken(std::size_t row) noexcept;
void count_given(std::size_t row) noexcept;
// Counts what was asked for.
void count_request(std::size_t row, std::size_t bytes) noexcept;

// Sets the counts of a row, off by what other threads are doing.
void read_counts(std::size_t row, tarn_xalloc_class_stats& stats) noexcept;
// From here on it is as if only the live blocks had ever been made.
void forget_counts() noexcept;

}  // namespace tarn
