// The statistics of a heap, exact at each of its stages, whoever frees and whoever has ended.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <thread>

#include "../support/threads.hpp"
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

// Of one class, of which no block lies in a mixed page.
TEST_P(Statistics, OfFreeBlocks) {
  EXPECT_EQ(stats_of(heap_).free_blocks, 0u);
  EXPECT_EQ(stats_of(heap_).free_per_live, 0.0);
  for (int i = 0; i < 1000; ++i) allocate(2000);
  const std::uint64_t spare = stats_of(heap_).free_blocks;  // Made together, not handed out yet.
  EXPECT_LE(spare, 16384u / 2000);
  for (int i = 0; i < 1000; i += 4) {  // Holes in each page.
    tarn_heap_deallocate(blocks_[static_cast<std::size_t>(i)]);
  }
  const tarn_heap_stats stats = stats_of(heap_);
  EXPECT_EQ(stats.live_blocks, 750u);
  EXPECT_EQ(stats.free_blocks, spare + 250);
  EXPECT_DOUBLE_EQ(stats.free_per_live, static_cast<double>(spare + 250) / 750);
  for (int i = 0; i < 1000; i += 4) {
    blocks_[static_cast<std::size_t>(i)] = tarn_heap_allocate(heap_, 2000);
  }
  EXPECT_EQ(stats_of(heap_).free_blocks, spare);
}

// In a mixed page the runs between blocks are its free blocks.
TEST_P(Statistics, OfHolesInTheMixedPage) {
  for (int i = 0; i < 10; ++i) allocate(48);
  EXPECT_EQ(stats_of(heap_).free_blocks, 0u);
  for (const std::size_t i : {2u, 5u, 6u, 9u})
    tarn_heap_deallocate(blocks_[i]);  // The last: no hole.
  EXPECT_EQ(stats_of(heap_).free_blocks, 2u);
  EXPECT_DOUBLE_EQ(stats_of(heap_).free_per_live, 2.0 / 6);
  blocks_.clear();
}

