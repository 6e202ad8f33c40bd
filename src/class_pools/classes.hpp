// classes: the classes of pools, how they are made and how pools end.
//
//   table:  | class | class | ... | first class of each quarter of a doubling |
//
// SPDX-License-Identifier: MIT
#pragma once

#include "class_pools/chunk.hpp"

namespace tarn {

// Pools that have no chunk yet get another place. `from` is none any more, `to` was none.
void move_class_pools(tarn_class_pools& from, tarn_class_pools& to) noexcept;

// As if there had been no request but those of the live blocks.
void forget_counts(tarn_class_pools& pools) noexcept;

}  // namespace tarn
