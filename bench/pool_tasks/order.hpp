// Order: what a contestant is made for; and what most contestants have in common.
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

struct FreesEach {
  static constexpr bool frees = true;
  static constexpr bool reserves = false;
  void all_freed() {}
};

struct FreesAtOnce {
  static constexpr bool frees = false;
  static constexpr bool reserves = false;
  void deallocate(void*, std::size_t, std::size_t) {}
};

}  // namespace tarn
