// classes: the classes of pools, how they are made and how pools end.
//
//   table:  | class | class | ... | first class of each quarter of a doubling |
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kinds/class_pools/chunk.hpp"

namespace tarn {

// Moves pools that have no chunk yet to another place. `from` is not initialised afterwards.
void move_class_pools(tarn_class_pools& from, tarn_class_pools& to) noexcept;

// Sets all counts as if only the live blocks had ever been requested.
void forget_counts(tarn_class_pools& pools) noexcept;

}  // namespace tarn
