// Order: what a contestant is made for.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace tarn {

struct Order {
  std::size_t block_bytes;
  std::size_t blocks;    // So many will be asked for; a contestant that grows may ignore it.
  bool at_once = false;  // Memory for them is to be there when the constructor ends.
};

}  // namespace tarn
