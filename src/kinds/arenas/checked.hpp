// checked: arenas that check the use of their blocks. Each block has a note in front of it and a
// canary behind it. In a watched arena the tool is told which bytes may be touched, and there is no
// canary.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kinds/arenas/chunk.hpp"
#include "platform/report/misuse.hpp"

namespace tarn {

// here: the place in the program that called, for reports.

// Places a block at the cursor, with its note and canary. pre: it fits, with overhead_of_checks()
void* place_checked(tarn_arena& arena, std::size_t bytes, std::size_t alignment,
                    const void* here) noexcept;
std::size_t overhead_of_checks(std::size_t alignment) noexcept;

// Checks the canaries of all blocks that a rewind to the mark ends, and forgets their notes.
void end_notes(tarn_arena& arena, const tarn_arena_mark& mark, const char* function,
               const void* here) noexcept;
// Does the same for the newest block.
void forget_block(tarn_arena& arena, const char* function, const void* here) noexcept;
// Resizes the newest block where it is. pre: it fits
void resize_checked(tarn_arena& arena, std::size_t bytes) noexcept;

// Fills bytes in which there is no block any more, or closes them to the tool.
void close_range(tarn_arena& arena, char* from, char* to) noexcept;

// What a report about p says of the arena, and of the note's block. note: may be null.
OwnerReport report_about(const tarn_arena& arena, const void* p, const ArenaNote* note) noexcept;

void watch_arena(tarn_arena& arena) noexcept;
void name_chunk(const tarn_arena& arena, tarn_arena_chunk* chunk) noexcept;

}  // namespace tarn
