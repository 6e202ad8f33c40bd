// A TLSF heap with a lock, used by several threads at once: blocks keep what their owner wrote
// while others reallocate and free; and all is there again at the end.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <random>
#include <vector>

#include "../support/threads.hpp"
#include "tarn/heap/tlsf.hpp"

namespace {

tarn::StaticTlsfHeap<100'000, std::mutex> heap;

void use(unsigned char mark) {
  struct Block {
    unsigned char* p;
    std::size_t bytes;
  };
  std::vector<Block> live;
  std::mt19937 random(mark);
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t bytes = random() % 400;
    if (live.size() < 30 && random() % 2 == 0) {
      auto* const p = static_cast<unsigned char*>(heap.try_allocate(bytes));
      if (p == nullptr) continue;
      std::memset(p, mark, bytes);
      live.push_back({p, bytes});
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      Block& block = live.back();
      for (std::size_t i = 0; i < block.bytes; ++i) ASSERT_EQ(block.p[i], mark);
      auto* const p = static_cast<unsigned char*>(heap.try_reallocate(block.p, bytes));
      if (p != nullptr) block = {p, std::min(bytes, block.bytes)};
      for (std::size_t i = 0; i < block.bytes; ++i) ASSERT_EQ(block.p[i], mark);
      if (step % 3 == 0) continue;
      heap.deallocate(block.p);
      live.pop_back();
    }
  }
  for (const Block& block : live) heap.deallocate(block.p);
}

TEST(TlsfThreads, ShareAHeapWithALock) {
  support::in_threads(4, [](int number) { use(static_cast<unsigned char>(number + 1)); });
  EXPECT_TRUE(heap.check());
  EXPECT_EQ(heap.stats().in_use_bytes, 0U);
  EXPECT_GT(heap.stats().peak_bytes, 1000U);
}

}  // namespace
