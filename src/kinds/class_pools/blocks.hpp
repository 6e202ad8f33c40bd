// blocks: how blocks are taken from their chunks and given back, and what a pointer is. No lock is
// taken here. Others may use the pools while the source is called, but not destroy them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kinds/class_pools/chunk.hpp"

namespace tarn {

// *zero: whether the block is to read as zero; then, whether it does without being written.
void* allocate_block(tarn_class_pools& pools, std::size_t bytes, std::size_t alignment,
                     bool* zero) noexcept;

// What a pointer is that the program frees.
enum class Verdict { live, dead, foreign };
struct Found {
  Verdict verdict;
  tarn_class_chunk* chunk;
  std::size_t index;  // Of a live or dead block.
  // The block that a foreign pointer lies in, if any: its chunk may go before this is reported.
  const void* start = nullptr;
  std::size_t bytes = 0;
};
Found find_block(tarn_class_pools& pools, const void* p) noexcept;
void free_block(tarn_class_pools& pools, const Found& found) noexcept;

// The block at p with room for `bytes`. It has moved if its place is another one: then `contents`
// bytes are to be copied there, and p is to be freed.
struct Resized {
  Found found;            // What p is. The rest is set for a live block only.
  void* block = nullptr;  // Null: no memory.
  std::size_t contents = 0;
};
Resized resize_block(tarn_class_pools& pools, void* p, std::size_t bytes) noexcept;

// Bytes that the program may use at a live block. From now on it may write to all of them.
inline std::size_t tell_usable(tarn_class_chunk& chunk) noexcept {
  if (chunk.capacity == 1) chunk.used = chunk.pool->block_bytes;
  return chunk.pool->block_bytes;
}

}  // namespace tarn
