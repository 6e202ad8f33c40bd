// chunks: how the chunks of class pools begin, are found, become empty and end. While the source is
// called, other threads may use the pools. So all invariants hold during the call, and everything
// that was read before it is read again.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kinds/class_pools/chunk.hpp"

namespace tarn {

// The chunk in whose memory p lies; null: p lies in none. p: any pointer.
tarn_class_chunk* find_chunk(tarn_class_pools& pools, const void* p) noexcept;
// Makes an open chunk of the class; null: there is no memory. zeros: the first block is to read as
// zero if that costs nothing extra.
tarn_class_chunk* new_chunk(tarn_class_pools& pools, tarn_class_pool& pool, bool zeros) noexcept;
// The same for a chunk of one block with this alignment, which is on no list.
tarn_class_chunk* new_lone_chunk(tarn_class_pools& pools, tarn_class_pool& pool,
                                 std::size_t alignment, bool zeros) noexcept;
void release_chunk(tarn_class_pools& pools, tarn_class_chunk* chunk) noexcept;
// Keeps a chunk that has become empty as its class's spare, or releases it.
void note_empty(tarn_class_pools& pools, tarn_class_chunk* chunk) noexcept;
// Releases the empty spares of all classes; false: there were none.
bool release_spares(tarn_class_pools& pools) noexcept;
// Releases all empty chunks, and returns their bytes.
std::size_t trim(tarn_class_pools& pools) noexcept;

}  // namespace tarn
