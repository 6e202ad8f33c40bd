// guard: inaccessible pages behind guarded blocks: how many there are, and what is out of reach.
//
// Where the kernel has guard markers (Linux 6.13), as many as there are blocks. Elsewhere each such
// block takes two mappings, of which a process has 65,530: when half of them are in use, further
// blocks are served as in checked heaps.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/record.hpp"

namespace tarn {

// Takes one of the guards that the process may have; false when all are in use. A range that could
// not be marked (it was locked, say) has no part in that.
bool take_guard() noexcept;
void give_guard() noexcept;

// How many must be given before one can be taken again; at least 1.
std::uint32_t guards_missing() noexcept;

// Spans that the OS did not open when their blocks went are tried again.
void try_unopened() noexcept;

// Makes all of the span inaccessible; false when the OS refuses.
bool guarded_close(Page* page) noexcept;

// Gives the span of a guarded block back. While the OS does not open it, it waits for that.
void give_guarded(HeapRecord& record, Page* page) noexcept;

// Takes the span and its note off the heap and puts the span in front of the chain. If the OS does
// not open it, it waits for that and is not in the chain. pre: the span is on no list of the heap
Span* chain_guarded(Page* page, Span* chain) noexcept;

}  // namespace tarn
