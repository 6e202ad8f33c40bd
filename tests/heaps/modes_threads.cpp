// Checked, guarded and passthrough heaps among threads: blocks are allocated by one and freed by
// another, while heaps are walked, asked, trimmed and cleared.
//
// SPDX-License-Identifier: MIT
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <random>
#include <thread>

#include "../support/threads.hpp"
#include "modes.hpp"

namespace heaps {
namespace {

class ModesThreads : public Modes {};
INSTANTIATE_TEST_SUITE_P(All, ModesThreads,
                         testing::Combine(checking_modes,
                                          testing::Values(TARN_HEAP_SHARED, TARN_HEAP_SERIALISED)));

struct Block {
  void* p;
  std::size_t bytes;
};

TEST_P(ModesThreads, BlocksCrossThreads) {
  const Heap heap(wanted());
  std::mutex mutex;
  std::vector<Block> shared;
  std::atomic<bool> stop{false};
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < scaled(20'000); ++i) {
      const std::size_t bytes = random() % (random() % 50 == 0 ? 200'000 : 400);
      void* p = tarn_heap_allocate(heap, bytes);
      ASSERT_NE(p, nullptr);
      fill(p, bytes < 64 ? bytes : 64, 5);
      Block mine{p, bytes};
      if (random() % 4 == 0) {
        mine.bytes = bytes / 2 + 10;
        mine.p = tarn_heap_reallocate(heap, p, mine.bytes);
        ASSERT_NE(mine.p, nullptr);
      }
      Block other{nullptr, 0};
      {
        const std::lock_guard<std::mutex> guard(mutex);
        shared.push_back(mine);
        std::swap(shared[random() % shared.size()], shared.back());
        if (shared.size() > 100) {
          other = shared.back();
          shared.pop_back();
        }
      }
      if (other.p != nullptr) tarn_free_sized(other.p, other.bytes);
    }
  };
  std::thread asking([&] {
    while (!stop) {
      const Walked seen = walked(heap);
      EXPECT_EQ(seen.blocks, seen.promised);
      const tarn_heap_stats stats = stats_of(heap);
      EXPECT_EQ(stats.live_bytes, stats.requested_bytes);
      tarn_heap_trim(heap, 0);
      std::this_thread::sleep_for(std::chrono::microseconds(100));  // Others come, too.
    }
  });
  support::in_threads(3u, work);
  stop = true;
  asking.join();
  std::uint64_t bytes = 0;
  for (const Block& block : shared) bytes += block.bytes;
  expect_accounts(heap, shared.size(), bytes);
  for (const Block& block : shared) tarn_free(block.p);
  expect_empty(heap);
}

// Threads allocate while another clears: what they get is theirs until the next clearing, which
// they cannot know of, so they touch nothing.
TEST_P(ModesThreads, ClearedMeanwhile) {
  const Heap heap(wanted());
  std::atomic<bool> stop{false};
  support::Threads threads(3u, [&](unsigned id) {
    std::mt19937 random(id);
    while (!stop) {
      for (int i = 0; i < 50; ++i) {
        ASSERT_NE(tarn_heap_allocate(heap, random() % 3000), nullptr);
      }
      std::this_thread::yield();  // Who clears has to get a turn.
    }
  });
  for (int i = 0; i < scaled(300); ++i) EXPECT_EQ(tarn_heap_clear(heap), 0);
  stop = true;
  threads.join();
  EXPECT_EQ(tarn_heap_clear(heap), 0);
  expect_accounts(heap, 0, 0);
  EXPECT_EQ(committed(heap), 0u);
}

// Each thread makes and ends heaps of its own; records, notes and the budget of mappings are all's.
TEST_P(ModesThreads, HeapsComeAndGo) {
  support::in_threads(3u, [&](unsigned id) {
    std::mt19937 random(id);
    for (int i = 0; i < scaled(300); ++i) {
      Heap own(wanted("own"));
      std::vector<void*> blocks;
      for (int b = 0; b < 40; ++b) blocks.push_back(tarn_heap_allocate(own, random() % 500));
      for (int b = 0; b < 20; ++b) tarn_free(blocks[static_cast<std::size_t>(b)]);
      EXPECT_EQ(stats_of(own).live_blocks, 20u);
      if (i % 3 != 0) continue;
      const tarn_heap_options made = wanted();
      const tarn_heap kept = tarn_heap_create(&made);
      void* const p = tarn_heap_allocate(kept, 100);
      EXPECT_EQ(tarn_heap_delete(kept), 0);
      fill(p, 100, 1);
      tarn_free(p);
    }
  });
}

// Pointers that are nobody's are looked up where passthrough heaps have theirs, while those go.
TEST(PassthroughThreads, ForeignPointersMeanwhile) {
  std::atomic<bool> stop{false};
  std::thread asking([&] {
    const int foreign = 0;
    while (!stop) EXPECT_TRUE(is_none(tarn_heap_of(&foreign)));
  });
  for (int i = 0; i < scaled(100'000); ++i) {
    const Heap heap(in_mode(TARN_MODE_PASSTHROUGH));
    EXPECT_NE(tarn_heap_allocate(heap, 10), nullptr);
  }
  stop = true;
  asking.join();
}

}  // namespace
}  // namespace heaps
