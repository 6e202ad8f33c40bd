// classes: how class pools and their classes are made, and how they end.
//
//   table:  | class | class | ... | first class of each quarter of a doubling |
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kinds/class_pools/chunk.hpp"

namespace tarn {

// Moves pools that have no chunk yet to another place. `from` is as before tarn_class_pools_init.
void move_class_pools(tarn_class_pools& from, tarn_class_pools& to) noexcept;

// Resets all counts, as if only the live blocks had ever been requested.
void forget_counts(tarn_class_pools& pools) noexcept;

}  // namespace tarn
