// remote: the one word through which threads that do not own a page give blocks back to it: its
// remote (thread-delayed) free list.
//
//   63  60 59         46 45         32 31                 0
//   +-----+-------------+-------------+--------------------+
//   |state|  threshold  |    count    |  head + 1, or 0    |   head: offset of the newest block
//   +-----+-------------+-------------+--------------------+
//
//   dead    the page is not in use: a free is misuse
//   open    the owner looks by itself (its current page of the class)
//   listed  the owner will not look: the free that brings `count` to `threshold` posts the page
//   mailed  in its owner's mail, or about to be; only the receiver leaves this state
//   mailed_open, purging, purged: likewise (below)
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/base/check.hpp"

namespace tarn {

// The threshold is part of the word, so that a swap which succeeds has seen the one in force.
enum class RemoteState : std::uint8_t {
  dead,
  open,
  listed,
  mailed,
  mailed_open,  // As mailed, and the owner has made it its current page meanwhile.
  purging,      // As mailed, in the hands of a thread that purges it for its owner.
  purged,       // As mailed; every block was free, and what the lists led through is gone.
};

// True when the page is on its way to its owner: only the receiver makes it open or listed.
constexpr bool is_in_mail(RemoteState state) noexcept { return state >= RemoteState::mailed; }

inline constexpr std::uint32_t remote_count_max = (1u << 14) - 1;  // Blocks of a page at most.

struct Remote {
  std::uint64_t word = 0;

  static constexpr Remote make(RemoteState state, std::uint64_t threshold, std::uint64_t count,
                               std::uint64_t head) noexcept {
    TARN_ASSERT(threshold <= remote_count_max && count <= remote_count_max);
    TARN_ASSERT(head <= UINT32_MAX);
    // 1 << 32 has its place in 64 bits.
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
    return {static_cast<std::uint64_t>(state) << 60 | threshold << 46 | count << 32 | head};
  }
  static constexpr Remote empty(RemoteState state) noexcept { return make(state, 0, 0, 0); }

  constexpr RemoteState state() const noexcept { return static_cast<RemoteState>(word >> 60); }
  constexpr std::uint32_t threshold() const noexcept { return (word >> 46) & remote_count_max; }
  constexpr std::uint32_t count() const noexcept { return (word >> 32) & remote_count_max; }
  constexpr std::uint32_t head() const noexcept { return static_cast<std::uint32_t>(word); }
};

// pre: offset < UINT32_MAX. In classes of a heap's own, blocks may lie at any offset.
constexpr std::uint32_t encode_head(std::size_t offset) noexcept {
  TARN_ASSERT(offset < UINT32_MAX);
  return static_cast<std::uint32_t>(offset + 1);
}
// pre: head != 0
constexpr std::size_t decode_head(std::uint32_t head) noexcept {
  TARN_ASSERT(head != 0);
  return std::size_t{head} - 1;
}

}  // namespace tarn
