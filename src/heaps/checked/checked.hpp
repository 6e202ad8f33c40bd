// checked: blocks with a canary behind them. The record's lock is held.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/record.hpp"
#include "heaps/checked/notes.hpp"
#include "heaps/heap/request.hpp"

namespace tarn {

// Allocates a block in a place of one size, or in a span of its own when it is large.
Attempt checked_allocate(HeapRecord& record, const Request& request) noexcept;

// Makes a span of kind large, and a note in state taken, the place of one block that begins at
// `start`. flags: of the note.
Attempt begin_lone(HeapRecord& record, Page* page, LoneNote& note, std::byte* start,
                   const Request& request, unsigned flags) noexcept;

}  // namespace tarn
