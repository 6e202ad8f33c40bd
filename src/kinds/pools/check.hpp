// check: checks every invariant of a pool. docs/design/pool.md has them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kinds/pools/chunk.hpp"

namespace tarn {

// Looks at every chunk and every free block. pre: the pool is not being walked
bool check_pool(const tarn_pool& pool) noexcept;

// For assertions: `chunks` of the pool have been acquired, or released, by now. Checks the pool
// only where that is a power of two, so that all these checks together cost about as much as the
// last.
inline bool check_pool_at(const tarn_pool& pool, std::uint64_t chunks) noexcept {
  return !is_power_of_two(static_cast<std::size_t>(chunks)) || check_pool(pool);
}

}  // namespace tarn
