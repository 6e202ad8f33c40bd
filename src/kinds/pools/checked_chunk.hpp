// checked_chunk: what a chunk of a checked pool has besides: its place in the tree, live bits,
// notes, and the queue of its free blocks.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kinds/pools/chunk.hpp"
#include "platform/report/misuse.hpp"

namespace tarn {

void begin_checks(tarn_pool_chunk& chunk) noexcept;
void end_checks(tarn_pool_chunk& chunk) noexcept;
void reset_checks(CheckedChunk& chunk) noexcept;  // When all blocks have ended.
bool check_checked(const tarn_pool_chunk& chunk) noexcept;

// What a report about p says of the pool, and of the block in which p lies. chunk: the one in whose
// memory p lies; null: none.
OwnerReport report_about(const tarn_pool& pool, const tarn_pool_chunk* chunk,
                         const void* p) noexcept;

}  // namespace tarn
