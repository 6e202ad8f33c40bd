// check: every invariant of an arena's chunks. docs/design/arena.md has them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kinds/arenas/chunk.hpp"

namespace tarn {

// Looks at each chunk.
bool check_arena(const tarn_arena& arena) noexcept;

// For assertions: check_arena(), but not of a torn arena; and the same only where the number of
// chunks that the arena has acquired by now is a power of two, so that all these checks together
// cost about as much as the last.
inline bool check_if_whole(const tarn_arena& arena) noexcept {
  return is_torn(arena) || check_arena(arena);
}
inline bool check_arena_at(const tarn_arena& arena, std::uint64_t acquired) noexcept {
  return !is_power_of_two(static_cast<std::size_t>(acquired)) || check_if_whole(arena);
}

}  // namespace tarn
