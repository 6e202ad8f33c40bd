// check: checks every invariant of class pools. docs/design/class_pools.md has them.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kinds/class_pools/chunk.hpp"

namespace tarn {

// Looks at every chunk, and at the word of every block. pre: the caller has the user's lock
bool check_class_pools(const tarn_class_pools& pools) noexcept;

}  // namespace tarn
