// StaticHeap: which class serves, spilling, freeing by the pointer alone, statistics, objects.
//
// SPDX-License-Identifier: MIT
#include "tarn/pool/static_heap.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "tarn/source/concepts.hpp"

namespace {

using tarn::BasicStaticHeap;
using tarn::Class;
using tarn::LockFree;
using tarn::NoLock;
using tarn::Spill;
using tarn::StaticHeap;

using Heap = StaticHeap<Class<16, 4>, Class<48, 3>, Class<160, 2, 64>>;
using Spilling = BasicStaticHeap<NoLock, Spill::larger, Class<16, 4>, Class<48, 3>, Class<160, 2>>;
using Shared = BasicStaticHeap<LockFree, Spill::larger, Class<16, 70>, Class<48, 30>>;

static_assert(tarn::BlockAllocator<Heap> && tarn::BlockAllocator<Spilling>);
static_assert(tarn::BlockAllocator<Shared>);
static_assert(TARN_WATCH || std::is_trivially_destructible_v<Heap>);
static_assert(Heap::classes == 3 && Heap::footprint_bytes() == sizeof(Heap));
static_assert(Heap::worst_case_words() == 3 && Spilling::worst_case_words() == 9);

constinit Heap early;
void* const from_before_main = early.try_allocate(20);

TEST(StaticHeap, IsReadyBeforeMain) {
  EXPECT_EQ(early.block_bytes_of(from_before_main), 48U);
  early.deallocate(from_before_main);
}

TEST(StaticHeap, TheSmallestClassThatFitsServes) {
  static Heap heap;
  for (std::size_t bytes = 0; bytes <= 160; ++bytes) {
    void* const p = heap.allocate(bytes);
    EXPECT_EQ(heap.block_bytes_of(p), bytes <= 16 ? 16U : bytes <= 48 ? 48U : 160U);
    heap.deallocate(p);
  }
  EXPECT_EQ(heap.try_allocate(161), nullptr);
  EXPECT_EQ(heap.try_allocate(SIZE_MAX), nullptr);
  EXPECT_THROW((void)heap.allocate(161), std::bad_alloc);
  void* const p = heap.try_allocate(1, 64);
  EXPECT_TRUE(heap.block_bytes_of(p) == 160 && tarn::is_aligned(p, 64));
  EXPECT_EQ(heap.try_allocate(1, 128), nullptr);
  heap.deallocate(p, 1, 64);
  heap.deallocate(nullptr);
  EXPECT_TRUE(heap.check());
}

TEST(StaticHeap, AnExhaustedClassFailsOrSpills) {
  static Heap strict;
  static Spilling spilling;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(strict.block_bytes_of(strict.try_allocate(10)), 16U);
  EXPECT_EQ(strict.try_allocate(10), nullptr);
  EXPECT_EQ(strict.block_bytes_of(strict.try_allocate(17)), 48U);
  for (std::size_t i = 0; i < 9; ++i) {
    void* const p = spilling.try_allocate(10);
    EXPECT_EQ(spilling.block_bytes_of(p), i < 4 ? 16U : i < 7 ? 48U : 160U);
  }
  EXPECT_EQ(spilling.try_allocate(10), nullptr);
  std::vector<std::size_t> failures;
  spilling.for_each_class([&](const tarn::StaticStats& s) { failures.push_back(s.failures); });
  EXPECT_EQ(failures, (std::vector<std::size_t>{6, 3, 1}));
  std::size_t seen = 0;
  spilling.for_each([&](void* p) { ++seen, spilling.deallocate(p); });
  EXPECT_TRUE(seen == 9 && spilling.check() && strict.check());
}

TEST(StaticHeap, ForEachStopsWhenItIsTold) {
  static Heap heap;
  for (std::size_t bytes : {1U, 20U, 100U}) EXPECT_NE(heap.try_allocate(bytes), nullptr);
  std::vector<std::size_t> seen;
  heap.for_each([&](void* p) {
    seen.push_back(heap.block_bytes_of(p));
    return seen.size() < 2;
  });
  EXPECT_EQ(seen, (std::vector<std::size_t>{16, 48}));
}

struct Counted {
  static inline int alive = 0;
  explicit Counted(bool throws) {
    if (throws) throw 1;
    ++alive;
  }
  ~Counted() { --alive; }
  double numbers[3];
};

TEST(StaticHeap, Objects) {
  static Heap heap;
  Counted* const a = heap.try_create<Counted>(false);
  EXPECT_EQ(heap.block_bytes_of(a), 48U);
  EXPECT_THROW((void)heap.try_create<Counted>(true), int);
  EXPECT_NE(heap.try_create<Counted>(false), nullptr);
  EXPECT_NE(heap.try_create<Counted>(false), nullptr);
  EXPECT_EQ(heap.try_create<Counted>(false), nullptr);
  heap.destroy(a);
  heap.destroy<Counted>(nullptr);
  EXPECT_TRUE(Counted::alive == 2 && heap.check());
}

TEST(StaticHeap, OfLockFreeClasses) {
  static Shared heap;
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < 100; ++i) blocks.push_back(heap.allocate(16));
  EXPECT_EQ(heap.try_allocate(16), nullptr);
  for (void* block : blocks) EXPECT_TRUE(heap.owns(block) && heap.is_live(block));
  for (void* block : blocks) heap.deallocate(block);
  EXPECT_TRUE(heap.check() && !heap.owns(&heap + 1));
}

}  // namespace
