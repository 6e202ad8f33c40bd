// check: every invariant of class pools.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "class_pools/chunk.hpp"

namespace tarn {

bool check_class_pools(const tarn_class_pools& pools) noexcept;

}  // namespace tarn
