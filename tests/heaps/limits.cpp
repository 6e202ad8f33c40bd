// Ceilings: never exceeded, whatever is asked and whoever asks, and parents' ceilings as well.
//
// SPDX-License-Identifier: MIT
#include <random>

#include "heap.hpp"

namespace heaps {
namespace {

tarn_heap_options limited(int threads, std::size_t ceiling, tarn_heap parent = {}) {
  tarn_heap_options wanted = options(threads);
  wanted.ceiling_bytes = ceiling;
  wanted.parent = parent;
  return wanted;
}

class Limits : public EachMode {};
INSTANTIATE_TEST_SUITE_P(Modes, Limits, every_mode);

void* refused(tarn_heap heap, std::size_t bytes) {
  errno = 0;
  void* const p = tarn_heap_allocate(heap, bytes);
  EXPECT_EQ(errno, p == nullptr ? ENOMEM : 0);
  return p;
}

TEST_P(Limits, TheLastByteOfACeilingIsToBeHad) {
  for (const std::size_t ceiling : {mib, mib + slice}) {
    const Heap heap(limited(GetParam(), ceiling));
    EXPECT_EQ(refused(heap, ceiling + 1), nullptr);
    EXPECT_EQ(committed(heap), 0u);
    void* const p = tarn_heap_allocate(heap, ceiling);
    EXPECT_NE(p, nullptr);
    EXPECT_EQ(committed(heap), ceiling);
    EXPECT_EQ(refused(heap, 1), nullptr);
    tarn_heap_deallocate(p);
    EXPECT_EQ(committed(heap), 0u);
    EXPECT_NE(tarn_heap_allocate(heap, ceiling), nullptr);
    EXPECT_EQ(stats_of(heap).committed_bytes_peak, ceiling);
  }
}

TEST_P(Limits, ACeilingThatIsNotOfWholePages) {
  const Heap heap(limited(GetParam(), mib + slice - 1));
  EXPECT_EQ(refused(heap, mib + 1), nullptr);
  EXPECT_NE(tarn_heap_allocate(heap, mib), nullptr);
  EXPECT_EQ(refused(heap, 1), nullptr);
  EXPECT_EQ(committed(heap), mib);
}

TEST_P(Limits, BelowOnePageThereIsNothing) {
  for (const std::size_t ceiling : {std::size_t{1}, slice - 1}) {
    const Heap heap(limited(GetParam(), ceiling));
    for (const std::size_t bytes : {0u, 1u, 1000u, 5'000u, 1u << 20}) {
      EXPECT_EQ(refused(heap, bytes), nullptr);
    }
    EXPECT_EQ(committed(heap), 0u);
    EXPECT_EQ(stats_of(heap).committed_bytes_peak, 0u);
  }
}

TEST_P(Limits, OnePageServesTheMixedPage) {
  const Heap heap(limited(GetParam(), slice));
  int blocks = 0;
  while (refused(heap, 500) != nullptr) ++blocks;
  EXPECT_EQ(blocks, 8);  // Of 512 bytes.
  EXPECT_EQ(committed(heap), slice);
  EXPECT_EQ(stats_of(heap).live_blocks, 8u);
}

TEST_P(Limits, NeverExceeded) {
  std::mt19937 random(5);
  for (const std::size_t ceiling : {2 * slice, 10 * slice, 64 * kib, mib}) {
    const Heap heap(limited(GetParam(), ceiling));
    std::vector<void*> blocks;
    int refusals = 0;
    for (int i = 0; i < scaled(30'000); ++i) {
      const std::size_t bytes = random() % (random() % 10 == 0 ? ceiling : 600);
      void* const p = refused(heap, bytes);
      if (p != nullptr) {
        blocks.push_back(p);
      } else {
        ++refusals;
        for (int freed = 0; freed < 20 && !blocks.empty(); ++freed) {
          std::swap(blocks[random() % blocks.size()], blocks.back());
          tarn_heap_deallocate(blocks.back());
          blocks.pop_back();
        }
      }
      if (i % 16 == 0) {
        ASSERT_LE(committed(heap), ceiling);
      }
    }
    EXPECT_LE(stats_of(heap).committed_bytes_peak, ceiling);
    EXPECT_GT(refusals, 0);
    EXPECT_EQ(stats_of(heap).live_blocks, blocks.size());
  }
}

TEST_P(Limits, EmptyPagesMakeRoom) {
  const Heap heap(limited(GetParam(), mib));
  std::vector<void*> blocks;
  for (void* p; (p = tarn_heap_allocate(heap, 64)) != nullptr;) blocks.push_back(p);
  EXPECT_GE(blocks.size(), mib / 64 / 2);
  for (void* const p : blocks) tarn_heap_deallocate(p);
  EXPECT_NE(tarn_heap_allocate(heap, mib), nullptr);
  EXPECT_EQ(committed(heap), mib);
}

TEST_P(Limits, ACeilingIsMadeUseOf) {
  // With blocks of one size nearly all of it: what is lost is less than a page at the end.
  const Heap heap(limited(GetParam(), mib));
  std::size_t bytes = 0;
  while (tarn_heap_allocate(heap, 512) != nullptr) bytes += 512;
  EXPECT_GE(bytes, mib - 16 * kib);
}

// Of an empty heap, whose first block it is: its size rounded to whole slices is enough.
// A full page sleeps until a part of it is free; at a ceiling one block is enough.
TEST_P(Limits, AFreeBlockIsServedAlthoughItsPageSleeps) {
  for (const std::size_t bytes : {40u, 1000u, 1024u}) {
    const Heap heap(limited(GetParam(), 64 * kib));
    make_grown_up(heap);
    std::vector<void*> blocks;
    while (void* const p = tarn_heap_allocate(heap, bytes)) blocks.push_back(p);
    for (std::size_t i = 0; i < blocks.size(); i += 7) {
      tarn_heap_deallocate(blocks[i]);
      blocks[i] = tarn_heap_allocate(heap, bytes);
      ASSERT_NE(blocks[i], nullptr) << i << " of " << blocks.size();
      ASSERT_EQ(tarn_heap_allocate(heap, bytes), nullptr);
    }
  }
}

TEST_P(Limits, AnyBlockThatFitsIsServed) {
  for (const std::size_t slices : {1u, 2u, 3u, 5u, 8u, 16u, 17u, 27u, 33u, 40u}) {
    const std::size_t ceiling = slices * slice;
    for (std::size_t bytes = 1; bytes <= ceiling; bytes += bytes < slice ? 333 : 1365) {
      for (const std::size_t each : {bytes, in_slices(bytes)}) {
        const Heap heap(limited(GetParam(), ceiling));
        void* const p = refused(heap, each);
        ASSERT_NE(p, nullptr) << each << " bytes under " << ceiling;
        fill(p, each, 3);
        ASSERT_LE(committed(heap), ceiling);
        void* const resized = tarn_heap_reallocate(heap, p, each);
        ASSERT_TRUE(resized != nullptr && is_filled(resized, each, 3));
        tarn_heap_deallocate(resized);
        ASSERT_NE(refused(heap, ceiling), nullptr);
      }
    }
  }
}

TEST_P(Limits, AnyBlockOfOneSizeThatFitsIsServed) {
  for (std::size_t bytes = 5'000; bytes <= paged_bytes_max; bytes += 7'001) {
    const Heap heap(limited(GetParam(), in_slices(bytes)));
    const tarn_fixed fixed = tarn_heap_fixed(heap, bytes, 8);
    void* const p = tarn_fixed_allocate(fixed);
    ASSERT_NE(p, nullptr) << bytes;
    fill(p, bytes, 4);
    EXPECT_EQ(tarn_fixed_allocate(fixed), nullptr);
    EXPECT_TRUE(is_filled(p, bytes, 4));
    tarn_heap_deallocate(p);
    EXPECT_NE(tarn_fixed_allocate(fixed), nullptr);
  }
}

TEST_P(Limits, AParentsCeilingCoversItsChildren) {
  const Heap parent(limited(GetParam(), 4 * mib));
  const Heap a(limited(GetParam(), 0, parent));
  const Heap b(limited(GetParam(), 3 * mib, parent));
  void* const first = tarn_heap_allocate(a, 2 * mib);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(committed(parent), 2 * mib);
  EXPECT_EQ(refused(b, 3 * mib), nullptr);
  EXPECT_EQ(committed(b), 0u);
  EXPECT_EQ(stats_of(b).committed_bytes_peak, 0u);
  void* const second = tarn_heap_allocate(b, 2 * mib);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(committed(parent), 4 * mib);
  EXPECT_EQ(refused(parent, 1), nullptr);
  EXPECT_EQ(refused(a, 1), nullptr);
  tarn_heap_deallocate(first);
  EXPECT_EQ(refused(b, 2 * mib), nullptr);  // Its own ceiling, now.
  EXPECT_EQ(committed(parent), 2 * mib);
  EXPECT_NE(tarn_heap_allocate(parent, 2 * mib), nullptr);
  EXPECT_EQ(stats_of(parent).committed_bytes_peak, 4 * mib);
  // A parent's blocks are its own.
  EXPECT_EQ(stats_of(parent).live_blocks, 1u);
}

TEST_P(Limits, DestroyedAndClearedChildrenGiveTheirPartBack) {
  const Heap parent(limited(GetParam(), mib));
  Heap child(limited(GetParam(), 0, parent));
  for (int i = 0; i < 3; ++i) {
    ASSERT_NE(tarn_heap_allocate(child, 5'000), nullptr);
    ASSERT_NE(tarn_heap_allocate(child, 10), nullptr);
    ASSERT_NE(tarn_heap_allocate(child, 512 * kib), nullptr);
    EXPECT_EQ(committed(parent), committed(child));
    EXPECT_EQ(tarn_heap_clear(child), 0);
    EXPECT_EQ(committed(parent), 0u);
  }
  ASSERT_NE(tarn_heap_allocate(child, mib), nullptr);
  child.destroy();
  EXPECT_EQ(committed(parent), 0u);
  EXPECT_NE(tarn_heap_allocate(parent, mib), nullptr);
}

TEST_P(Limits, EmptyPagesOfSiblingsMakeRoom) {
  const Heap parent(limited(GetParam(), mib));
  const Heap a(limited(GetParam(), 0, parent));
  const Heap b(limited(GetParam(), 0, parent));
  std::vector<void*> blocks;
  for (void* p; (p = tarn_heap_allocate(a, 2'000)) != nullptr;) blocks.push_back(p);
  EXPECT_EQ(refused(b, 100'000), nullptr);
  for (void* const p : blocks) tarn_heap_deallocate(p);
  EXPECT_NE(tarn_heap_allocate(b, mib), nullptr);
  EXPECT_EQ(committed(a), 0u);
}

TEST_P(Limits, ADestroyedParentsCeilingHolds) {
  Heap grandparent(limited(GetParam(), 4 * mib));
  Heap parent(limited(GetParam(), 2 * mib, grandparent));
  const Heap child(limited(GetParam(), 0, parent));
  const Heap cousin(limited(GetParam(), 0, grandparent));
  ASSERT_NE(tarn_heap_allocate(parent, mib), nullptr);
  ASSERT_NE(tarn_heap_allocate(child, mib), nullptr);
  EXPECT_EQ(refused(child, mib), nullptr);
  parent.destroy();
  EXPECT_EQ(committed(grandparent), mib);
  void* const p = tarn_heap_allocate(child, mib);
  EXPECT_NE(p, nullptr);
  EXPECT_EQ(refused(child, 1), nullptr);
  grandparent.destroy();
  // Heaps that are made now do not take their places.
  const Heap others[4] = {Heap(GetParam()), Heap(GetParam()), Heap(GetParam()), Heap(GetParam())};
  EXPECT_NE(tarn_heap_allocate(others[0], 8 * mib), nullptr);
  EXPECT_EQ(refused(child, 1), nullptr);
  EXPECT_EQ(refused(cousin, 2 * mib + 1), nullptr);
  EXPECT_NE(tarn_heap_allocate(cousin, 2 * mib), nullptr);
  EXPECT_EQ(refused(cousin, 1), nullptr);
  tarn_heap_deallocate(p);
  EXPECT_NE(tarn_heap_allocate(child, mib), nullptr);
}

TEST_P(Limits, MayBeChanged) {
  const Heap heap(GetParam());
  void* const first = tarn_heap_allocate(heap, 100 * kib);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(tarn_heap_set_ceiling(heap, 200 * kib), 0);
  EXPECT_EQ(refused(heap, 200 * kib), nullptr);
  EXPECT_EQ(tarn_heap_set_ceiling(heap, 50 * kib), 0);  // Below what is there.
  EXPECT_EQ(refused(heap, 60 * kib), nullptr);
  tarn_heap_deallocate(first);
  EXPECT_EQ(refused(heap, 60 * kib), nullptr);
  EXPECT_NE(tarn_heap_allocate(heap, 30 * kib), nullptr);
  EXPECT_EQ(tarn_heap_set_ceiling(heap, 0), 0);
  EXPECT_NE(tarn_heap_allocate(heap, 10 * mib), nullptr);

  // A child's, below that of its parent.
  const Heap child(limited(GetParam(), 0, heap));
  EXPECT_EQ(tarn_heap_set_ceiling(heap, 20 * mib), 0);
  EXPECT_NE(tarn_heap_allocate(child, 5 * mib), nullptr);
  EXPECT_EQ(tarn_heap_set_ceiling(child, 6 * mib), 0);
  EXPECT_EQ(refused(child, 5 * mib), nullptr);
  EXPECT_EQ(tarn_heap_set_ceiling(child, 0), 0);
  EXPECT_EQ(refused(child, 15 * mib), nullptr);
}

TEST_P(Limits, FloorsMayBeChanged) {
  const Heap heap(GetParam());
  EXPECT_EQ(tarn_heap_set_floor(heap, mib), 0);
  std::vector<void*> blocks(3000);
  for (void*& p : blocks) p = tarn_heap_allocate(heap, 1000);
  for (void* p : blocks) tarn_heap_deallocate(p);
  tarn_heap_trim(heap, 0);
  EXPECT_GE(committed(heap), mib);
  EXPECT_EQ(tarn_heap_set_floor(heap, 0), 0);
  tarn_heap_trim(heap, 0);
  EXPECT_LT(committed(heap), mib / 4);
}

// The first blocks of a heap lie together, in memory that counts for the floor like all other.
TEST_P(Limits, AFloorKeepsWhatTheFirstBlocksLayIn) {
  const Heap heap(GetParam());
  std::vector<void*> blocks(3000);
  for (void*& p : blocks) p = tarn_heap_allocate(heap, 500);
  const std::size_t floor = committed(heap);
  EXPECT_EQ(tarn_heap_set_floor(heap, floor), 0);
  for (void* p : blocks) tarn_heap_deallocate(p);
  EXPECT_EQ(committed(heap), floor);
  tarn_heap_trim(heap, 0);
  EXPECT_EQ(committed(heap), floor);
  EXPECT_EQ(tarn_heap_set_ceiling(heap, floor), 0);
  for (void*& p : blocks) {
    p = tarn_heap_allocate(heap, 500);
    ASSERT_NE(p, nullptr);
  }
  EXPECT_EQ(tarn_heap_set_floor(heap, 0), 0);
  for (void* p : blocks) tarn_heap_deallocate(p);
  tarn_heap_trim(heap, 0);
  EXPECT_EQ(committed(heap), 0u);
}

TEST(LimitErrors, NoHeapAndMallocs) {
  for (const tarn_heap heap : {tarn_heap{}, tarn_heap_main()}) {
    for (const auto set : {tarn_heap_set_ceiling, tarn_heap_set_floor, tarn_heap_set_soft_mark}) {
      errno = 0;
      EXPECT_EQ(set(heap, mib), -1);
      EXPECT_EQ(errno, EINVAL);
    }
  }
}

TEST_P(Limits, ALongLineOfAncestors) {
  constexpr int generations = 50;
  std::vector<tarn_heap> line;
  for (int i = 0; i < generations; ++i) {
    const tarn_heap_options wanted =
        limited(GetParam(), i == 10 ? mib : 0, i == 0 ? tarn_heap{} : line.back());
    line.push_back(tarn_heap_create(&wanted));
    ASSERT_FALSE(is_none(line.back()));
  }
  EXPECT_EQ(refused(line.back(), mib + 1), nullptr);
  for (const tarn_heap heap : line) EXPECT_EQ(stats_of(heap).committed_bytes_peak, 0u);
  ASSERT_NE(tarn_heap_allocate(line.back(), mib), nullptr);
  EXPECT_EQ(refused(line.back(), 1), nullptr);
  EXPECT_EQ(refused(line[10], 1), nullptr);
  EXPECT_NE(tarn_heap_allocate(line[9], 1), nullptr);
  for (const tarn_heap heap : line) EXPECT_EQ(tarn_heap_destroy(heap), 0);
}

}  // namespace
}  // namespace heaps
