// chunks: how a pool's chunks begin, are found, become empty and end. A chunk is in the list `full`
// if it has no room, else in `open`.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kinds/pools/chunk.hpp"

namespace tarn {

// A chunk is in `full` if it has no room, else in `open`.
tarn_pool_chunk* begin_chunk(tarn_pool& pool, tarn_chunk memory) noexcept;
tarn_chunk acquire_memory(tarn_pool& pool, std::size_t bytes) noexcept;
tarn_pool_chunk* new_chunk(tarn_pool& pool) noexcept;
void release_chunk(tarn_pool& pool, tarn_pool_chunk* chunk) noexcept;  // pre: in a list
void release_memory(tarn_pool& pool, tarn_chunk memory) noexcept;
void reset_chunk(tarn_pool_chunk& chunk) noexcept;  // All blocks are fresh again.
tarn_pool_chunk* chunk_with_room(tarn_pool& pool) noexcept;
void note_taken(tarn_pool& pool, tarn_pool_chunk& chunk, std::size_t blocks) noexcept;
void note_given(tarn_pool& pool, tarn_pool_chunk& chunk, std::size_t blocks) noexcept;
// Keeps a chunk that has become empty as the spare, and releases the spare before it.
void note_empty(tarn_pool& pool, tarn_pool_chunk* chunk) noexcept;

// The chunk in whose memory p lies; null: p lies in none of this pool's. p: any pointer.
tarn_pool_chunk* find_chunk(const tarn_pool& pool, const void* p) noexcept;

}  // namespace tarn
