// Heaps that are cleared, asked and grown by several threads at once.
//
// SPDX-License-Identifier: MIT
#include <atomic>
#include <thread>

#include "../support/threads.hpp"
#include "heap.hpp"

namespace heaps {
namespace {

class Clearing : public EachMode {};
INSTANTIATE_TEST_SUITE_P(Modes, Clearing, testing::Values(TARN_HEAP_SHARED, TARN_HEAP_SERIALISED));

// Threads that allocate in a heap without pause. They write nothing: a block may be gone at once.
class Allocators {
 public:
  Allocators(tarn_heap heap, unsigned count) {
    for (unsigned id = 0; id < count; ++id) {
      threads_.emplace_back([this, heap, id] {
        for (std::size_t i = id; !stop_; ++i) {
          const std::size_t bytes = i % 100 == 0 ? 3'000 : i % 1'000 == 1 ? 200'000 : i % 150;
          if (tarn_heap_allocate(heap, bytes) == nullptr) ++refused_;
          if (i % 64 == 0) steps_ += 64;
        }
      });
    }
  }
  ~Allocators() { stop(); }
  void stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  // Waits until they have got on.
  void advance(std::size_t steps) {
    const std::size_t until = steps_ + steps;
    while (steps_ < until) std::this_thread::yield();
  }
  std::size_t refused() const { return refused_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<std::size_t> steps_{0};
  std::atomic<std::size_t> refused_{0};
  std::vector<std::thread> threads_;
};

TEST_P(Clearing, WhileFourThreadsAllocate) {
  const Heap heap(GetParam());
  Allocators allocators(heap, 4);
  for (int i = 0; i < scaled(1'000); ++i) {
    ASSERT_EQ(tarn_heap_clear(heap), 0);
    if (i % 10 == 0) allocators.advance(1'000);
  }
  allocators.stop();
  EXPECT_EQ(allocators.refused(), 0u);
  ASSERT_EQ(tarn_heap_clear(heap), 0);
  expect_empty(heap);
  EXPECT_EQ(committed(heap), 0u);
  void* const p = tarn_heap_allocate(heap, 100);
  fill(p, 100, 1);
  EXPECT_EQ(stats_of(heap).live_blocks, 1u);
}

TEST_P(Clearing, ByTwoThreadsWhileTwoAllocate) {
  const Heap heap(GetParam());
  Allocators allocators(heap, 2);
  const auto clear = [&] {
    for (int i = 0; i < scaled(1'000); ++i) {
      EXPECT_EQ(tarn_heap_clear(heap), 0);
      if (i % 10 == 0) allocators.advance(100);
    }
  };
  std::thread other(clear);
  clear();
  other.join();
  allocators.stop();
  EXPECT_EQ(allocators.refused(), 0u);
  ASSERT_EQ(tarn_heap_clear(heap), 0);
  EXPECT_EQ(committed(heap), 0u);
}

// A heap's closing stops only those that want it: the others' blocks are theirs all the time.
TEST_P(Clearing, LeavesTheOtherHeapsOfTheSameThreads) {
  const Heap cleared(GetParam());
  const Heap kept(GetParam());
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> live{0};
  support::Threads threads(3u, [&](unsigned id) {
    std::vector<void*> blocks;
    for (unsigned i = 0; !stop; ++i) {
      if (tarn_heap_allocate(cleared, i % 200) == nullptr) ADD_FAILURE();
      blocks.push_back(tarn_heap_allocate(kept, 48));
      fill(blocks.back(), 48, id);
      if (blocks.size() < 500) continue;
      for (void* const p : blocks) {
        EXPECT_TRUE(is_filled(p, 48, id));
        tarn_free(p);
      }
      blocks.clear();
    }
    live += blocks.size();
  });
  for (int i = 0; i < scaled(1'000); ++i) {
    ASSERT_EQ(tarn_heap_clear(cleared), 0);
    std::this_thread::yield();
  }
  stop = true;
  threads.join();
  EXPECT_EQ(stats_of(kept).live_blocks, live);
}

TEST_P(Clearing, HeapsOfOneThreadWhileOthersMakeAndEndTheirs) {
  std::atomic<std::uint64_t> wrong{0};
  support::in_threads(4u, [&](unsigned id) {
    for (int i = 0; i < scaled(1'000); ++i) {
      const Heap heap(options(GetParam(), "own"));
      std::vector<void*> blocks;
      for (unsigned b = 0; b < 150; ++b) {
        blocks.push_back(tarn_heap_allocate(heap, 40));
        fill(blocks.back(), 40, id);
      }
      for (void* const p : blocks) wrong += !is_filled(p, 40, id);
      wrong += stats_of(heap).live_blocks != 150;
      if (i % 2 == 0) wrong += tarn_heap_clear(heap) != 0 || committed(heap) != 0;
    }
  });
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace heaps
