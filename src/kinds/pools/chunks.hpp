// chunks: how a pool's chunks begin, are found, become empty and end. A chunk is in the list `full`
// if it has no room, else in `open`.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kinds/pools/chunk.hpp"

namespace tarn {

// Memory from the source, counted, and back to it.
tarn_chunk acquire_memory(tarn_pool& pool, std::size_t bytes) noexcept;
void release_memory(tarn_pool& pool, tarn_chunk memory) noexcept;

// Makes an open chunk of memory that was acquired.
tarn_pool_chunk* begin_chunk(tarn_pool& pool, tarn_chunk memory) noexcept;
// The same with the reserve, or with memory from the source; null: there is none.
tarn_pool_chunk* new_chunk(tarn_pool& pool) noexcept;
// An open chunk, or a new one; null: there is no memory.
tarn_pool_chunk* chunk_with_room(tarn_pool& pool) noexcept;
void release_chunk(tarn_pool& pool, tarn_pool_chunk* chunk) noexcept;  // pre: it is in a list

// Makes all blocks fresh again. pre: none is live
void reset_chunk(tarn_pool_chunk& chunk) noexcept;

// Count blocks that the pool takes from a chunk or gives back to it, and move it between the lists.
void note_taken(tarn_pool& pool, tarn_pool_chunk& chunk, std::size_t blocks) noexcept;
void note_given(tarn_pool& pool, tarn_pool_chunk& chunk, std::size_t blocks) noexcept;
// Keeps a chunk that has become empty as the spare, and releases the spare before it.
void note_empty(tarn_pool& pool, tarn_pool_chunk* chunk) noexcept;

// The chunk in whose memory p lies; null: p lies in none of this pool's. p: any pointer.
tarn_pool_chunk* find_chunk(const tarn_pool& pool, const void* p) noexcept;

}  // namespace tarn
