// STATIC_POOLS without another word: any thread may use them. (The source's, and ours before, gave
// one block to two threads.)
//
// SPDX-License-Identifier: MIT
#include "xallocator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstring>

#include "../support/threads.hpp"

namespace {

TEST(XallocatorPoolsThreads, NoBlockIsTwoThreads) {
  std::atomic<int> wrong{0};
  {
    support::Threads threads(4u, [&](unsigned seed) {
      unsigned char* held[4] = {};
      for (unsigned i = seed, step = 0; step < 50000; ++step, i = i * 1664525 + 1013904223) {
        unsigned char*& block = held[i % 4];
        const auto mark = static_cast<unsigned char>(seed);
        if (block != nullptr) {
          if (block[0] != mark || block[15] != mark) ++wrong;
          xfree(block);
          block = nullptr;
        } else {
          block = static_cast<unsigned char*>(xmalloc(16 + (i >> 8) % 300));
          if (block == nullptr) continue;  // There are few.
          std::memset(block, mark, 16);
        }
      }
      for (unsigned char* const block : held) xfree(block);
    });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(tarn_xstatic_check(), 1);
  std::size_t bytes = 0;
  std::size_t peak = 0;
  std::size_t in_use = 0;
  for (std::size_t i = 0; tarn_xstatic_stats(i, &bytes, &peak, &in_use) != 0; ++i) {
    EXPECT_EQ(in_use, 0u) << bytes;
  }
}

}  // namespace
