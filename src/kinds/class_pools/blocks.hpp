// blocks: how blocks are taken from their chunks and given back, and what a pointer is. The caller
// has the lock. Other threads may use the pools while the source is called, but not destroy them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kinds/class_pools/chunk.hpp"

namespace tarn {

// Allocates a block; null: there is no memory. *zero says whether it is to read as zero, and
// afterwards whether it does so without being written.
void* allocate_block(tarn_class_pools& pools, std::size_t bytes, std::size_t alignment,
                     bool* zero) noexcept;

// What a pointer is that the program frees: a live block, a block that is not live, or neither.
enum class Verdict { live, dead, foreign };
struct Found {
  Verdict verdict;
  tarn_class_chunk* chunk;
  std::size_t index;  // The index of a live or dead block.
  // The block in which a foreign pointer lies, if any. It is noted here for the report, since its
  // chunk may go before that.
  const void* start = nullptr;
  std::size_t bytes = 0;
};
Found find_block(tarn_class_pools& pools, const void* p) noexcept;
void free_block(tarn_class_pools& pools, const Found& found) noexcept;

// Finds room for `bytes` bytes for the block at p. If `block` is not p, the caller has to copy
// `contents` bytes there and to free p.
struct Resized {
  Found found;            // What p is. The rest is set for a live block only.
  void* block = nullptr;  // Null: there is no memory.
  std::size_t contents = 0;
};
Resized resize_block(tarn_class_pools& pools, void* p, std::size_t bytes) noexcept;

// How many bytes the program may use at a live block. From now on it may write to all of them.
inline std::size_t tell_usable(tarn_class_chunk& chunk) noexcept {
  if (chunk.capacity == 1) chunk.used = chunk.pool->block_bytes;
  return chunk.pool->block_bytes;
}

}  // namespace tarn
