// Blocks of heaps at a new size: where they lie, what is in them, whose they are afterwards.
//
// SPDX-License-Identifier: MIT
#include <cstring>
#include <vector>

#include "heap.hpp"

namespace heaps {
namespace {

class Resize : public EachMode {
 protected:
  Heap heap_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Modes, Resize, every_mode);

// A size of each kind: mixed page, linear classes, stepped ones, large blocks.
constexpr std::size_t some_sizes[] = {1,     16,        17,        300,       1024,     1025,
                                      5'000, 100 * kib, 128 * kib, 129 * kib, 700 * kib};

TEST_P(Resize, FromEachSizeToEach) {
  for (int grown_up = 0; grown_up < 2; ++grown_up) {
    for (const std::size_t from : some_sizes) {
      for (const std::size_t to : some_sizes) {
        if (grown_up == 0) {
          ASSERT_EQ(tarn_heap_clear(heap_), 0);
        }
        void* const p = tarn_heap_allocate(heap_, from);
        ASSERT_NE(p, nullptr);
        fill(p, from, 3);
        void* const q = tarn_heap_reallocate(heap_, p, to);
        ASSERT_NE(q, nullptr) << from << " to " << to;
        EXPECT_GE(usable(q), to);
        EXPECT_TRUE(is_filled(q, from < to ? from : to, 3)) << from << " to " << to;
        EXPECT_TRUE(same(tarn_heap_of(q), heap_)) << from << " to " << to;
        fill(q, to, 4);
        EXPECT_EQ(stats_of(heap_).live_blocks, 1u) << from << " to " << to;
        EXPECT_EQ(stats_of(heap_).live_bytes, usable(q)) << from << " to " << to;
        tarn_heap_deallocate(q);
      }
    }
    make_grown_up(heap_);
  }
}

TEST_P(Resize, InTheMixedPageInPlaceAsFarAsThereIsRoom) {
  void* const first = tarn_heap_allocate(heap_, 16);
  void* const second = tarn_heap_allocate(heap_, 16);
  fill(second, 16, 1);
  EXPECT_EQ(tarn_heap_reallocate(heap_, second, 1000), second);
  EXPECT_EQ(usable(second), in_grains(1000));
  fill(second, 1000, 1);
  // The neighbour is in the way.
  void* const moved = tarn_heap_reallocate(heap_, first, 17);
  EXPECT_NE(moved, first);
  EXPECT_TRUE(is_filled(second, 1000, 1));
  EXPECT_EQ(tarn_heap_reallocate(heap_, second, 100), second);
  EXPECT_EQ(usable(second), in_grains(100));
  EXPECT_TRUE(is_filled(second, 100, 1));
  EXPECT_EQ(stats_of(heap_).live_bytes, in_grains(100) + in_grains(17));
}

TEST_P(Resize, FromAnotherHeap) {
  for (const int other_mode : {TARN_HEAP_SHARED, TARN_HEAP_SERIALISED, TARN_HEAP_CONFINED}) {
    const Heap other(other_mode);
    for (int grown_up = 0; grown_up < 2; ++grown_up) {
      for (const std::size_t from : some_sizes) {
        for (const std::size_t to : {std::size_t{10}, from, std::size_t{200 * kib}}) {
          void* const p = tarn_heap_allocate(other, from);
          fill(p, from, 9);
          void* const q = tarn_heap_reallocate(heap_, p, to);
          ASSERT_NE(q, nullptr);
          EXPECT_TRUE(same(tarn_heap_of(q), heap_));
          EXPECT_TRUE(is_filled(q, from < to ? from : to, 9));
          expect_empty(other);
          tarn_heap_deallocate(q);
        }
      }
      expect_empty(heap_);
      make_grown_up(other);
    }
  }
}

TEST_P(Resize, ToAndFromMallocsHeap) {
  for (const std::size_t from : some_sizes) {
    void* const p = tarn_malloc(from);
    fill(p, from, 5);
    void* const q = tarn_heap_reallocate(heap_, p, 500);
    ASSERT_NE(q, nullptr);
    EXPECT_TRUE(same(tarn_heap_of(q), heap_));
    const std::size_t kept = from < 500 ? from : 500;
    EXPECT_TRUE(is_filled(q, kept, 5));
    void* const r = tarn_heap_reallocate(tarn_heap_main(), q, from);
    ASSERT_NE(r, nullptr);
    EXPECT_TRUE(same(tarn_heap_of(r), tarn_heap_main()));
    EXPECT_TRUE(is_filled(r, kept, 5));
    void* const s = tarn_heap_reallocate(tarn_heap_main(), r, from + 40);
    EXPECT_TRUE(is_filled(s, kept, 5));
    tarn_free(s);
  }
  expect_empty(heap_);
}

TEST_P(Resize, TheFamilysFunctionsKeepABlockInItsHeap) {
  for (int grown_up = 0; grown_up < 2; ++grown_up) {
    for (const std::size_t from : some_sizes) {
      void* p = tarn_heap_allocate(heap_, from);
      fill(p, from, 6);
      EXPECT_GE(tarn_malloc_usable_size(p), from);
      p = tarn_realloc(p, 2 * from);
      ASSERT_NE(p, nullptr);
      EXPECT_TRUE(same(tarn_heap_of(p), heap_)) << from;
      EXPECT_TRUE(is_filled(p, from, 6)) << from;
      p = tarn_reallocarray(p, from, 3);
      ASSERT_NE(p, nullptr);
      EXPECT_TRUE(same(tarn_heap_of(p), heap_)) << from;
      EXPECT_TRUE(is_filled(p, from, 6)) << from;
      tarn_free(p);
    }
    expect_empty(heap_);
    make_grown_up(heap_);
  }
}

TEST_P(Resize, SizeZeroFreesAndNullAllocates) {
  for (const std::size_t bytes : some_sizes) {
    void* const p = tarn_heap_reallocate(heap_, nullptr, bytes);
    ASSERT_NE(p, nullptr);
    EXPECT_TRUE(same(tarn_heap_of(p), heap_));
    EXPECT_EQ(stats_of(heap_).live_blocks, 1u);
    EXPECT_EQ(tarn_heap_reallocate(heap_, p, 0), nullptr);
    expect_empty(heap_);
  }
  void* const none = tarn_heap_reallocate(heap_, nullptr, 0);
  EXPECT_NE(none, nullptr);
  tarn_heap_deallocate(none);
  tarn_heap_deallocate(nullptr);
}

TEST_P(Resize, FailureLeavesTheBlock) {
  tarn_heap_options wanted = options(GetParam());
  wanted.ceiling_bytes = 300 * kib;
  for (const std::size_t from : {100u, 5'000u, 200'000u}) {
    const Heap heap(wanted);
    void* const p = tarn_heap_allocate(heap, from);
    ASSERT_NE(p, nullptr);
    fill(p, from, 8);
    const tarn_heap_stats before = stats_of(heap);
    for (const std::size_t to : {400 * kib, std::size_t{PTRDIFF_MAX}, SIZE_MAX}) {
      errno = 0;
      EXPECT_EQ(tarn_heap_reallocate(heap, p, opaque(to)), nullptr);
      EXPECT_EQ(errno, ENOMEM);
      EXPECT_TRUE(is_filled(p, from, 8));
      EXPECT_TRUE(same(tarn_heap_of(p), heap));
      const tarn_heap_stats now = stats_of(heap);
      EXPECT_EQ(now.live_bytes, before.live_bytes);
      EXPECT_EQ(now.committed_bytes, before.committed_bytes);
      EXPECT_EQ(now.committed_bytes_peak, before.committed_bytes_peak);
    }
  }
  // Into a heap that has no room for it: the block stays where it is.
  void* const foreign = tarn_heap_allocate(heap_, 100);
  fill(foreign, 100, 2);
  const Heap narrow(wanted);
  EXPECT_EQ(tarn_heap_reallocate(narrow, foreign, 400 * kib), nullptr);
  EXPECT_TRUE(same(tarn_heap_of(foreign), heap_));
  EXPECT_TRUE(is_filled(foreign, 100, 2));
}

TEST_P(Resize, ASmallerSizeIsAlwaysToBeHad) {
  tarn_heap_options wanted = options(GetParam());
  wanted.ceiling_bytes = 200 * kib;
  const Heap heap(wanted);
  void* const p = tarn_heap_allocate(heap, 200 * kib);
  ASSERT_NE(p, nullptr);
  fill(p, 100, 2);
  errno = 0;
  void* const q = tarn_heap_reallocate(heap, p, 100);
  ASSERT_NE(q, nullptr);
  EXPECT_EQ(errno, 0);
  EXPECT_TRUE(is_filled(q, 100, 2));
}

TEST_P(Resize, LargeBlocksAreChargedForWhatTheyHave) {
  void* p = tarn_heap_allocate(heap_, 400 * kib);
  EXPECT_EQ(committed(heap_), 400 * kib);
  for (const std::size_t bytes : {900 * kib, 200 * kib, 201 * kib, 8 * mib, 130 * kib}) {
    fill(p, 130 * kib, 1);
    p = tarn_heap_reallocate(heap_, p, bytes);
    ASSERT_NE(p, nullptr);
    EXPECT_TRUE(is_filled(p, 130 * kib, 1));
    EXPECT_EQ(committed(heap_), usable(p)) << bytes;
    EXPECT_EQ(stats_of(heap_).large_blocks, 1u);
  }
  tarn_heap_deallocate(p);
  EXPECT_EQ(committed(heap_), 0u);
  EXPECT_GE(stats_of(heap_).committed_bytes_peak, 8 * mib);
}

// Step by step, with a block behind that keeps each of them from growing where it is.
TEST_P(Resize, LargeBlocksThatGrowKeepWhatTheyHave) {
  std::vector<void*> behind;
  std::size_t bytes = 300 * kib;
  auto* p = static_cast<unsigned char*>(tarn_heap_allocate(heap_, bytes));
  ASSERT_NE(p, nullptr);
  std::memset(p, 1, bytes);
  for (unsigned char step = 2; step < 20; ++step) {
    behind.push_back(tarn_heap_allocate(heap_, 150 * kib));
    tarn_heap_deallocate(tarn_heap_allocate(heap_, bytes));
    const std::size_t more = bytes + bytes / 8;
    p = static_cast<unsigned char*>(tarn_heap_reallocate(heap_, p, more));
    ASSERT_NE(p, nullptr);
    std::memset(p + bytes, step, more - bytes);
    bytes = more;
    ASSERT_EQ(stats_of(heap_).live_blocks, behind.size() + 1);
  }
  unsigned char step = 1;
  for (std::size_t at = 0, end = 300 * kib; at < bytes; end += end / 8, ++step) {
    for (; at < end && at < bytes; at += 997) ASSERT_EQ(p[at], step) << at;
  }
  for (void* const each : behind) tarn_heap_deallocate(each);
  tarn_heap_deallocate(p);
  EXPECT_EQ(stats_of(heap_).live_blocks, 0u);
}

TEST_P(Resize, TryExpandInTheMixedPage) {
  void* const p = tarn_heap_allocate(heap_, 20);
  fill(p, 20, 1);
  EXPECT_EQ(tarn_heap_try_expand(p, 0), 1);
  EXPECT_EQ(tarn_heap_try_expand(p, 32), 1);
  EXPECT_EQ(usable(p), 32u);
  EXPECT_EQ(tarn_heap_try_expand(p, 500), 1);
  EXPECT_EQ(usable(p), in_grains(500));
  void* const next = tarn_heap_allocate(heap_, 10);
  EXPECT_EQ(tarn_heap_try_expand(p, 513), 0);
  EXPECT_EQ(tarn_heap_try_expand(p, 2000), 0);
  EXPECT_EQ(usable(p), in_grains(500));
  tarn_heap_deallocate(next);
  EXPECT_EQ(tarn_heap_try_expand(p, 1024), 1);
  EXPECT_EQ(usable(p), 1024u);
  EXPECT_TRUE(is_filled(p, 20, 1));
  EXPECT_EQ(stats_of(heap_).live_bytes, 1024u);
}

TEST_P(Resize, TryExpandInAPage) {
  make_grown_up(heap_);
  void* const p = tarn_heap_allocate(heap_, 20);
  EXPECT_EQ(tarn_heap_try_expand(p, 32), 1);
  EXPECT_EQ(tarn_heap_try_expand(p, 33), 0);
  void* const q = tarn_heap_allocate(heap_, 5'000);
  EXPECT_EQ(tarn_heap_try_expand(q, usable(q)), 1);
  EXPECT_EQ(tarn_heap_try_expand(q, usable(q) + 1), 0);
  EXPECT_EQ(usable(p), 32u);
}

TEST_P(Resize, TryExpandOfALargeBlock) {
  // What is behind a block that has just shrunk is free.
  void* p = tarn_heap_allocate(heap_, 8 * mib);
  fill(p, mib, 1);
  p = tarn_heap_reallocate(heap_, p, mib);
  ASSERT_EQ(usable(p), mib);
  ASSERT_EQ(committed(heap_), mib);
  EXPECT_EQ(tarn_heap_try_expand(p, mib + 1), 1);
  EXPECT_EQ(usable(p), mib + slice);
  EXPECT_EQ(committed(heap_), mib + slice);
  EXPECT_EQ(tarn_heap_try_expand(p, 2 * mib), 1);
  EXPECT_EQ(committed(heap_), 2 * mib);
  EXPECT_TRUE(is_filled(p, mib, 1));
  EXPECT_EQ(tarn_heap_try_expand(p, opaque(PTRDIFF_MAX)), 0);
  EXPECT_EQ(tarn_heap_try_expand(p, opaque(SIZE_MAX)), 0);
  EXPECT_EQ(committed(heap_), 2 * mib);
  EXPECT_EQ(stats_of(heap_).committed_bytes_peak, 8 * mib);
}

TEST_P(Resize, TryExpandHeedsTheCeiling) {
  tarn_heap_options wanted = options(GetParam());
  wanted.ceiling_bytes = 8 * mib;
  const Heap heap(wanted);
  void* p = tarn_heap_allocate(heap, 8 * mib);
  ASSERT_NE(p, nullptr);
  p = tarn_heap_reallocate(heap, p, mib);
  void* const rest = tarn_heap_allocate(heap, 5 * mib);
  ASSERT_NE(rest, nullptr);
  EXPECT_EQ(tarn_heap_try_expand(p, 3 * mib + 1), 0);
  EXPECT_EQ(usable(p), mib);
  EXPECT_EQ(committed(heap), 6 * mib);
}

TEST(TryExpand, OfMallocsBlocksAndNull) {
  EXPECT_EQ(tarn_heap_try_expand(nullptr, 1), 0);
  EXPECT_EQ(tarn_heap_try_expand(nullptr, 0), 0);
  void* const p = tarn_malloc(20);
  EXPECT_EQ(tarn_heap_try_expand(p, 32), 1);
  EXPECT_EQ(tarn_heap_try_expand(p, 33), 0);
  tarn_free(p);
  void* large = tarn_malloc(4 * mib);
  large = tarn_realloc(large, mib / 2);
  EXPECT_EQ(tarn_heap_try_expand(large, 2 * mib), 1);
  EXPECT_EQ(usable(large), 2 * mib);
  tarn_free(large);
}

}  // namespace
}  // namespace heaps
