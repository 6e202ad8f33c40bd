// check: checks every invariant of an arena. docs/design/arena.md has them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kinds/arenas/chunk.hpp"

namespace tarn {

// Looks at each chunk, and at each note of a checked arena.
bool check_arena(const tarn_arena& arena) noexcept;

// For assertions: true of a torn arena, too, whose counts may be wrong.
inline bool check_if_whole(const tarn_arena& arena) noexcept {
  return is_torn(arena) || check_arena(arena);
}

}  // namespace tarn