TEST_P(Statistics, OfTheMixedPage) {
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

TEST_P(Statistics, ClassesLeaveTheMixedPageOneByOne) {
  for (int i = 0; i < 32; ++i) allocate(48);
  EXPECT_EQ(stats_of(heap_).pages, 1u);
  allocate(48);
  EXPECT_EQ(stats_of(heap_).pages, 2u);  // A page of its own.
  const std::size_t before = committed(heap_);
  for (std::size_t bytes = 64; bytes <= 160; bytes += 16) allocate(bytes);
  EXPECT_EQ(stats_of(heap_).pages, 2u);  // The others go on in the mixed page.
  EXPECT_EQ(committed(heap_), before);
  const tarn_fixed fixed = tarn_heap_fixed(heap_, 20, 4);
  for (int i = 0; i < 33; ++i) {
    EXPECT_EQ(stats_of(heap_).pages, 2u);
    blocks_.push_back(tarn_fixed_allocate(fixed));
  }
  EXPECT_EQ(stats_of(heap_).pages, 3u);
  for (int i = 0; i < 4; ++i) allocate(young_bytes_max);  // As much as fills a page.
  EXPECT_EQ(stats_of(heap_).pages, 3u);
  allocate(young_bytes_max);
  EXPECT_EQ(stats_of(heap_).pages, 4u);
  EXPECT_EQ(stats_of(heap_).live_blocks, blocks_.size());
  std::size_t walked = 0;
  EXPECT_EQ(tarn_heap_walk(
                heap_, 0,
                [](const tarn_heap_item* item, void* count) {
                  *static_cast<std::size_t*>(count) += item->kind == TARN_HEAP_BLOCK;
                  return 0;
                },
                &walked),
            0);
  EXPECT_EQ(walked, blocks_.size());
  EXPECT_EQ(tarn_heap_clear(heap_), 0);
  blocks_.clear();
  for (int i = 0; i < 32; ++i) allocate(48);
  EXPECT_EQ(stats_of(heap_).pages, 1u);  // It is as young as ever.
}

TEST_P(Statistics, SomeBlocksOfManySizesCommitLittle) {
  for (std::size_t i = 0; i < 150; ++i) allocate(16 + i % 10 * 16);
  expect_exact();
  EXPECT_LE(committed(heap_), 5 * slice);  // 13,200 bytes.
  while (!blocks_.empty()) free_last();
  tarn_heap_trim(heap_, 0);
  EXPECT_EQ(committed(heap_), 0u);
}

TEST_P(Statistics, AnEmptyMixedPageStaysUntilATrim) {
  allocate(10);
  free_last();
  EXPECT_EQ(committed(heap_), slice);
  EXPECT_EQ(tarn_heap_trim(heap_, slice), 0u);
  EXPECT_EQ(tarn_heap_trim(heap_, 0), slice);
  EXPECT_EQ(committed(heap_), 0u);
  allocate(10);
  expect_exact();
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

// Each kind of block: mixed page, pages that are current and others, large.
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

TEST_P(Statistics, ThePeakOfLiveBytesIsSeenWithoutBeingAskedFor) {
  make_grown_up(heap_);
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < 30'000; ++i) {
    allocate(i % 500);
    most += usable(blocks_.back());
  }
  while (!blocks_.empty()) free_last();
  const std::uint64_t peak = stats_of(heap_).live_bytes_peak;
  EXPECT_GE(peak, most - 64 * kib);
  EXPECT_LE(peak, most + most / 8);
  // Memory of other sizes is needed now, while most of that is free.
  for (std::size_t i = 0; i < 3'000; ++i) allocate(1'000);
  EXPECT_EQ(stats_of(heap_).live_bytes_peak, peak);
  EXPECT_EQ(tarn_heap_clear(heap_), 0);
  blocks_.clear();
  EXPECT_EQ(stats_of(heap_).live_bytes_peak, peak);
}

TEST_P(Statistics, ThePeakOfLiveBytesIsExactOfYoungHeapsAndLargeBlocks) {
  for (std::size_t i = 0; i < 10; ++i) allocate(100);
  while (!blocks_.empty()) free_last();
  EXPECT_EQ(stats_of(heap_).live_bytes_peak, 10 * 112u);
  allocate(mib);
  void* const grown = tarn_heap_reallocate(heap_, blocks_.back(), 3 * mib);
  ASSERT_NE(grown, nullptr);
  tarn_heap_deallocate(grown);
  blocks_.clear();
  const std::uint64_t peak = stats_of(heap_).live_bytes_peak;
  EXPECT_GE(peak, 3 * mib);
  EXPECT_LE(peak, 4 * mib);  // If it was moved by copy.
  allocate(2 * mib);
  EXPECT_EQ(stats_of(heap_).live_bytes_peak, peak);
}

// What it was whenever somebody looked, it is at least.
TEST_P(Statistics, ThePeakOfLiveBytesIsNoLessThanWhatWasSeen) {
  std::uint64_t most = 0;
  std::size_t drawn = 1;
  for (int i = 0; i < scaled(20'000); ++i) {
    drawn = drawn * 25'214'903'917 + 11;
    if (blocks_.size() < 200 || (drawn >> 20) % 2 == 0) {
      allocate((drawn >> 24) % 2'000);
    } else {
      std::swap(blocks_[(drawn >> 24) % blocks_.size()], blocks_.back());
      free_last();
    }
    if (i % 64 != 0) continue;
    const tarn_heap_stats stats = stats_of(heap_);
    most = std::max(most, stats.live_bytes);
    ASSERT_GE(stats.live_bytes_peak, most);
    ASSERT_LE(stats.live_bytes_peak, stats.committed_bytes_peak);
  }
}

// The blocks that another thread has freed do not count when others take their place.
TEST_P(StatisticsOfThreads, ThePeakOfLiveBytesAfterFreesByAnotherThread) {
  make_grown_up(heap_);
  for (int round = 1; round <= 4; ++round) {
    const std::size_t bytes = 64u << round;
    for (std::size_t i = 0; i < mib / bytes; ++i) allocate(bytes);
    std::thread([&] {
      while (!blocks_.empty()) free_last();
    }).join();
    const std::uint64_t peak = stats_of(heap_).live_bytes_peak;
    EXPECT_GE(peak, mib - 64 * kib);
    EXPECT_LE(peak, mib + mib / 8);
  }
}

TEST_P(StatisticsOfThreads, ThePeakOfLiveBytesOfSeveralThreads) {
  make_grown_up(heap_);
  std::vector<void*> kept[3];
  support::each_in_threads(kept, [this](std::vector<void*>& mine) {
    for (std::size_t i = 0; i < mib / 256; ++i) mine.push_back(tarn_heap_allocate(heap_, 256));
  });
  for (const std::vector<void*>& mine : kept) {
    for (void* const p : mine) tarn_heap_deallocate(p);
  }
  const std::uint64_t peak = stats_of(heap_).live_bytes_peak;
  EXPECT_GE(peak, 3 * mib - 3 * 32 * kib - 64 * kib);
  EXPECT_LE(peak, 3 * mib + 3 * mib / 8);
}

TEST_P(Statistics, RequestedBytesOfBlocksOfOneSizeAreExact) {
  make_grown_up(heap_);
  std::uint64_t bytes = 0;
  for (const std::size_t size : {8u, 20u, 48u, 100u, 1024u, 9'000u}) {
    const tarn_fixed fixed = tarn_heap_fixed(heap_, size, 1);
    for (int i = 0; i < 200; ++i) {
      blocks_.push_back(tarn_fixed_allocate(fixed));
      bytes += size;
      if (i % 3 == 0) {
        free_last();
        bytes -= size;
      }
    }
  }
  const tarn_heap_stats stats = stats_of(heap_);
  EXPECT_EQ(stats.requested_bytes, bytes);
  EXPECT_EQ(stats.live_bytes, bytes);
  EXPECT_EQ(stats.requested_is_exact, 1);
  allocate(100);
  EXPECT_EQ(stats_of(heap_).requested_is_exact, 0);
  EXPECT_EQ(stats_of(heap_).requested_bytes, bytes + 100);  // The one sample is all there is.
}

TEST_P(Statistics, RequestedBytesOfYoungHeapsAndLargeBlocks) {
  std::uint64_t bytes = 0;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{33}, std::size_t{100},
                                 mib + 1, 200 * kib + 7}) {
    allocate(size);
    bytes += size;
  }
  EXPECT_EQ(stats_of(heap_).requested_bytes, bytes);
  EXPECT_EQ(stats_of(heap_).requested_is_exact, 1);
  blocks_.back() = tarn_heap_reallocate(heap_, blocks_.back(), 300 * kib + 1);
  bytes += 100 * kib - 6;
  EXPECT_EQ(stats_of(heap_).requested_bytes, bytes);
  blocks_.back() = tarn_heap_reallocate(heap_, blocks_.back(), 120 * kib);  // Keeps its place.
  bytes -= 180 * kib + 1;
  EXPECT_EQ(stats_of(heap_).requested_bytes, bytes);
  EXPECT_EQ(stats_of(heap_).requested_is_exact, 1);
  // Which of the young ones are left is not known; their mean is.
  tarn_heap_deallocate(blocks_.front());
  EXPECT_EQ(stats_of(heap_).requested_is_exact, 0);
  EXPECT_LE(stats_of(heap_).requested_bytes, stats_of(heap_).live_bytes);
  EXPECT_GE(stats_of(heap_).requested_bytes + 3 * 16, bytes);
}

TEST_P(Statistics, RequestedBytesAreEstimatedFromSamples) {
  make_grown_up(heap_);
  EXPECT_EQ(stats_of(heap_).requested_is_exact, 1);  // There is nothing to estimate.
  for (int i = 0; i < 5'000; ++i) allocate(100);
  for (int i = 0; i < 1'000; ++i) free_last();
  EXPECT_EQ(stats_of(heap_).live_bytes, 4'000 * 112u);
  EXPECT_EQ(stats_of(heap_).requested_bytes, 4'000 * 100u);
  EXPECT_EQ(stats_of(heap_).requested_is_exact, 0);
  std::size_t drawn = 1;
  std::uint64_t bytes = 4'000 * 100;
  for (int i = 0; i < 50'000; ++i) {
    drawn = drawn * 25'214'903'917 + 11;
    const std::size_t size = 1'100 + (drawn >> 24) % 53;
    allocate(size);
    bytes += size;
  }
  const std::uint64_t estimate = stats_of(heap_).requested_bytes;
  EXPECT_NEAR(static_cast<double>(estimate), static_cast<double>(bytes),
              static_cast<double>(bytes) / 200);
}

TEST_P(Statistics, ResidentBytesFollowWhatIsTouched) {
  tarn_malloc_trim(0);  // So that what comes next was never touched.
  allocate(16 * mib);
  const std::uint64_t untouched = stats_of(heap_).resident_bytes;
  EXPECT_LE(untouched, 4 * mib);
  fill(blocks_.back(), 8 * mib, 1);
  const std::uint64_t touched = stats_of(heap_).resident_bytes;
  EXPECT_GE(touched, 8 * mib);
  EXPECT_LE(touched, 12 * mib);
  free_last();
  EXPECT_EQ(stats_of(heap_).resident_bytes, 0u);
}

TEST_P(Statistics, ResidentBytesFallAfterATrim) {
  allocate(10);
  EXPECT_EQ(stats_of(heap_).resident_bytes, slice);
  free_last();
  for (int i = 0; i < 4'000; ++i) {
    allocate(1'000);
    fill(blocks_.back(), 1'000, 1);
  }
  const tarn_heap_stats full = stats_of(heap_);
  EXPECT_GE(full.resident_bytes, 4'000 * 1'000u);
  EXPECT_LE(full.resident_bytes, full.committed_bytes);
  while (blocks_.size() > 10) free_last();
  tarn_heap_trim(heap_, 0);
  const tarn_heap_stats trimmed = stats_of(heap_);
  EXPECT_LE(trimmed.resident_bytes, 64 * kib);
  EXPECT_GE(trimmed.resident_bytes, 10 * 1'000u);
  EXPECT_LE(trimmed.resident_bytes, trimmed.committed_bytes);
}

// Other tests have left blocks and samples there.
TEST(StatisticsOfMalloc, HaveAllFields) {
  const tarn_heap_stats before = stats_of(tarn_heap_main());
  EXPECT_GE(before.live_bytes_peak, before.live_bytes);
  std::vector<void*> blocks;
  for (int i = 0; i < 20'000; ++i) {
    blocks.push_back(tarn_malloc(900));
    fill(blocks.back(), 900, 1);
  }
  blocks.push_back(tarn_malloc(mib));
  const tarn_heap_stats now = stats_of(tarn_heap_main());
  EXPECT_EQ(now.live_bytes - before.live_bytes, 20'000 * 912u + mib);
  EXPECT_GE(now.live_bytes_peak, now.live_bytes);
  EXPECT_EQ(now.requested_is_exact, 0);
  EXPECT_NEAR(static_cast<double>(now.requested_bytes - before.requested_bytes),
              20'000 * 900.0 + mib, 20'000.0);
  EXPECT_GE(now.resident_bytes, 20'000 * 900u);
  EXPECT_LE(now.resident_bytes, now.committed_bytes);
  for (void* const p : blocks) tarn_free(p);
  const tarn_heap_stats after = stats_of(tarn_heap_main());
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_EQ(after.live_bytes_peak, now.live_bytes_peak);
}

TEST_P(StatisticsOfThreads, AskedByAThreadThatNeverUsedTheHeap) {
  for (std::size_t i = 0; i < 300; ++i) allocate(i);
  std::thread([&] { expect_exact(); }).join();
}

TEST_P(StatisticsOfThreads, ManyThreadsAtOnce) {
  constexpr std::size_t threads_count = 4;
  std::vector<std::vector<void*>> kept(threads_count);
  support::in_threads(threads_count, [&](std::size_t id) {
    for (std::size_t i = 0; i < 5'000; ++i) {
      void* const p = tarn_heap_allocate(heap_, (i * 37 + id) % 600);
      if (i % 5 == 0) {
        kept[id].push_back(p);
      } else {
        tarn_heap_deallocate(p);
      }
    }
  });
  for (const std::vector<void*>& some : kept) {
    blocks_.insert(blocks_.end(), some.begin(), some.end());
  }
  expect_exact();
}

}  // namespace
}  // namespace heaps
