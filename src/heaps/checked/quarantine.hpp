// quarantine: blocks that have been freed and are not used again yet, the oldest first. What is
// written to them meanwhile is found when they leave, and a second free of them is told from the
// first. The record's lock is held.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/record.hpp"
#include "heaps/checked/places.hpp"

namespace tarn {

// Of blocks that are guarded, the most bytes in quarantine.
inline constexpr std::size_t guarded_kept_bytes_max = std::size_t{16} << 20;

// What a block in quarantine counts for in Checks::kept_bytes.
std::size_t kept_bytes_of(const Page* page, const Place& place) noexcept;

// Puts a live block that the program frees into the quarantine. Its note is up to date but for the
// state.
void keep_back(HeapRecord& record, Page* page, const Place& place) noexcept;

// Lets the oldest blocks leave until the quarantine has no more than it may have.
void bound_kept(HeapRecord& record) noexcept;

void release_oldest(HeapRecord& record) noexcept;  // pre: a block is in quarantine

// Lets all blocks leave. False when there is none, or while the heap is being walked.
bool release_all(HeapRecord& record) noexcept;

}  // namespace tarn
