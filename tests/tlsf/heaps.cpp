// TLSF heaps: sizes, alignment, joining, reallocation, regions, locks, walks, statistics, and what
// is never touched.
//
// SPDX-License-Identifier: MIT
#include "tarn/heap/tlsf.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tarn/detail/align.hpp"

namespace {

using tarn::StaticTlsfHeap;
using tarn::TlsfHeap;

constexpr std::size_t word = sizeof(std::size_t);

static_assert(TARN_WATCH || std::is_trivially_destructible_v<StaticTlsfHeap<4096>>);
static_assert(StaticTlsfHeap<4096>::footprint_bytes() == sizeof(StaticTlsfHeap<4096>));

constinit StaticTlsfHeap<4096> early;
void* const from_before_main = early.try_allocate(20);

TEST(Tlsf, IsReadyBeforeMain) {
  EXPECT_TRUE(early.is_live(from_before_main) && early.check());
  early.deallocate(from_before_main);
  EXPECT_TRUE(early.stats().blocks == 0 && early.check());
}

TEST(Tlsf, ABlockCostsAWord) {
  static StaticTlsfHeap<10'000> heap;
  for (std::size_t bytes = 0; bytes < 300; ++bytes) {
    const std::size_t before = heap.stats().in_use_bytes;
    void* const p = heap.allocate(bytes);
    const std::size_t has = heap.block_bytes_of(p);
    EXPECT_GE(has, bytes);
    EXPECT_EQ(heap.stats().in_use_bytes, before + has + word);
    EXPECT_LE(has + word, heap.room_bytes(bytes));
    EXPECT_EQ(has + word, std::max(4 * word, tarn::align_up(bytes + word, 2 * word)));
    std::memset(p, 0xff, has);
    EXPECT_TRUE(heap.check());
    heap.deallocate(p);
  }
  EXPECT_TRUE(heap.check());
}

TEST(Tlsf, AllJoinsAgainInEveryOrder) {
  int order[5] = {0, 1, 2, 3, 4};
  std::vector<unsigned char> memory(5000);
  do {
    TlsfHeap heap(memory.data(), memory.size());
    const std::size_t whole = heap.stats().largest_bytes;
    void* blocks[5];
    for (void*& block : blocks) block = heap.allocate(100);
    for (int i : order) {
      heap.deallocate(blocks[i]);
      ASSERT_TRUE(heap.check());
    }
    ASSERT_EQ(heap.stats().largest_bytes, whole);
    void* const p = heap.try_allocate(whole);
    ASSERT_NE(p, nullptr);
    ASSERT_EQ(heap.try_allocate(0), nullptr);
    heap.deallocate(p);
  } while (std::next_permutation(order, order + 5));
}

TEST(Tlsf, TheLargestRequestIsServedAndNoLargerOne) {
  std::vector<unsigned char> memory(100'000);
  TlsfHeap heap(memory.data(), memory.size());
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < 60; ++i) blocks.push_back(heap.allocate(40 + i * i % 1500));
  for (std::size_t i = 0; i < 60; i += 2) heap.deallocate(blocks[i]);
  for (std::size_t largest; (largest = heap.stats().largest_bytes) != 0;) {
    ASSERT_EQ(heap.try_allocate(largest + 1), nullptr);
    ASSERT_NE(heap.try_allocate(largest), nullptr);
    ASSERT_TRUE(heap.check());
  }
  EXPECT_EQ(heap.try_allocate(0), nullptr);
}

TEST(Tlsf, Alignment) {
  std::vector<unsigned char> memory(40'000);
  for (std::size_t shift = 0; shift < 13; ++shift) {
    TlsfHeap heap(memory.data() + shift, 39'000);
    std::vector<void*> blocks;
    void* p;
    while ((p = heap.try_allocate(24 + shift, std::size_t{1} << shift)) != nullptr) {
      ASSERT_TRUE(tarn::is_aligned(p, std::size_t{1} << shift) && tarn::is_aligned(p, 2 * word));
      ASSERT_TRUE(heap.check());
      blocks.push_back(p);
    }
    EXPECT_GE(blocks.size(), 39'000 / ((std::size_t{1} << shift) + 200));
    for (void* block : blocks) heap.deallocate(block);
    EXPECT_TRUE(heap.check() && heap.stats().in_use_bytes == 0);
  }
}

TEST(Tlsf, WhatMakesNoSenseIsRefusedAndCounted) {
  static StaticTlsfHeap<1000> heap;
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{24}, SIZE_MAX}) {
    EXPECT_EQ(heap.try_allocate(8, alignment), nullptr);
  }
  for (const std::size_t bytes : {std::size_t{1000}, SIZE_MAX, SIZE_MAX - 7, SIZE_MAX / 2 + 1}) {
    EXPECT_EQ(heap.try_allocate(bytes), nullptr);
    EXPECT_EQ(heap.try_allocate(bytes, 64), nullptr);
  }
  EXPECT_EQ(heap.try_allocate(8, SIZE_MAX / 2 + 1), nullptr);
  EXPECT_EQ(heap.stats().failures, 13U);
  EXPECT_THROW((void)heap.allocate(1000), std::bad_alloc);
  void* const p = heap.allocate(8);
  EXPECT_EQ(heap.try_reallocate(p, SIZE_MAX), nullptr);
  EXPECT_EQ(heap.try_reallocate(p, 990), nullptr);
  EXPECT_THROW((void)heap.reallocate(p, 1000), std::bad_alloc);
  EXPECT_TRUE(heap.is_live(p) && heap.check());
  heap.deallocate(p);
}

TEST(Tlsf, ReallocatesInPlaceWhereTheNeighbourAllows) {
  static StaticTlsfHeap<4000> heap;
  auto* const p = static_cast<unsigned char*>(heap.try_reallocate(nullptr, 100));
  void* const after = heap.allocate(200);
  void* const last = heap.allocate(24);
  std::memset(p, 7, 100);
  for (std::size_t bytes = 100; bytes-- > 0;) {
    ASSERT_EQ(heap.try_reallocate(p, bytes), p);
    ASSERT_TRUE(heap.check());
  }
  for (std::size_t bytes = 0; bytes <= 100; ++bytes) ASSERT_EQ(heap.try_reallocate(p, bytes), p);
  heap.deallocate(after);
  EXPECT_EQ(heap.reallocate(p, 300), p);
  EXPECT_TRUE(heap.check());
  auto* const moved = static_cast<unsigned char*>(heap.reallocate(p, 400, 256));
  EXPECT_TRUE(moved != p && tarn::is_aligned(moved, 256) && !heap.is_live(p));
  for (int i = 0; i < 24; ++i) EXPECT_EQ(moved[i], 7);
  heap.deallocate(moved);
  heap.deallocate(last);
  EXPECT_TRUE(heap.check() && heap.stats().in_use_bytes == 0);
}

TEST(Tlsf, ReallocationKeepsTheAlignmentThatIsAskedFor) {
  static StaticTlsfHeap<8000> heap;
  for (std::size_t alignment = 32; alignment <= 1024; alignment *= 2) {
    auto* p = static_cast<unsigned char*>(heap.allocate(100));
    while (tarn::is_aligned(p, alignment)) {  // The one behind it is not.
      auto* const next = static_cast<unsigned char*>(heap.allocate(100));
      heap.deallocate(p);
      p = next;
    }
    std::memset(p, 5, 100);
    auto* const smaller = static_cast<unsigned char*>(heap.try_reallocate(p, 40, alignment));
    ASSERT_NE(smaller, nullptr);
    EXPECT_TRUE(tarn::is_aligned(smaller, alignment)) << alignment;
    for (int i = 0; i < 40; ++i) EXPECT_EQ(smaller[i], 5);
    EXPECT_EQ(heap.try_reallocate(smaller, 20, alignment), smaller);
    EXPECT_EQ(heap.try_reallocate(smaller, 20, 24), nullptr);
    EXPECT_EQ(heap.try_reallocate(smaller, 20, 0), nullptr);
    heap.deallocate(smaller);
    EXPECT_TRUE(heap.check() && heap.stats().in_use_bytes == 0);
  }
}

TEST(Tlsf, Regions) {
  alignas(64) static unsigned char memory[4096];
  tarn::BasicTlsfHeap<2048, tarn::NoLock, 0> heap;
  EXPECT_EQ(heap.try_allocate(1), nullptr);
  EXPECT_FALSE(heap.add_region(nullptr, 1000));
  EXPECT_FALSE(heap.add_region(memory, 8 * word - 1));
  EXPECT_FALSE(heap.add_region(memory, 0));
  EXPECT_FALSE(heap.add_region(memory + 1, 8 * word));
  EXPECT_FALSE(heap.add_region(memory, 4096 + 64));
  EXPECT_FALSE(heap.add_region(memory, SIZE_MAX));
  EXPECT_TRUE(heap.add_region(memory + 1024, 1024));
  EXPECT_FALSE(heap.add_region(memory + 1024, 1024));
  EXPECT_FALSE(heap.add_region(memory + 500, 600));
  EXPECT_FALSE(heap.add_region(memory + 2000, 600));
  EXPECT_TRUE(heap.add_region(memory, 1024));
  EXPECT_TRUE(heap.add_region(memory + 2051, 2000));
  EXPECT_TRUE(heap.check());
  EXPECT_EQ(heap.try_allocate(1990), nullptr);
  void* const large = heap.try_allocate(1900);
  EXPECT_TRUE(large != nullptr && heap.try_allocate(1900) == nullptr);
  void* const a = heap.try_allocate(900);
  void* const b = heap.try_allocate(900);
  EXPECT_TRUE(a != nullptr && b != nullptr && heap.owns(a) && heap.owns(b));
  EXPECT_FALSE(heap.owns(memory) || heap.owns(memory + 4095) || heap.owns(&heap));
  std::size_t seen = 0;
  heap.for_each([&](void* p, std::size_t bytes) {
    seen += bytes;
    heap.deallocate(p);
  });
  EXPECT_GE(seen, 3700U);
  EXPECT_TRUE(heap.check() && heap.stats().blocks == 0);
}

// Bytes from the first block that was never needed on: its header and links, and the last word of
// all free blocks, are the only ones that are written.
TEST(Tlsf, MemoryThatWasNeverNeededIsNeverTouched) {
  alignas(16) static unsigned char memory[100'000];
  std::memset(memory, 0xa5, sizeof memory);
  TlsfHeap heap(memory, sizeof memory);
  const unsigned char* top = memory;
  std::vector<unsigned char*> blocks;
  for (std::size_t i = 0; i < 5000; ++i) {
    if (i % 5 < 3 && blocks.size() < 100) {
      blocks.push_back(static_cast<unsigned char*>(heap.allocate(i * 7 % 300, i % 9 ? 1 : 64)));
      top = std::max<const unsigned char*>(top, blocks.back() + heap.block_bytes_of(blocks.back()));
    } else if (!blocks.empty()) {
      std::swap(blocks[i * 31 % blocks.size()], blocks.back());
      heap.deallocate(blocks.back());
      blocks.pop_back();
    }
  }
  ASSERT_LT(top, memory + 60'000);
  tarn_watch_end(memory, sizeof memory);
  for (const unsigned char* at = top + 3 * word; at != memory + sizeof memory - 3 * word; ++at) {
    ASSERT_EQ(*at, 0xa5) << at - memory;
  }
}

struct CountingLock {
  void lock() noexcept {
    ++times;
    EXPECT_EQ(++depth, 1);
  }
  void unlock() noexcept { --depth; }
  static inline int depth = 0, times = 0;
};

TEST(Tlsf, EachOperationTakesTheLockOnce) {
  static StaticTlsfHeap<2000, CountingLock> heap;
  void* const p = heap.allocate(10);
  EXPECT_EQ(CountingLock::times, 1);
  void* const q = heap.allocate(100);
  EXPECT_EQ(heap.reallocate(p, 20), p);
  EXPECT_EQ(CountingLock::times, 3);
  void* const moved = heap.reallocate(p, 400);  // Copied between two holds.
  EXPECT_EQ(CountingLock::times, 5);
  heap.deallocate(q);
  heap.deallocate(moved);
  (void)heap.stats();
  EXPECT_EQ(CountingLock::times, 8);
  EXPECT_EQ(CountingLock::depth, 0);
}

TEST(Tlsf, Statistics) {
  static StaticTlsfHeap<1000> heap;
  const auto fresh = heap.stats();
  EXPECT_TRUE(fresh.bytes == fresh.free_bytes && fresh.bytes >= 1000 - 6 * word);
  void* const a = heap.allocate(100);
  void* const b = heap.allocate(200);
  heap.deallocate(a);
  const auto stats = heap.stats();
  EXPECT_EQ(stats.bytes, stats.free_bytes + stats.in_use_bytes);
  EXPECT_EQ(stats.in_use_bytes, heap.block_bytes_of(b) + word);
  EXPECT_GT(stats.peak_bytes, stats.in_use_bytes);
  EXPECT_TRUE(stats.blocks == 1 && stats.failures == 0);
  heap.deallocate(b);
}

}  // namespace
