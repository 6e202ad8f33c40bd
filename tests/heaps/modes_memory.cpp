// What heaps keep and give back, whatever their mode, and memory of their blocks that is put to a
// use of its own.
//
// SPDX-License-Identifier: MIT
#include "modes.hpp"

namespace heaps {
namespace {

class ModesMemory : public Modes {};
INSTANTIATE_TEST_SUITE_P(All, ModesMemory, testing::Combine(testing::Range(0, 4), every_mode));

void use_and_free(tarn_heap heap, int blocks) {
  std::vector<void*> used;
  for (int i = 0; i < blocks; ++i) used.push_back(tarn_heap_allocate(heap, 3000));
  for (void* const p : used) tarn_free(p);
}

TEST_P(ModesMemory, MoreThanThereIsStays) {
  const Heap heap(wanted());
  use_and_free(heap, 100);
  const std::size_t before = committed(heap);
  const std::uint64_t kept = walked(heap).free;
  EXPECT_EQ(tarn_heap_trim(heap, SIZE_MAX), 0u);
  EXPECT_EQ(committed(heap), before);
  EXPECT_EQ(walked(heap).free, kept);
  tarn_heap_trim(heap, 0);
  EXPECT_EQ(committed(heap), 0u);
}

TEST_P(ModesMemory, TrimOfAllHeaps) {
  const Heap heap(wanted());
  use_and_free(heap, 100);
  tarn_malloc_trim(0);
  EXPECT_EQ(committed(heap), 0u);
  EXPECT_EQ(walked(heap).free, 0u);
}

TEST_P(ModesMemory, AFloorWithoutBounds) {
  tarn_heap_options floored = wanted();
  floored.floor_bytes = SIZE_MAX;
  const Heap heap(floored);
  use_and_free(heap, 100);
  const std::size_t before = committed(heap);
  EXPECT_EQ(tarn_heap_trim(heap, 0), 0u);
  EXPECT_EQ(committed(heap), before);
}

TEST_P(ModesMemory, AFloorWithoutBoundsOfAYoungHeap) {
  tarn_heap_options floored = wanted();
  floored.floor_bytes = SIZE_MAX;
  const Heap heap(floored);
  tarn_free(tarn_heap_allocate(heap, 40));
  const std::size_t before = committed(heap);
  EXPECT_EQ(tarn_heap_trim(heap, 0), 0u);
  EXPECT_EQ(committed(heap), before);
}

TEST_P(ModesMemory, TrimStopsAtTheFloor) {
  tarn_heap_options floored = wanted();
  floored.floor_bytes = 64 * kib;
  const Heap heap(floored);
  use_and_free(heap, 100);
  const std::size_t before = committed(heap);
  const std::size_t given = tarn_heap_trim(heap, 0);
  EXPECT_EQ(committed(heap), before - given);
  if (mode() != TARN_MODE_PASSTHROUGH) {
    EXPECT_GE(committed(heap), 64 * kib);
  }
  EXPECT_LE(committed(heap), 192 * kib);  // The floor and a page.
}

// A block that cannot move stays where it is if it can, as if nothing had failed.
TEST_P(ModesMemory, SmallerWithoutMemory) {
  tarn_heap_options narrow = wanted();
  narrow.ceiling_bytes = 320 * kib;
  const Heap heap(narrow);
  void* const p = tarn_heap_allocate(heap, 300 * kib);
  ASSERT_NE(p, nullptr);
  fill(p, 20 * kib, 1);
  while (tarn_heap_allocate(heap, 1000) != nullptr) {
  }
  errno = 0;
  void* const smaller = tarn_heap_reallocate(heap, p, 20 * kib);
  ASSERT_NE(smaller, nullptr);
  EXPECT_EQ(errno, 0);
  EXPECT_TRUE(is_filled(smaller, 20 * kib, 1));
}

// The size of an object that has none is known to be that of its block.
TEST_P(ModesMemory, BlocksOfOneSizeForNothing) {
  const Heap heap(wanted());
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    const tarn_fixed fixed = tarn_heap_fixed(heap, 0, alignment);
    ASSERT_NE(fixed.record, nullptr);
    tarn_free_sized(tarn_fixed_allocate(fixed), 0);
    tarn_free_sized(tarn_fixed_allocate(fixed), 1);
  }
  expect_empty(heap);
}

TEST_P(ModesMemory, RegionsInTheirBlocks) {
  const Heap heap(wanted());
  for (const std::size_t bytes : {40 * kib, 64 * kib, 120'000ul, 300'000ul, 3 * mib}) {
    void* const memory = tarn_heap_allocate(heap, bytes);
    {
      tarn_heap_options region = options();
      region.region = memory;
      region.region_bytes = bytes;
      const Heap inner(region);
      void* const p = tarn_heap_allocate(inner, 100);
      void* const q = tarn_heap_allocate(inner, 9000);
      ASSERT_NE(p, nullptr);
      ASSERT_NE(q, nullptr);
      fill(p, 100, 1);
      fill(q, 9000, 2);
      EXPECT_TRUE(same(tarn_heap_of(p), inner));
      EXPECT_TRUE(same(tarn_heap_of(q), inner));
      EXPECT_TRUE(same(tarn_heap_of(memory), heap));
      tarn_free(p);
      tarn_free(q);
    }
    EXPECT_TRUE(same(tarn_heap_of(memory), heap));
    fill(memory, bytes, 3);
    tarn_free(memory);
  }
  expect_empty(heap);
}

}  // namespace
}  // namespace heaps
