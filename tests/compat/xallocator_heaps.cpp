// xallocator_heaps: xmalloc beside heaps of the program's own, blocks of which it may free, and its
// lock in the child of a fork.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>

#include "../heap/heap.h"
#include "../heap/malloc.h"
#include "../pool/xalloc.h"
#include "../support/child.hpp"
#include "xallocator.h"

namespace {

tarn_heap made(const char* name) {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.name = name;
  return tarn_heap_create(&options);
}

// What the family keeps for a thread does not lie in the thread's default heap.
TEST(XallocatorHeaps, ADefaultHeapMayEnd) {
  std::thread([] {
    const tarn_heap heap = made("request");
    const tarn_heap before = tarn_heap_set_default(heap);
    xfree(xmalloc(2000));
    tarn_heap_set_default(before);
    tarn_heap_stats stats = TARN_HEAP_STATS();
    EXPECT_EQ(tarn_heap_get_stats(heap, &stats), 0);
    EXPECT_EQ(stats.live_blocks, 0u);
    EXPECT_EQ(tarn_heap_destroy(heap), 0);
    xfree(xmalloc(2000));
  }).join();
}

// A block of another heap goes back to that.
TEST(XallocatorHeaps, BlocksOfOtherHeapsAreNotItsOwn) {
  const tarn_heap heap = made("mine");
  const tarn_heap before = tarn_heap_set_default(heap);
  void* const theirs = tarn_malloc(2000);
  tarn_heap_set_default(before);
  xfree(theirs);
  void* const p = xmalloc(2000);
  EXPECT_NE(p, theirs);
  memset(p, 1, 2000);
  EXPECT_EQ(tarn_heap_destroy(heap), 0);
  xfree(p);
}

TEST(XallocatorHeaps, NorAreThoseOfAClassTable) {
  const std::size_t classes[] = {64, 3008, 131072};
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.class_bytes = classes;
  options.class_count = 3;
  const tarn_heap heap = tarn_heap_create(&options);
  ASSERT_NE(heap.record, nullptr);
  void* const theirs = tarn_heap_allocate(heap, 3000);
  xfree(theirs);
  tarn_heap_stats stats = TARN_HEAP_STATS();
  EXPECT_EQ(tarn_heap_get_stats(heap, &stats), 0);
  EXPECT_EQ(stats.live_blocks, 0u);
  EXPECT_EQ(tarn_heap_destroy(heap), 0);
}

// Counts that others' blocks have spoiled stay numbers of blocks.
TEST(XallocatorHeaps, CountsStaySmall) {
  for (int i = 0; i < 3; ++i) xfree(tarn_malloc(24));
  xalloc_destroy();
  tarn_xalloc_class_stats stats = TARN_XALLOC_CLASS_STATS();
  for (std::size_t i = 0; tarn_xalloc_get_class_stats(i, &stats) == 0; ++i) {
    EXPECT_LT(stats.in_use_peak, 1000u) << stats.block_bytes;
  }
}

// Blocks that were freed serve again, whoever asks.
TEST(XallocatorHeaps, FreedBlocksServeEveryKindOfRequest) {
  std::thread([] {
    const auto committed = [] {
      tarn_heap_stats stats = TARN_HEAP_STATS();
      EXPECT_EQ(tarn_heap_get_stats(tarn_heap_main(), &stats), 0);
      return stats.committed_bytes;
    };
    for (const bool is_aligned : {false, true}) {
      const auto once = [is_aligned] {
        void* p = is_aligned ? tarn_xmalloc_aligned(64, 100000) : xmalloc(100);
        ASSERT_NE(p, nullptr);
        if (!is_aligned) {
          memset(p, 7, 100);
          p = xrealloc(p, 100000);
          ASSERT_NE(p, nullptr);
          ASSERT_EQ(static_cast<char*>(p)[99], 7);
        }
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(p) % (is_aligned ? 64 : 16), 0u);
        xfree(p);
      };
      once();
      const std::size_t before = committed();
      for (int i = 0; i < 200; ++i) once();
      EXPECT_LE(committed(), before + (4 << 20)) << is_aligned;
    }
  }).join();
}

TEST(XallocatorHeaps, TheLockOfAnotherThreadIsFreeInTheChild) {
  std::atomic<bool> is_held{false};
  std::atomic<bool> is_over{false};
  std::thread holder([&] {
    lock_get();
    is_held = true;
    while (!is_over) std::this_thread::yield();
    lock_release();
  });
  while (!is_held) std::this_thread::yield();
  const int status = support::status_of_child([] {
    ::alarm(20);
    lock_get();
    xfree(xmalloc(100));
    lock_release();
    return 0;
  });
  is_over = true;
  holder.join();
  EXPECT_EQ(status, 0);
}

}  // namespace
