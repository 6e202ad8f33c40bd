// chunks: where an arena's memory comes from and goes to.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kinds/arenas/chunk.hpp"

namespace tarn {

// Null: there is no memory, or the limit forbids it.
tarn_arena_chunk* acquire_chunk(tarn_arena& arena, std::size_t bytes, std::size_t least_bytes,
                                std::size_t alignment) noexcept;
void release_chunk(tarn_arena& arena, tarn_arena_chunk* chunk) noexcept;
// Makes a chunk with room for so many bytes the current one. False: as above.
bool open_chunk(tarn_arena& arena, std::size_t wanted) noexcept;
// A block in a chunk of its own.
void* allocate_large(tarn_arena& arena, std::size_t bytes, std::size_t alignment,
                     const void* here) noexcept;
void release_large(tarn_arena& arena) noexcept;  // The newest one.
std::size_t next_chunk_bytes(const tarn_arena& arena) noexcept;

}  // namespace tarn
