// checked: arenas that look at what is done with their blocks. Each block has a note in front of it
// and a canary behind it; a tool that watches is told what may be touched instead of the canary.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "arena/chunk.hpp"

namespace tarn {

// here: where in the program the call is, for reports.
void* place_checked(tarn_arena& arena, std::size_t bytes, std::size_t alignment,
                    const void* here) noexcept;
std::size_t overhead_of_checks(std::size_t alignment) noexcept;
void end_notes(tarn_arena& arena, const tarn_arena_mark& mark, const char* function,
               const void* here) noexcept;  // Of the blocks that end with a rewind.
void forget_block(tarn_arena& arena, const char* function, const void* here) noexcept;
void resize_checked(tarn_arena& arena, std::size_t bytes) noexcept;  // The newest block.
void close_range(tarn_arena& arena, char* from, char* to) noexcept;
void watch_arena(tarn_arena& arena) noexcept;
void unwatch_arena(tarn_arena& arena) noexcept;
void name_chunk(const tarn_arena& arena, tarn_arena_chunk* chunk) noexcept;

}  // namespace tarn
