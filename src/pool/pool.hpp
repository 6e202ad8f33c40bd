// pool: the blocks that a fast pool has at hand, between its hit paths and its chunks.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "tarn/pool.h"

namespace tarn {

inline std::size_t fresh_blocks(const tarn_pool& pool) noexcept {
  if (pool.fresh == pool.fresh_end) return 0;
  return static_cast<std::size_t>(pool.fresh_end - pool.fresh) / pool.stride;
}
inline std::uint64_t live_blocks(const tarn_pool& pool) noexcept {
  return pool.taken - pool.cached - fresh_blocks(pool);
}
void give_fresh_back(tarn_pool& pool) noexcept;
void flush(tarn_pool& pool, std::size_t blocks, const void* here) noexcept;  // The oldest.
void flush_all(tarn_pool& pool) noexcept;
void set_limit(tarn_pool& pool) noexcept;

}  // namespace tarn
