// Forks while other threads work in heaps: the child allocates, frees, clears and destroys, in the
// heaps that it inherited and in new ones, and ends in order.
//
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

#include "../support/child.hpp"
#include "modes.hpp"

namespace heaps {
namespace {

using support::require;

class Forks : public Modes {
 protected:
  void SetUp() override {
    if (TARN_TEST_DIVISOR != 1 && mode() == TARN_MODE_PASSTHROUGH) {
      GTEST_SKIP() << "a sanitizer's malloc is not the child's";
    }
    of_child_.reserve(256);
    for (std::size_t i = 0; i < heaps_.size(); ++i) {
      tarn_heap_options made = wanted("inherited");
      if (i % 2 == 1) made.ceiling_bytes = 512 * kib;
      heaps_[i] = tarn_heap_create(&made);
      ASSERT_FALSE(is_none(heaps_[i]));
    }
    for (unsigned id = 0; id < 3; ++id) {
      threads_.emplace_back([this, id] { work(id); });
    }
  }
  void TearDown() override {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    for (const tarn_heap heap : heaps_) {
      if (is_none(heap)) continue;  // Skipped.
      expect_empty(heap);
      EXPECT_EQ(tarn_heap_destroy(heap), 0);
    }
  }
  void fork_and_wait(int turn) {
    // Each time at another point, and with threads that have got on since.
    const int until = steps_ + 20 + turn % 40;
    while (steps_ < until) std::this_thread::yield();
    const auto live = [&] { live_as_child(static_cast<unsigned>(turn)); };
    ASSERT_EQ(support::status_of_child(live), 0) << "turn " << turn << ": see the child's message";
  }
  std::array<tarn_heap, 6> heaps_{};

