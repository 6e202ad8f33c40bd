// watched: pools that a tool is told of, so that its report of a wrong access can say which block
// of which pool the address is in. unwatch_owner() (kinds/sources/checked_blocks.hpp) ends it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "tarn/pool/pool.h"

namespace tarn {

void watch_pool(tarn_pool& pool) noexcept;

}  // namespace tarn
