// chunk_tree: the tree of a checked pool's chunks by address. The chunks' headers are its nodes.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kinds/pools/chunk.hpp"

namespace tarn {

void insert_by_address(tarn_pool& pool, CheckedChunk* chunk) noexcept;
void remove_by_address(tarn_pool& pool, CheckedChunk* chunk) noexcept;

// The chunk in whose memory p lies; null: p lies in none of this pool's.
CheckedChunk* find_by_address(const tarn_pool& pool, const void* p) noexcept;

}  // namespace tarn
