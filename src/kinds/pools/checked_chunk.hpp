// checked_chunk: what a chunk of a checked pool has besides: its place in the tree, live bits, and
// the queue of its free blocks.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kinds/pools/chunk.hpp"

namespace tarn {

void begin_checks(tarn_pool_chunk& chunk) noexcept;
void end_checks(tarn_pool_chunk& chunk) noexcept;
void reset_checks(CheckedChunk& chunk) noexcept;  // No block is live any more.
bool check_checked(const tarn_pool_chunk& chunk) noexcept;

}  // namespace tarn
