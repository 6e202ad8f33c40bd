// The family of xallocator used by some threads at once, of which some fork.
//
// SPDX-License-Identifier: MIT
#include "xallocator.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

TEST(XallocatorThreads, ThreadsAndForks) {
  std::atomic<int> wrong{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 3; ++seed) {
    threads.emplace_back([&, seed] {
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
  }
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool good = tarn_xalloc_check() == 1;
      for (int j = 0; j < 100; ++j) {
        void* const p = xmalloc(static_cast<std::size_t>(j) * 31);
        good = good && p != nullptr;
        xfree(p);
      }
      _exit(good ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << i;
    // Others wait meanwhile.
    lock_get();
    void* const p = xmalloc(10);
    xfree(p);
    lock_release();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(tarn_xalloc_check(), 1);
  tarn_class_pools_stats stats = TARN_CLASS_POOLS_STATS();
  EXPECT_EQ(tarn_xalloc_get_stats(&stats), 0);
  EXPECT_EQ(stats.in_use, 0u);
}

}  // namespace
