// Where a thread leaves blocks for another thread to free.
//
// Threads that use trays meet at a barrier now and then: without it the one that the kernel favours
// would run ahead, its blocks would pile up, and peak memory would tell about scheduling.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "block.hpp"

namespace tarn {

class Tray {
 public:
  // Takes all of `from`, which is empty afterwards.
  void leave(std::vector<Block>& from) {
    std::lock_guard lock(mutex_);
    blocks_.insert(blocks_.end(), from.begin(), from.end());
    from.clear();
  }

  // Frees what lies here, outside the lock, and returns the blocks' part of the checksum.
  std::uint64_t clear() {
    std::vector<Block> taken;
    {
      std::lock_guard lock(mutex_);
      taken.swap(blocks_);
    }
    std::uint64_t sum = 0;
    for (Block& block : taken) {
      sum += give_block(block);
    }
    return sum;
  }

 private:
  std::mutex mutex_;
  std::vector<Block> blocks_;
};

}  // namespace tarn
