// check: checks every invariant of an arena. docs/design/arena.md has them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kinds/arenas/chunk.hpp"

namespace tarn {

// Looks at each chunk, and at each note of a checked arena.
bool check_arena(const tarn_arena& arena) noexcept;

// For assertions: true of a torn arena, too, whose counts may be wrong.
inline bool check_if_whole(const tarn_arena& arena) noexcept {
  return is_torn(arena) || check_arena(arena);
}
inline bool check_arena_at(const tarn_arena& arena, std::uint64_t acquired) noexcept {
  return !is_power_of_two(static_cast<std::size_t>(acquired)) || check_if_whole(arena);
}

}  // namespace tarn
