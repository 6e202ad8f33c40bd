// Sources over heaps: what tarn/heap/heap_source.hpp promises; ceilings above all.
//
// SPDX-License-Identifier: MIT
#include "tarn/heap/heap_source.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "tarn/arena/arena.hpp"
#include "tarn/pool/pool.hpp"

namespace sources {
namespace {

tarn::HeapOptions limited_to(std::size_t bytes) {
  tarn::HeapOptions options;
  options.ceiling_bytes = bytes;
  return options;
}

TEST(HeapSource, TheCeilingHoldsForThePool) {
  tarn::Heap heap(limited_to(1 << 20));
  tarn::HeapSource source(heap);
  {
    tarn::Pool pool(100, source);
    std::size_t blocks = 0;
    while (void* const p = pool.try_allocate()) {
      std::memset(p, 1, 100);
      ++blocks;
    }
    EXPECT_LE(pool.stats().held_bytes, std::size_t{1} << 20);
    EXPECT_GT(blocks, 5000u);
    EXPECT_LE(heap.stats().committed_bytes, std::size_t{1} << 20);
  }
  EXPECT_EQ(heap.stats().live_blocks, 0u);
}

TEST(HeapSource, AlignsAndRefuses) {
  tarn::Heap heap;
  tarn::HeapSource source(heap);
  for (std::size_t alignment = 1; alignment <= 1 << 22; alignment *= 2) {
    const tarn::Chunk chunk = source.acquire(1000, alignment);
    ASSERT_NE(chunk.data, nullptr) << alignment;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(chunk.data) % alignment, 0u);
    EXPECT_TRUE(heap.owns(chunk.data));
    source.release(chunk);
  }
  volatile std::size_t most = SIZE_MAX;  // The compiler knows that it is too much.
  EXPECT_EQ(source.acquire(most, 16).data, nullptr);
  EXPECT_EQ(source.acquire(16, 3).data, nullptr);
  source.release({});
  EXPECT_EQ(tarn::HeapSource(tarn::HeapRef{}).acquire(16, 16).data, nullptr);
}

TEST(HeapSource, AnArenaEndsBeforeItsHeap) {
  tarn::Heap heap;
  tarn::HeapSource source(heap);
  tarn::Arena arena(source);
  for (int i = 0; i < 10'000; ++i) std::memset(arena.allocate(100), 1, 100);
  EXPECT_GE(heap.stats().live_bytes, 1'000'000u);
  arena.reset(tarn::keep_nothing);
  EXPECT_EQ(heap.stats().live_bytes, 0u);
}

}  // namespace
}  // namespace sources
