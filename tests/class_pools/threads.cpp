// Class pools under a lock, used by some threads at once; blocks change hands.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>
#include <random>

#include "../support/threads.hpp"
#include "tarn/pool/class_pools.hpp"

namespace {

TEST(ClassPoolsThreads, BlocksChangeHands) {
  tarn::ClassPoolsOptions options;
  static constexpr std::size_t sizes[] = {396, 768};
  options.classes = sizes;
  tarn::LockedClassPools<std::mutex> pools(options);
  std::array<std::atomic<unsigned char*>, 64> slots{};
  std::atomic<bool> torn{false};
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 200'000 / TARN_TEST_DIVISOR; ++i) {
      auto* const p = static_cast<unsigned char*>(pools.allocate(4 + random() % 900));
      p[0] = p[3] = static_cast<unsigned char>(i);
      unsigned char* const other = slots[random() % 64].exchange(p, std::memory_order_acq_rel);
      if (other == nullptr) continue;
      if (other[0] != other[3]) torn = true;
      if (random() % 4 == 0) {
        auto* const grown = static_cast<unsigned char*>(pools.try_reallocate(other, 1000));
        if (grown[0] != grown[3]) torn = true;
        pools.deallocate(grown);
      } else {
        pools.deallocate(other);
      }
    }
  };
  support::Threads threads(4u, work);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(pools.check());
    pools.trim();
    static_cast<void>(pools.stats());
  }
  threads.join();
  EXPECT_FALSE(torn);
  std::size_t left = 0;
  for (auto& slot : slots) left += slot.load() != nullptr ? 1 : 0;
  EXPECT_EQ(pools.stats().in_use, left);
  for (auto& slot : slots) pools.deallocate(slot.load());
  EXPECT_EQ(pools.stats().in_use, 0u);
  EXPECT_TRUE(pools.check());
}

}  // namespace
