// check: checks every invariant of a pool. docs/design/pool.md has them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kinds/pools/chunk.hpp"

namespace tarn {

// Looks at every chunk and every free block. pre: the pool is not being walked
bool check_pool(const tarn_pool& pool) noexcept;

}  // namespace tarn
