// guard: inaccessible pages behind guarded blocks: how many there are, and what is out of reach.
//
// Each such block takes two mappings, of which a process has 65,530: beyond half of them blocks are
// served as in checked heaps.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/record.hpp"

namespace tarn {

// One of the guards that the process may have; false when all are in use.
bool take_guard() noexcept;
void give_guard() noexcept;

// Spans that the OS did not open when their blocks went are tried again.
void try_unopened() noexcept;

// Out of reach for everyone; false when the OS refuses. And back.
bool guarded_close(Page* page) noexcept;
void give_guarded(HeapRecord& record, Page* page) noexcept;

// The span and its note, no longer the heap's nor on its list, in front of the chain; unless the OS
// does not open it: then it waits for that.
Span* chain_guarded(Page* page, Span* chain) noexcept;

}  // namespace tarn
