// chunks: how an arena acquires chunks, uses them and gives them back.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kinds/arenas/chunk.hpp"

namespace tarn {

// Acquires a chunk of `bytes` bytes, or of fewer, down to `least_bytes`. Null: there is no memory,
// or the limit forbids it.
tarn_arena_chunk* acquire_chunk(tarn_arena& arena, std::size_t bytes, std::size_t least_bytes,
                                std::size_t alignment) noexcept;
void release_chunk(tarn_arena& arena, tarn_arena_chunk* chunk) noexcept;
// Makes a retained or a new chunk with room for so many bytes the current one. False: there is
// none.
bool open_chunk(tarn_arena& arena, std::size_t wanted) noexcept;
// Allocates a block in a chunk of its own. Null: there is no memory.
void* allocate_large(tarn_arena& arena, std::size_t bytes, std::size_t alignment,
                     const void* here) noexcept;
void release_large(tarn_arena& arena) noexcept;  // Releases the newest large chunk.
std::size_t next_chunk_bytes(const tarn_arena& arena) noexcept;

}  // namespace tarn
