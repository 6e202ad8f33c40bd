// quarantine: blocks that have been freed and are kept back, oldest first, so that their memory is
// not another block's at once: what is written there meanwhile is found when they leave, and a
// second free of them is told from the first. The record's lock is held.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/record.hpp"
#include "heaps/checked/places.hpp"

namespace tarn {

// The end of a block, its note up to date but for the state.
void keep_back(HeapRecord& record, Page* page, const Place& place) noexcept;
void bound_kept(HeapRecord& record) noexcept;
void release_oldest(HeapRecord& record) noexcept;  // pre: one is kept back
bool release_all(HeapRecord& record) noexcept;     // False when there is none.

}  // namespace tarn