 private:
  static void use(tarn_heap heap, std::mt19937& random, std::vector<void*>& blocks,
                  bool refusable) {
    const std::size_t bytes = random() % (random() % 100 == 0 ? 200'000 : 300);
    void* const p = tarn_heap_allocate(heap, bytes);
    require(p != nullptr || refusable, "out of memory");
    if (p == nullptr) return;
    fill(p, bytes < 100 ? bytes : 100, 1);
    blocks.push_back(p);
    if (blocks.size() < 200) return;
    for (void* const block : blocks) tarn_free(block);
    blocks.clear();
  }

  // All that is there can be freed, and leaves nothing behind.
  static void free_all(tarn_heap heap) {
    const auto visit = [](const tarn_heap_item* item, void* context) {
      if (item->kind == TARN_HEAP_PAGE) return 0;
      tarn_free(item->start);
      ++*static_cast<std::uint64_t*>(context);
      return 0;
    };
    const std::uint64_t live = stats_of(heap).live_blocks;
    std::uint64_t freed = 0;
    require(tarn_heap_walk(heap, 0, visit, &freed) == 0, "not walked");
    require(freed == live, "not what is live is shown");
    tarn_heap_trim(heap, 0);
    require(stats_of(heap).committed_bytes == 0, "memory is charged that is nowhere");
  }

  // Heaps that all use, one of the thread's own, which comes and goes, and one that is cleared.
  void work(unsigned id) {
    std::mt19937 random(id);
    // Room from the start: a sanitizer's malloc may stay locked in a child.
    std::vector<void*> blocks;
    std::vector<void*> here;
    blocks.reserve(256);
    here.reserve(256);
    while (!stop_) {
      ++steps_;
      for (int i = 0; i < 100; ++i) use(heaps_[random() % 6], random, blocks, true);
      const tarn_heap_options made = wanted();
      const tarn_heap own = tarn_heap_create(&made);
      here.clear();
      const int count = static_cast<int>(random() % 150);
      for (int i = 0; i < count; ++i) use(own, random, here, false);
      if (random() % 2 == 0) require(tarn_heap_clear(own) == 0, "not cleared");
      if (random() % 8 == 0) stats_of(heaps_[random() % 6]);
      require(tarn_heap_destroy(own) == 0, "not destroyed");
    }
    for (void* const block : blocks) tarn_free(block);
  }

  [[noreturn]] void live_as_child(unsigned seed) {
    ::alarm(60);
    std::mt19937 random(seed);
    std::vector<void*>& blocks = of_child_;
    for (std::size_t i = 0; i < heaps_.size(); ++i) {
      blocks.clear();
      for (int b = 0; b < 250; ++b) use(heaps_[i], random, blocks, true);
      for (void* const block : blocks) {
        require(same(tarn_heap_of(block), heaps_[i]), "a block is of another heap");
        tarn_free(block);
      }
      stats_of(heaps_[i]);
      if (i % 2 == 0) {
        require(tarn_heap_clear(heaps_[i]) == 0, "not cleared");
        const tarn_heap_stats stats = stats_of(heaps_[i]);
        require(stats.live_blocks == 0, "blocks are live in a heap that was cleared");
        require(mode() == TARN_MODE_FAST || stats.committed_bytes == 0, "memory of a cleared heap");
        blocks.clear();
        for (int b = 0; b < 100; ++b) use(heaps_[i], random, blocks, false);
        require(stats_of(heaps_[i]).live_blocks == 100, "not what was allocated is live");
      }
      if (i % 2 == 1 && mode() != TARN_MODE_FAST) free_all(heaps_[i]);
      require(tarn_heap_destroy(heaps_[i]) == 0, "not destroyed");
    }
    for (int i = 0; i < 20; ++i) {
      const tarn_heap_options made = wanted();
      const tarn_heap heap = tarn_heap_create(&made);
      require(!is_none(heap), "not made");
      blocks.clear();
      for (int b = 0; b < 120; ++b) use(heap, random, blocks, false);
      require(stats_of(heap).live_blocks == blocks.size(), "a new heap counts wrongly");
      require(tarn_heap_destroy(heap) == 0, "a new heap is not destroyed");
    }
    tarn_malloc_trim(0);
    ::_exit(0);
  }

  std::atomic<bool> stop_{false};
  std::atomic<int> steps_{0};
  std::vector<void*> of_child_;
  std::vector<std::thread> threads_;
};
INSTANTIATE_TEST_SUITE_P(Fast, Forks,
                         testing::Combine(testing::Values(TARN_MODE_FAST),
                                          testing::Values(TARN_HEAP_SHARED, TARN_HEAP_SERIALISED)));
INSTANTIATE_TEST_SUITE_P(Checking, Forks,
                         testing::Combine(checking_modes, testing::Values(TARN_HEAP_SHARED)));

TEST_P(Forks, WhileThreeThreadsWork) {
  const bool is_slow = TARN_TEST_DIVISOR != 1 || mode() == TARN_MODE_GUARDED;
  for (int turn = 0; turn < (is_slow ? 25 : 100); ++turn) {
    fork_and_wait(turn);
    if (HasFatalFailure()) return;
  }
}

// Blocks that are older than the fork are the child's, whole and counted.
class Alone : public Modes {};
INSTANTIATE_TEST_SUITE_P(All, Alone, testing::Combine(testing::Range(0, 4), every_mode));

TEST_P(Alone, InAnyMode) {
  for (const int count : {10, 500}) {
    {
      Heap heap(wanted());
      std::vector<void*> blocks;
      for (int i = 0; i < count; ++i) {
        blocks.push_back(tarn_heap_allocate(heap, 100));
        fill(blocks.back(), 100, 3);
      }
      blocks.push_back(tarn_heap_allocate(heap, mib));
      fill(blocks.back(), 100, 3);
      const int status = support::status_of_child([&] {
        require(stats_of(heap).live_blocks == blocks.size(), "the child counts other blocks");
        for (void* const p : blocks) {
          require(is_filled(p, 100, 3), "contents");
          tarn_free(p);
        }
        require(stats_of(heap).live_blocks == 0, "live after all were freed");
        require(tarn_heap_allocate(heap, 5'000) != nullptr, "no block in the child");
        require(tarn_heap_destroy(heap) == 0, "not destroyed");
        return 0;
      });
      EXPECT_EQ(status, 0);
      EXPECT_EQ(stats_of(heap).live_blocks, blocks.size());
    }
  }
}

}  // namespace
}  // namespace heaps
