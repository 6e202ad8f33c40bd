// chunk_tree: the chunks of a checked pool by address; its nodes are their headers.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kinds/pools/chunk.hpp"

namespace tarn {

void insert_by_address(tarn_pool& pool, CheckedChunk* chunk) noexcept;
void remove_by_address(tarn_pool& pool, CheckedChunk* chunk) noexcept;

// The chunk whose memory p lies in; null: none of this pool.
CheckedChunk* find_by_address(const tarn_pool& pool, const void* p) noexcept;

}  // namespace tarn
