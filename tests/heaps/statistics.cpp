// The statistics of a heap, exact at each of its stages, whoever frees and whoever has ended.
//
// SPDX-License-Identifier: MIT
#include <thread>

#include "heap.hpp"

namespace heaps {
namespace {

class Statistics : public EachMode {
 protected:
  void allocate(std::size_t bytes) {
    void* const p = tarn_heap_allocate(heap_, bytes);
    ASSERT_NE(p, nullptr);
    blocks_.push_back(p);
  }
  void expect_exact() {
    std::uint64_t bytes = 0;
    std::uint64_t large = 0;
    for (const void* p : blocks_) {
      bytes += usable(p);
      large += usable(p) > paged_bytes_max;
    }
    const tarn_heap_stats stats = stats_of(heap_);
    EXPECT_EQ(stats.live_blocks, blocks_.size());
    EXPECT_EQ(stats.live_bytes, bytes);
    EXPECT_EQ(stats.large_blocks, large);
    EXPECT_GE(stats.committed_bytes, bytes);
    EXPECT_EQ(stats.committed_bytes % slice, 0u);
    EXPECT_GE(stats.committed_bytes, stats.pages * slice);
  }
  void free_last() {
    tarn_heap_deallocate(blocks_.back());
    blocks_.pop_back();
  }
  Heap heap_{GetParam()};
  std::vector<void*> blocks_;
};
INSTANTIATE_TEST_SUITE_P(Modes, Statistics, every_mode);

// Of the tests with threads: confined heaps have one.
class StatisticsOfThreads : public Statistics {};
INSTANTIATE_TEST_SUITE_P(Modes, StatisticsOfThreads,
                         testing::Values(TARN_HEAP_SHARED, TARN_HEAP_SERIALISED));

TEST_P(Statistics, OfTheNursery) {
  std::uint64_t bytes = 0;
  for (const std::size_t size : {0u, 1u, 16u, 17u, 1000u, 1024u, 1024u, 900u}) {
    allocate(size);
    bytes += in_grains(size);
    const tarn_heap_stats stats = stats_of(heap_);
    EXPECT_EQ(stats.live_blocks, blocks_.size());
    EXPECT_EQ(stats.live_bytes, bytes);
    EXPECT_EQ(stats.pages, 1u);
    EXPECT_EQ(stats.committed_bytes, bytes <= slice ? slice : 2 * slice);
    EXPECT_EQ(stats.committed_bytes_peak, stats.committed_bytes);
  }
  while (!blocks_.empty()) {
    free_last();
    expect_exact();
  }
}

TEST_P(Statistics, WhileItGrowsUp) {
  for (std::size_t i = 0; i < 200; ++i) {
    allocate(i % 40);
    expect_exact();
  }
  for (std::size_t i = 0; i < 50; ++i) {
    allocate(i * 300);
    expect_exact();
  }
  while (!blocks_.empty()) {
    free_last();
    expect_exact();
  }
  tarn_malloc_trim(0);
  EXPECT_EQ(stats_of(heap_).pages, 0u);
  EXPECT_EQ(committed(heap_), 0u);
}

TEST_P(Statistics, OfLargeBlocks) {
  std::uint64_t bytes = 0;
  for (const std::size_t size : {paged_bytes_max + 1, mib, mib + 1, 5 * mib - 1}) {
    allocate(size);
    bytes += in_slices(size);
    expect_exact();
    const tarn_heap_stats stats = stats_of(heap_);
    EXPECT_EQ(stats.live_bytes, bytes);
    EXPECT_EQ(stats.committed_bytes, bytes);
    EXPECT_EQ(stats.pages, 0u);
  }
  // What an alignment costs is given back at once.
  void* const aligned = tarn_heap_allocate_aligned(heap_, mib, 10);
  EXPECT_EQ(committed(heap_), bytes + slice);
  tarn_heap_deallocate(aligned);
  while (!blocks_.empty()) {
    bytes -= usable(blocks_.back());
    free_last();
    EXPECT_EQ(committed(heap_), bytes);
    expect_exact();
  }
  EXPECT_EQ(stats_of(heap_).committed_bytes_peak,
            in_slices(paged_bytes_max + 1) + 7 * mib + 2 * slice);
}

TEST_P(Statistics, ThePeakStaysAndAFailureDoesNotRaiseIt) {
  tarn_heap_deallocate(tarn_heap_allocate(heap_, 3 * mib));
  EXPECT_EQ(committed(heap_), 0u);
  EXPECT_EQ(stats_of(heap_).committed_bytes_peak, 3 * mib);
  allocate(mib);
  EXPECT_EQ(stats_of(heap_).committed_bytes_peak, 3 * mib);
  EXPECT_EQ(tarn_heap_allocate(heap_, opaque(PTRDIFF_MAX / 2)), nullptr);
  EXPECT_EQ(stats_of(heap_).committed_bytes_peak, 3 * mib);
  EXPECT_EQ(tarn_heap_clear(heap_), 0);
  EXPECT_EQ(stats_of(heap_).committed_bytes_peak, 3 * mib);
  allocate(4 * mib);
  EXPECT_EQ(stats_of(heap_).committed_bytes_peak, 4 * mib);
}

// Each kind of block: nursery, pages that are current and others, large.
TEST_P(StatisticsOfThreads, AfterFreesByAnotherThread) {
  for (int grown_up = 0; grown_up < 2; ++grown_up) {
    for (std::size_t i = 0; i < 60; ++i) allocate(i * 15);
    if (grown_up == 1) {
      for (std::size_t i = 0; i < 3'000; ++i) allocate(i % 700);
      allocate(mib);
      allocate(300 * kib);
    }
    expect_exact();
    std::vector<void*> kept;
    std::thread([&] {
      for (std::size_t i = 0; i < blocks_.size(); ++i) {
        if (i % 3 == 0) {
          kept.push_back(blocks_[i]);
        } else {
          tarn_heap_deallocate(blocks_[i]);
        }
      }
    }).join();
    blocks_ = kept;
    expect_exact();
    std::thread([&] {
      while (!blocks_.empty()) free_last();
    }).join();
    expect_exact();
    make_grown_up(heap_);
  }
  tarn_malloc_trim(0);
  EXPECT_EQ(committed(heap_), 0u);
}

TEST_P(StatisticsOfThreads, AfterTheAllocatingThreadsHaveEnded) {
  make_grown_up(heap_);
  for (int round = 0; round < 10; ++round) {
    std::thread([&] {
      for (std::size_t i = 0; i < 1'000; ++i) allocate(i % 700);
      allocate(mib);
      for (int i = 0; i < 100; ++i) free_last();
    }).join();
    expect_exact();
  }
  while (!blocks_.empty()) free_last();
  expect_exact();
  tarn_malloc_trim(0);
  EXPECT_EQ(committed(heap_), 0u);
  EXPECT_EQ(stats_of(heap_).pages, 0u);
}

TEST_P(StatisticsOfThreads, AskedByAThreadThatNeverUsedTheHeap) {
  for (std::size_t i = 0; i < 300; ++i) allocate(i);
  std::thread([&] { expect_exact(); }).join();
}

TEST_P(StatisticsOfThreads, ManyThreadsAtOnce) {
  constexpr std::size_t threads_count = 4;
  std::vector<std::vector<void*>> kept(threads_count);
  std::vector<std::thread> threads;
  for (std::size_t id = 0; id < threads_count; ++id) {
    threads.emplace_back([&, id] {
      for (std::size_t i = 0; i < 5'000; ++i) {
        void* const p = tarn_heap_allocate(heap_, (i * 37 + id) % 600);
        if (i % 5 == 0) {
          kept[id].push_back(p);
        } else {
          tarn_heap_deallocate(p);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<void*>& some : kept) {
    blocks_.insert(blocks_.end(), some.begin(), some.end());
  }
  expect_exact();
}

}  // namespace
}  // namespace heaps
