// check: checks every invariant of class pools. docs/design/class_pools.md has them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kinds/class_pools/chunk.hpp"

namespace tarn {

// Looks at every chunk, and at the word of every block. pre: the caller has the user's lock
bool check_class_pools(const tarn_class_pools& pools) noexcept;

// For assertions: `chunks` of the pools have been acquired, or released, by now. Checks the pools
// only where that is a power of two, so that all these checks together cost about as much as the
// last.
inline bool check_class_pools_at(const tarn_class_pools& pools, std::uint64_t chunks) noexcept {
  return !is_power_of_two(static_cast<std::size_t>(chunks)) || check_class_pools(pools);
}

}  // namespace tarn
