// The family of xallocator used by some threads at once, of which some fork.
//
// SPDX-License-Identifier: MIT
#include "xallocator.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "../support/child.hpp"
#include "../support/threads.hpp"

namespace {

TEST(XallocatorThreads, ThreadsAndForks) {
  std::atomic<int> wrong{0};
  std::atomic<bool> stop{false};
  support::Threads threads(3u, [&](unsigned seed) {
    std::vector<unsigned char*> blocks;
    for (unsigned i = seed; !stop.load(std::memory_order_relaxed); i = i * 1664525 + 1013904223) {
      auto* const p = static_cast<unsigned char*>(xmalloc(i % 3000));
      if (p == nullptr) ++wrong;
      p[0] = static_cast<unsigned char>(seed);
      blocks.push_back(p);
      if (blocks.size() < 100) continue;
      for (unsigned char* const block : blocks) {
        if (block[0] != seed) ++wrong;
        xfree(xrealloc(block, 700));
      }
      blocks.clear();
    }
    for (unsigned char* const block : blocks) xfree(block);
  });
  for (int i = 0; i < 30; ++i) {
    const int status = support::status_of_child([&] {
      bool good = true;
      for (int j = 0; j < 100; ++j) {
        void* const p = xmalloc(static_cast<std::size_t>(j) * 31);
        good = good && p != nullptr;
        xfree(p);
      }
      return good ? 0 : 1;
    });
    EXPECT_EQ(status, 0) << i;
    // Others wait meanwhile.
    lock_get();
    void* const p = xmalloc(10);
    xfree(p);
    lock_release();
  }
  stop = true;
  threads.join();
  EXPECT_EQ(wrong, 0);
  tarn_xalloc_class_stats stats = TARN_XALLOC_CLASS_STATS();
  for (std::size_t i = 0; tarn_xalloc_get_class_stats(i, &stats) == 0; ++i) {
    EXPECT_EQ(stats.in_use, 0u) << stats.block_bytes;
    EXPECT_LE(stats.in_use_peak, 3u * 101 + 1 + 4 * 512) << stats.block_bytes;
  }
}

}  // namespace
