// Heaps inside memory that the test gives: nothing lies elsewhere, nothing is left behind, and what
// they lie in goes on afterwards.
//
// SPDX-License-Identifier: MIT
#include <sys/mman.h>

#include <cstdlib>
#include <random>
#include <thread>

#include "../support/child.hpp"
#include "../support/threads.hpp"
#include "heap.hpp"

namespace heaps {
namespace {

constexpr std::size_t smallest = TARN_HEAP_REGION_BYTES_MIN;
alignas(64) std::byte static_memory[mib];

tarn_heap_options in_region(void* start, std::size_t bytes, int threads = TARN_HEAP_SHARED) {
  tarn_heap_options made = options(threads, "region");
  made.region = start;
  made.region_bytes = bytes;
  return made;
}

bool lies_in(const void* p, std::size_t bytes, const void* start, std::size_t region_bytes) {
  const auto* const from = static_cast<const std::byte*>(start);
  const auto* const at = static_cast<const std::byte*>(p);
  return at >= from && at + bytes <= from + region_bytes;
}

// Fills the heap with blocks of the sizes in turn, until one of them does not fit.
std::vector<void*> fill_up(tarn_heap heap, std::initializer_list<std::size_t> sizes) {
  std::vector<void*> blocks;
  for (;;) {
    for (const std::size_t bytes : sizes) {
      errno = 0;
      void* const p = tarn_heap_allocate(heap, bytes);
      if (p == nullptr) {
        EXPECT_EQ(errno, ENOMEM);
        return blocks;
      }
      EXPECT_TRUE(tarn_heap_owns(heap, p));
      fill(p, bytes, static_cast<unsigned>(bytes));
      blocks.push_back(p);
    }
  }
}

void free_all(const std::vector<void*>& blocks) {
  for (void* const p : blocks) tarn_free(p);
}

class Regions : public EachMode {
 protected:
  tarn_heap_options region(void* start, std::size_t bytes) const {
    return in_region(start, bytes, GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, Regions, every_mode);

// What is done in each place that memory can have.
void live_in(const tarn_heap_options& wanted) {
  const Heap heap(wanted);
  std::mt19937 random(1);
  std::vector<std::pair<void*, std::size_t>> live;
  std::size_t served = 0;
  for (int i = 0; i < scaled(20000); ++i) {
    if (live.size() < 60) {
      const std::size_t bytes = i % 50 == 0 ? random() % 9000 : random() % 500;
      void* const p = tarn_heap_allocate(heap, bytes);
      if (p == nullptr) continue;
      ASSERT_TRUE(lies_in(p, bytes, wanted.region, wanted.region_bytes));
      ASSERT_TRUE(same(tarn_heap_of(p), heap));
      fill(p, bytes, static_cast<unsigned>(bytes));
      live.emplace_back(p, bytes);
      ++served;
    }
    auto& [p, bytes] = live[random() % live.size()];
    ASSERT_TRUE(is_filled(p, bytes, static_cast<unsigned>(bytes)));
    if (i % 3 == 0) {
      void* const moved = tarn_heap_reallocate(heap, p, bytes + 30);
      if (moved != nullptr) {
        p = moved;
        ASSERT_TRUE(is_filled(p, bytes, static_cast<unsigned>(bytes)));
        fill(p, bytes + 30, static_cast<unsigned>(bytes + 30));
        bytes += 30;
      }
    }
    if (i % 2 == 0) {
      tarn_free(p);
      live[static_cast<std::size_t>(&p - &live[0].first) / 2] = live.back();
      live.pop_back();
    }
  }
  EXPECT_GT(served, static_cast<std::size_t>(scaled(20000)) / 10);
  EXPECT_EQ(stats_of(heap).live_blocks, live.size());
  for (const auto& [p, bytes] : live) tarn_free(p);
  expect_empty(heap);
}

TEST_P(Regions, InStaticMemory) { live_in(region(static_memory, sizeof static_memory)); }

TEST_P(Regions, InSmallStaticMemoryAtAnyAddress) {
  for (const std::size_t offset : {0u, 1u, 64u, 4095u}) {
    live_in(region(static_memory + offset, smallest + 8 * slice));
  }
}

TEST_P(Regions, OnTheStack) {
  alignas(16) std::byte memory[200 * kib];
  live_in(region(memory, sizeof memory));
}

TEST_P(Regions, InMappedMemory) {
  void* const memory =
      mmap(nullptr, 4 * mib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  live_in(region(memory, 4 * mib));
  munmap(memory, 4 * mib);
}

// The page map knows such a block's addresses as its own: they are lent, and come back.
TEST_P(Regions, InABlockOfMallocs) {
  for (const std::size_t bytes : {smallest, 100 * kib, 128 * kib, 300 * kib, 9 * mib}) {
    void* const before = tarn_malloc(bytes);
    void* const memory = tarn_malloc(bytes);
    void* const after = tarn_malloc(bytes);
    const std::size_t usable_before = usable(memory);
    fill(before, bytes, 1);
    fill(after, bytes, 2);
    for (int turn = 0; turn < 2; ++turn) {
      live_in(region(memory, bytes));
      EXPECT_EQ(usable(memory), usable_before);
      EXPECT_TRUE(same(tarn_heap_of(memory), tarn_heap_main()));
    }
    EXPECT_TRUE(is_filled(before, bytes, 1));
    EXPECT_TRUE(is_filled(after, bytes, 2));
    void* const larger = tarn_realloc(memory, bytes + bytes / 2);
    ASSERT_NE(larger, nullptr);
    tarn_free(larger);
    tarn_free(before);
    tarn_free(after);
  }
}

TEST_P(Regions, InABlockOfAnotherHeap) {
  const Heap outer(options(TARN_HEAP_SHARED, "outer"));
  void* const memory = tarn_heap_allocate(outer, mib);
  live_in(region(memory, mib));
  const Heap inner(region(memory, mib));
  void* const inner_memory = tarn_heap_allocate(inner, 300 * kib);
  ASSERT_NE(inner_memory, nullptr);
  live_in(region(inner_memory, 300 * kib));
  EXPECT_TRUE(same(tarn_heap_of(inner_memory), inner));
}

// More GiBs than there is static memory of the page map for: such regions have tables of their own.
TEST_P(Regions, WhereThePageMapHasNoRoom) {
  constexpr std::size_t gib = std::size_t{1} << 30;
  constexpr std::size_t bytes = 8 * gib;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  {
    live_in(region(memory, bytes));
    const Heap heap(region(memory, bytes));
    void* const large = tarn_heap_allocate(heap, 3 * gib);
    ASSERT_NE(large, nullptr);
    EXPECT_TRUE(lies_in(large, 3 * gib, memory, bytes));
    EXPECT_TRUE(same(tarn_heap_of(large), heap));
    EXPECT_EQ(usable(large), 3 * gib);
    std::thread([&] {
      if (GetParam() != TARN_HEAP_CONFINED) tarn_free(tarn_heap_allocate(heap, 100));
    }).join();
    void* const p = tarn_heap_allocate(heap, 100);
    ASSERT_NE(p, nullptr);
    if (GetParam() != TARN_HEAP_CONFINED) std::thread([p] { tarn_free(p); }).join();
    EXPECT_EQ(tarn_heap_allocate(heap, 6 * gib), nullptr);
    tarn_free(large);
    EXPECT_EQ(stats_of(heap).large_blocks, 0u);
  }
  munmap(memory, bytes);
}

TEST_P(Regions, FillsUpAndServesAsMuchAgain) {
  const Heap heap(region(static_memory, sizeof static_memory));
  const std::vector<void*> first = fill_up(heap, {40, 500, 3000});
  std::size_t bytes = 0;
  for (const void* p : first) bytes += usable(p);
  EXPECT_GT(bytes, sizeof static_memory * 85 / 100);
  free_all(first);
  expect_empty(heap);
  const std::vector<void*> second = fill_up(heap, {40, 500, 3000});
  EXPECT_GE(second.size() + second.size() / 20, first.size());
  EXPECT_EQ(tarn_heap_clear(heap), 0);
  // Of another size, where the first ones were.
  EXPECT_GT(fill_up(heap, {60 * kib}).size(), 12u);
  EXPECT_EQ(tarn_heap_clear(heap), 0);
  EXPECT_GT(fill_up(heap, {in_slices(900 * kib)}).size(), 0u);
}

// What the header says of the smallest region.
TEST_P(Regions, TheSmallestServes) {
  for (const std::size_t offset : {0u, 1u, 2048u, 4095u}) {
    const Heap heap(region(static_memory + offset, smallest));
    const std::vector<void*> blocks = fill_up(heap, {32});
    EXPECT_GE(blocks.size() * 32, 16 * kib);
  }
}

TEST_P(Regions, LargeBlocksResizeInPlace) {
  const Heap heap(region(static_memory, sizeof static_memory));
  void* const p = tarn_heap_allocate(heap, 200 * kib);
  ASSERT_NE(p, nullptr);
  fill(p, 200 * kib, 3);
  EXPECT_EQ(tarn_heap_try_expand(p, 400 * kib), 1);
  EXPECT_GE(usable(p), 400 * kib);
  EXPECT_TRUE(same(tarn_heap_of(p), heap));
  EXPECT_EQ(tarn_heap_reallocate(heap, p, 150 * kib), p);
  EXPECT_TRUE(is_filled(p, 150 * kib, 3));
  EXPECT_EQ(tarn_heap_try_expand(p, 2 * mib), 0);
  errno = 0;
  EXPECT_EQ(tarn_heap_reallocate(heap, p, 2 * mib), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  void* const next = tarn_heap_allocate(heap, 500 * kib);
  ASSERT_NE(next, nullptr);
  tarn_free(p);
  tarn_free(next);
  EXPECT_EQ(committed(heap), 0u);
}

TEST_P(Regions, AlignmentsAndZeros) {
  fill(static_memory, sizeof static_memory, 9);  // Nobody says that it reads as zero.
  const Heap heap(region(static_memory + 16, sizeof static_memory - 16));
  for (const std::size_t alignment : {16u, 64u, 4096u, 16384u}) {
    void* const p = tarn_heap_allocate_aligned(heap, alignment, 5000);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(misaligned(p, alignment), 0u);
  }
  for (const std::size_t bytes : {10u, 3000u, 200000u}) {
    void* const p = tarn_heap_allocate_zeroed(heap, 1, bytes);
    ASSERT_NE(p, nullptr);
    EXPECT_TRUE(is_zero(p, usable(p)));
  }
  const tarn_fixed fixed = tarn_heap_fixed(heap, 20, 4);
  std::vector<void*> blocks;
  for (int i = 0; i < 300; ++i) blocks.push_back(tarn_fixed_allocate(fixed));
  for (const void* p : blocks) EXPECT_TRUE(lies_in(p, 20, static_memory, sizeof static_memory));
}

TEST_P(Regions, CeilingsAndParentsHold) {
  tarn_heap_options parent_wanted = options();
  parent_wanted.ceiling_bytes = 400 * kib;
  const Heap parent(parent_wanted);
  tarn_heap_options wanted = region(static_memory, sizeof static_memory);
  wanted.parent = parent;
  const Heap heap(wanted);
  fill_up(heap, {1000});
  EXPECT_LE(committed(heap), 400 * kib);
  EXPECT_EQ(committed(parent), committed(heap));
}

TEST_P(Regions, ManyAtATime) {
  constexpr int count = 100;  // More than there are static records for.
  std::vector<std::byte> memory(count * 2 * smallest);
  std::vector<tarn_heap> made;
  for (int turn = 0; turn < 3; ++turn) {
    for (std::size_t i = 0; i < count; ++i) {
      const tarn_heap_options wanted = region(memory.data() + i * 2 * smallest, 2 * smallest);
      made.push_back(tarn_heap_create(&wanted));
      ASSERT_FALSE(is_none(made.back()));
      ASSERT_NE(tarn_heap_allocate(made.back(), 100), nullptr);
    }
    for (const tarn_heap heap : made) EXPECT_EQ(tarn_heap_destroy(heap), 0);
    made.clear();
  }
}

TEST(RegionOptions, RefusesWhatMakesNoSense) {
  const auto refused = [](const tarn_heap_options& wanted) {
    errno = 0;
    const tarn_heap heap = tarn_heap_create(&wanted);
    return is_none(heap) && errno == EINVAL;
  };
  EXPECT_TRUE(refused(in_region(static_memory, smallest - 1)));
  EXPECT_TRUE(refused(in_region(static_memory, 0)));
  EXPECT_TRUE(refused(in_region(nullptr, smallest)));
  EXPECT_TRUE(refused(in_region(static_memory, SIZE_MAX)));
  tarn_heap_options secret = in_region(static_memory, smallest);
  secret.flags = TARN_HEAP_SECRET;
  EXPECT_TRUE(refused(secret));
  for (int mode = TARN_MODE_CHECKED; mode <= TARN_MODE_PASSTHROUGH; ++mode) {
    tarn_heap_options moded = in_region(static_memory, smallest);
    moded.mode = mode;
    EXPECT_TRUE(refused(moded));
    moded = options();
    moded.mode = mode;
    moded.flags = TARN_HEAP_SEPARATE;
    EXPECT_TRUE(refused(moded));
  }
  tarn_heap_options unknown = options();
  unknown.flags = 1u << 20;
  EXPECT_TRUE(refused(unknown));
  const Heap heap(in_region(static_memory, 100 * kib));
  EXPECT_TRUE(refused(in_region(static_memory, 100 * kib)));
  EXPECT_TRUE(refused(in_region(static_memory + 99 * kib - slice, 100 * kib)));
  const Heap behind(in_region(static_memory + 100 * kib, 100 * kib));
}

TEST(RegionOptions, WhatIsRefusedIsNotWrittenTo) {
  const Heap heap(in_region(static_memory, 600 * kib));
  void* const p = tarn_heap_allocate(heap, 300 * kib);
  ASSERT_NE(p, nullptr);
  fill(p, 300 * kib, 4);
  const tarn_heap_options again = in_region(static_memory, 600 * kib);
  EXPECT_TRUE(is_none(tarn_heap_create(&again)));
  const tarn_heap_options beyond =
      in_region(static_cast<std::byte*>(p) + 100 * kib, sizeof static_memory / 2);
  EXPECT_TRUE(is_none(tarn_heap_create(&beyond)));
  EXPECT_TRUE(is_filled(p, 300 * kib, 4));
  void* const next = tarn_heap_allocate(heap, 200 * kib);
  EXPECT_TRUE(next == nullptr || next < p || next >= static_cast<std::byte*>(p) + 300 * kib);
}

TEST(RegionOptions, BlocksCannotOutliveIt) {
  const Heap heap(in_region(static_memory, sizeof static_memory));
  void* const p = tarn_heap_allocate(heap, 10);
  errno = 0;
  EXPECT_EQ(tarn_heap_delete(heap), -1);
  EXPECT_EQ(errno, ENOTSUP);
  tarn_free(p);
}

TEST(RegionDeathTest, UseAfterTheRegionIsGone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  void* const memory =
      mmap(nullptr, mib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  tarn_heap ended{};
  {
    Heap heap(in_region(memory, mib));
    fill_up(heap, {100});
    ended = heap.destroy();
  }
  munmap(memory, mib);
  EXPECT_EXIT(tarn_heap_clear(ended), testing::KilledBySignal(SIGABRT),
              "use after destroy: tarn_heap_clear.*\"region\"");
}

TEST(RegionThreads, ShareOneRegion) {
  std::vector<std::byte> memory(8 * mib);
  const Heap heap(in_region(memory.data(), memory.size()));
  support::in_threads(4u, [&heap](unsigned id) {
    std::mt19937 random(id);
    std::vector<void*> live;
    for (int i = 0; i < scaled(50000); ++i) {
      if (live.size() < 500) {
        void* const p = tarn_heap_allocate(heap, random() % 2000);
        if (p != nullptr) live.push_back(p);
      }
      if (i % 2 == 0 && !live.empty()) {
        tarn_free(live.back());
        live.pop_back();
      }
    }
    free_all(live);
  });
  expect_empty(heap);
}

TEST(RegionForks, TheChildGoesOn) {
  std::vector<std::byte> memory(2 * mib);
  const Heap heap(in_region(memory.data(), memory.size(), TARN_HEAP_SERIALISED));
  const std::vector<void*> blocks = fill_up(heap, {700});
  const int status = support::status_of_child([&] {
    free_all(blocks);
    const bool served = tarn_heap_allocate(heap, 700) != nullptr;
    const bool cleared = tarn_heap_clear(heap) == 0 && tarn_heap_allocate(heap, mib) != nullptr;
    return served && cleared && tarn_heap_destroy(heap) == 0 ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  for (const void* p : blocks) EXPECT_TRUE(is_filled(p, 700, 700));
}

}  // namespace
}  // namespace heaps
