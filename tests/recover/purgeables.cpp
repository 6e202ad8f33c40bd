// Purgeables: what each function says, which go first, and what becomes of them with their heaps.
//
// SPDX-License-Identifier: MIT
#include <thread>

#include "recover.hpp"

namespace recovering {
namespace {

class Purgeables : public EachMode {};
INSTANTIATE_TEST_SUITE_P(Modes, Purgeables, every_mode);

TEST(PurgeableErrors, AreSaid) {
  tarn_purgeable p{};
  errno = 0;
  EXPECT_EQ(tarn_purgeable_lock(&p), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(tarn_purgeable_refill(&p), nullptr);
  EXPECT_EQ(errno, EINVAL);
  for (auto* function : {tarn_purgeable_end, tarn_purgeable_discard}) {
    errno = 0;
    EXPECT_EQ(function(&p), -1);
    EXPECT_EQ(errno, EINVAL);
  }
  errno = 0;
  EXPECT_EQ(tarn_purgeable_begin(&p, tarn_heap{}, 0), -1);
  EXPECT_EQ(errno, EINVAL);
  int outside = 0;
  errno = 0;
  EXPECT_EQ(tarn_purgeable_adopt(&p, &outside), -1);
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_EQ(tarn_purgeable_adopt(&p, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(p.word, 0u);
  ASSERT_EQ(tarn_purgeable_begin(&p, tarn_heap{}, SIZE_MAX), 0);
  errno = 0;
  EXPECT_EQ(tarn_purgeable_refill(&p), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  errno = 0;
  EXPECT_EQ(tarn_purgeable_begin(&p, tarn_heap{}, 10), -1);
  EXPECT_EQ(errno, EBUSY);
  EXPECT_EQ(tarn_purgeable_end(&p), 0);
  EXPECT_EQ(p.word, 0u);
}

TEST_P(Purgeables, FromBeginningToEnd) {
  const Heap heap(options(0, GetParam()));
  tarn_purgeable p{};
  ASSERT_EQ(tarn_purgeable_begin(&p, heap, 5'000), 0);
  errno = 0;
  EXPECT_EQ(tarn_purgeable_lock(&p), nullptr);
  EXPECT_EQ(errno, 0) << "vanished is no error";
  EXPECT_EQ(tarn_purgeable_discard(&p), 0);
  auto* const filled = static_cast<char*>(tarn_purgeable_refill(&p));
  ASSERT_NE(filled, nullptr);
  EXPECT_TRUE(tarn_heap_owns(heap, filled));
  errno = 0;
  EXPECT_EQ(tarn_purgeable_lock(&p), nullptr);
  EXPECT_EQ(errno, EBUSY);
  EXPECT_EQ(tarn_purgeable_refill(&p), nullptr);
  EXPECT_EQ(errno, EBUSY);
  EXPECT_EQ(tarn_purgeable_end(&p), -1);
  EXPECT_EQ(errno, EBUSY);
  EXPECT_EQ(tarn_recover_heap(heap, SIZE_MAX, TARN_RECOVER_PURGEABLES, nullptr), 0u);
  std::memset(filled, 7, 5'000);
  tarn_purgeable_unlock(&p);
  EXPECT_EQ(tarn_purgeable_lock(&p), filled);
  EXPECT_EQ(tarn_purgeable_lock(&p), filled);
  tarn_purgeable_unlock(&p);
  // Pinned once.
  EXPECT_EQ(tarn_recover_heap(heap, SIZE_MAX, TARN_RECOVER_PURGEABLES, nullptr), 0u);
  for (auto* function : {tarn_purgeable_end, tarn_purgeable_discard}) {
    errno = 0;
    EXPECT_EQ(function(&p), -1);
    EXPECT_EQ(errno, EBUSY);
  }
  errno = 0;
  EXPECT_EQ(tarn_purgeable_refill(&p), nullptr);
  EXPECT_EQ(errno, EEXIST);
  EXPECT_EQ(filled[4'999], 7);
  tarn_purgeable_unlock(&p);
  const std::size_t usable = tarn_malloc_usable_size(filled);
  EXPECT_EQ(tarn_recover_heap(heap, SIZE_MAX, TARN_RECOVER_PURGEABLES, nullptr), usable);
  EXPECT_EQ(tarn_purgeable_lock(&p), nullptr);
  ASSERT_NE(tarn_purgeable_refill(&p), nullptr);
  tarn_purgeable_unlock(&p);
  EXPECT_EQ(tarn_purgeable_end(&p), 0);
  tarn_heap_stats stats = TARN_HEAP_STATS();
  EXPECT_EQ(tarn_heap_get_stats(heap, &stats), 0);
  EXPECT_EQ(stats.live_blocks, 0u);
}

TEST_P(Purgeables, ABlockThatIsThereIsAdopted) {
  const Heap heap(options(0, GetParam()));
  for (const std::size_t bytes : {40u, 5'000u, 500'000u}) {
    auto* const block = static_cast<char*>(tarn_heap_allocate(heap, bytes));
    block[bytes - 1] = 'x';
    tarn_purgeable p{};
    ASSERT_EQ(tarn_purgeable_adopt(&p, block), 0);
    errno = 0;
    EXPECT_EQ(tarn_purgeable_adopt(&p, block), -1);
    EXPECT_EQ(errno, EBUSY);
    EXPECT_EQ(tarn_purgeable_lock(&p), block);
    EXPECT_EQ(block[bytes - 1], 'x');
    tarn_purgeable_unlock(&p);
    EXPECT_GE(tarn_recover_heap(heap, 1, TARN_RECOVER_PURGEABLES, nullptr), bytes);
    EXPECT_EQ(tarn_purgeable_lock(&p), nullptr);
    void* const again = tarn_purgeable_refill(&p);
    ASSERT_NE(again, nullptr);
    EXPECT_GE(tarn_malloc_usable_size(again), bytes);
    EXPECT_EQ(tarn_purgeable_discard(&p), 0);
    EXPECT_EQ(tarn_purgeable_end(&p), 0);
  }
}

TEST_P(Purgeables, AtACeilingTheyVanishAndSaySo) {
  const Heap heap(options(4 * mib, GetParam()));
  std::vector<std::unique_ptr<Marked>> images;
  for (unsigned char i = 0; i < 16; ++i) {
    images.push_back(std::make_unique<Marked>(heap, 256 * kib - 64, i));
    ASSERT_TRUE(images.back()->fill());
  }
  void* const p = tarn_heap_allocate(heap, mib);
  ASSERT_NE(p, nullptr);
  int there = 0;
  for (auto& image : images) there += image->look();
  EXPECT_EQ(there, 12);
  for (auto& image : images) EXPECT_EQ(image->wrong(), 0);
  EXPECT_LE(committed(heap), 4 * mib);
  // And they come back in the place of others.
  for (auto& image : images) EXPECT_TRUE(image->look() || image->fill());
  tarn_free(p);
}

TEST_P(Purgeables, SmallBlocksVanishUntilAPageIsEmpty) {
  const Heap heap(options(mib, GetParam()));
  std::vector<std::unique_ptr<Marked>> small;
  for (int i = 0; i < 3'000; ++i) {
    small.push_back(std::make_unique<Marked>(heap, 300, static_cast<unsigned char>(i)));
    ASSERT_TRUE(small.back()->fill());
  }
  for (const std::size_t bytes : {200 * kib, 300 * kib, 5 * kib}) {
    void* const p = tarn_heap_allocate(heap, bytes);
    EXPECT_NE(p, nullptr) << bytes;
  }
  int there = 0;
  for (auto& one : small) there += one->look();
  EXPECT_LT(there, 2'000);
  for (auto& one : small) EXPECT_EQ(one->wrong(), 0);
}

// Approximately least recently used: what was locked since the hand came by gets a second chance.
TEST(PurgeableOrder, WhatWasUsedSinceGoesLast) {
  const Heap heap;
  std::vector<std::unique_ptr<Marked>> blocks;
  for (unsigned char i = 0; i < 10; ++i) {
    blocks.push_back(std::make_unique<Marked>(heap, 100 * kib, i));
    ASSERT_TRUE(blocks.back()->fill());
  }
  // All have been used; one vanishes, and all others lose their mark.
  EXPECT_GE(tarn_recover_heap(heap, 1, TARN_RECOVER_PURGEABLES, nullptr), 100 * kib);
  EXPECT_FALSE(blocks[0]->look());
  for (const std::size_t i : {1u, 2u, 5u, 9u}) EXPECT_TRUE(blocks[i]->look());
  EXPECT_GE(tarn_recover_heap(heap, 500 * kib, TARN_RECOVER_PURGEABLES, nullptr), 500 * kib);
  for (const std::size_t i : {1u, 2u, 5u, 9u}) EXPECT_TRUE(blocks[i]->look()) << i;
  for (const std::size_t i : {0u, 3u, 4u, 6u, 7u, 8u}) EXPECT_FALSE(blocks[i]->look()) << i;
}

TEST(PurgeableHeaps, OfOtherHeapsStayAtACeiling) {
  const Heap other;
  const Heap parent(options(2 * mib));
  tarn_heap_options below = options();
  below.parent = parent;
  const Heap child(below);
  const Heap sibling(below);
  Marked outside(other, 512 * kib, 1);
  Marked of_malloc(tarn_heap{}, 512 * kib, 2);
  Marked inside(child, 512 * kib, 3);
  Marked above(parent, 512 * kib, 4);
  for (Marked* p : {&outside, &of_malloc, &inside, &above}) ASSERT_TRUE(p->fill());
  void* const p = tarn_heap_allocate(sibling, 2 * mib);
  EXPECT_NE(p, nullptr);
  EXPECT_TRUE(outside.look());
  EXPECT_TRUE(of_malloc.look());
  EXPECT_FALSE(inside.look());
  EXPECT_FALSE(above.look());
  errno = 0;
  EXPECT_FALSE(inside.fill());
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_TRUE(outside.look());
  // All of them when the process wants it.
  EXPECT_GE(tarn_recover(SIZE_MAX, TARN_RECOVER_PURGEABLES), mib);
  EXPECT_FALSE(outside.look());
  EXPECT_FALSE(of_malloc.look());
}

TEST(PurgeableHeaps, AFullRegionHasItsOwnVanish) {
  alignas(4096) static char memory[mib];
  tarn_heap_options in_region = options();
  in_region.region = memory;
  in_region.region_bytes = sizeof memory;
  const Heap heap(in_region);
  Marked outside(tarn_heap{}, 100 * kib, 9);
  ASSERT_TRUE(outside.fill());
  std::vector<std::unique_ptr<Marked>> blocks;
  for (unsigned char i = 0; i < 6; ++i) {
    blocks.push_back(std::make_unique<Marked>(heap, 100 * kib, i));
    ASSERT_TRUE(blocks.back()->fill());
  }
  void* const p = tarn_heap_allocate(heap, 500 * kib);
  EXPECT_NE(p, nullptr);
  int there = 0;
  for (auto& block : blocks) there += block->look();
  EXPECT_LT(there, 6);
  EXPECT_TRUE(outside.look());
}

TEST(PurgeableHeaps, ASourceThatGivesNoMoreHasItsHeapsVanish) {
  struct Static {
    alignas(4096) char memory[4 * mib];
    bool taken = false;
  };
  static Static state;
  tarn_source source = TARN_SOURCE();
  source.context = &state;
  source.acquire = [](void* context, std::size_t bytes, std::size_t) {
    auto* const from = static_cast<Static*>(context);
    if (from->taken || bytes > sizeof from->memory) return tarn_chunk{};
    from->taken = true;
    return tarn_chunk{from->memory, sizeof from->memory};
  };
  tarn_heap_options from_source = options();
  from_source.source = &source;
  const Heap heap(from_source);
  Marked a(heap, mib, 1);
  Marked b(heap, mib, 2);
  ASSERT_TRUE(a.fill());
  ASSERT_TRUE(b.fill());
  EXPECT_NE(tarn_heap_allocate(heap, 3 * mib), nullptr);
  EXPECT_FALSE(a.look() && b.look());
}

TEST_P(Purgeables, AHeapThatEndsTakesThemAlong) {
  tarn_purgeable there{};
  tarn_purgeable gone{};
  tarn_purgeable locked{};
  const tarn_heap_options wanted = options(0, GetParam());
  const tarn_heap heap = tarn_heap_create(&wanted);
  for (tarn_purgeable* p : {&there, &locked}) {
    ASSERT_EQ(tarn_purgeable_begin(p, heap, 10'000), 0);
    ASSERT_NE(tarn_purgeable_refill(p), nullptr);
    tarn_purgeable_unlock(p);
  }
  ASSERT_EQ(tarn_purgeable_begin(&gone, heap, 100), 0);
  ASSERT_NE(tarn_purgeable_lock(&locked), nullptr);
  EXPECT_EQ(tarn_heap_destroy(heap), 0);
  for (tarn_purgeable* p : {&there, &gone, &locked}) {
    errno = 0;
    EXPECT_EQ(tarn_purgeable_lock(p), nullptr);
    EXPECT_EQ(errno, 0);
  }
  errno = 0;
  EXPECT_EQ(tarn_purgeable_end(&locked), -1);
  EXPECT_EQ(errno, EBUSY);
  tarn_purgeable_unlock(&locked);
  for (tarn_purgeable* p : {&there, &gone, &locked}) EXPECT_EQ(tarn_purgeable_end(p), 0);
}

TEST_P(Purgeables, AHeapThatIsClearedGoesOn) {
  const Heap heap(options(0, GetParam()));
  Marked p(heap, 3'000, 5);
  ASSERT_TRUE(p.fill());
  EXPECT_EQ(tarn_heap_clear(heap), 0);
  EXPECT_FALSE(p.look());
  EXPECT_TRUE(p.fill());
  EXPECT_TRUE(p.look());
  EXPECT_EQ(p.wrong(), 0);
}

TEST_P(Purgeables, ADeletedHeapLeavesThemToMalloc) {
  tarn_purgeable a{};
  tarn_purgeable b{};
  const tarn_heap_options wanted = options(0, GetParam());
  const tarn_heap heap = tarn_heap_create(&wanted);
  for (tarn_purgeable* p : {&a, &b}) {
    ASSERT_EQ(tarn_purgeable_begin(p, heap, 10'000), 0);
    void* const block = tarn_purgeable_refill(p);
    ASSERT_NE(block, nullptr);
    std::memset(block, 3, 10'000);
    tarn_purgeable_unlock(p);
  }
  ASSERT_EQ(tarn_heap_delete(heap), 0);
  const auto* const still = static_cast<const char*>(tarn_purgeable_lock(&a));
  ASSERT_NE(still, nullptr);
  EXPECT_EQ(still[9'999], 3);
  // Not b: it is not locked.
  EXPECT_GE(tarn_recover_heap(tarn_heap_main(), SIZE_MAX, TARN_RECOVER_PURGEABLES, nullptr),
            10'000u);
  EXPECT_EQ(tarn_purgeable_lock(&b), nullptr);
  EXPECT_EQ(still[0], 3);
  tarn_purgeable_unlock(&a);
  EXPECT_EQ(tarn_purgeable_end(&a), 0);
  EXPECT_EQ(tarn_purgeable_end(&b), 0);
}

TEST(PurgeableHeaps, OfAFrozenHeapNoneGoes) {
  const Heap heap;
  Marked p(heap, 3'000, 5);
  ASSERT_TRUE(p.fill());
  ASSERT_EQ(tarn_heap_freeze(heap), 0);
  EXPECT_EQ(tarn_recover_heap(heap, SIZE_MAX, TARN_RECOVER_PURGEABLES, nullptr), 0u);
  EXPECT_EQ(tarn_heap_thaw(heap), 0);
  EXPECT_TRUE(p.look());
  EXPECT_GE(tarn_recover_heap(heap, SIZE_MAX, TARN_RECOVER_PURGEABLES, nullptr), 3'000u);
}

// A cache that drops all it has when it is asked, while the thread fills one of these.
TEST(PurgeableHeaps, WhatIsBeingAllocatedCannotBeDroppedInACallback) {
  const Heap heap(options(mib));
  tarn_purgeable p{};
  ASSERT_EQ(tarn_purgeable_begin(&p, heap, 500 * kib), 0);
  Cache cache(heap);
  ASSERT_TRUE(cache.add(900 * kib));
  int calls = 0;
  const tarn::ReclaimerOptions bound = bound_to(heap);
  tarn::Reclaimer asked(
      [&](std::size_t wanted) {
        ++calls;
        for (auto* function : {tarn_purgeable_discard, tarn_purgeable_end}) {
          errno = 0;
          EXPECT_EQ(function(&p), -1);
          EXPECT_EQ(errno, EBUSY);
        }
        errno = 0;
        EXPECT_EQ(tarn_purgeable_lock(&p), nullptr);
        EXPECT_EQ(errno, EBUSY);
        EXPECT_EQ(tarn_purgeable_refill(&p), nullptr);
        return cache.give(wanted);
      },
      bound);
  void* const block = tarn_purgeable_refill(&p);
  EXPECT_EQ(calls, 1);
  ASSERT_NE(block, nullptr);
  std::memset(block, 1, 500 * kib);
  tarn_purgeable_unlock(&p);
  EXPECT_EQ(tarn_purgeable_lock(&p), block);
  tarn_purgeable_unlock(&p);
  // None to be had: it is as it was.
  EXPECT_EQ(tarn_purgeable_discard(&p), 0);
  ASSERT_TRUE(cache.add(900 * kib));
  asked.set_estimate(0);
  EXPECT_EQ(tarn_purgeable_refill(&p), nullptr);
  EXPECT_EQ(tarn_purgeable_discard(&p), 0);
  EXPECT_EQ(tarn_purgeable_end(&p), 0);
}

// A visitor that allocates at the ceiling: the blocks that the walk is at stay.
TEST(PurgeableHeaps, OfAHeapThatIsWalkedNoneGoes) {
  const Heap heap(options(mib));
  std::vector<std::unique_ptr<Marked>> blocks;
  for (unsigned char i = 0; i < 4; ++i) {
    blocks.push_back(std::make_unique<Marked>(heap, 200 * kib, i));
    ASSERT_TRUE(blocks.back()->fill());
  }
  struct Walk {
    tarn_heap heap;
    int visits;
    int allocated;
  } walk{heap, 0, 0};
  const auto visit = [](const tarn_heap_item*, void* context) {
    auto* const w = static_cast<Walk*>(context);
    ++w->visits;
    void* const p = tarn_heap_allocate(w->heap, 900 * kib);
    w->allocated += p != nullptr;
    tarn_recover(SIZE_MAX, TARN_RECOVER_PURGEABLES);
    return 0;
  };
  EXPECT_EQ(tarn_heap_walk(heap, 0, visit, &walk), 0);
  EXPECT_GE(walk.visits, 4);
  EXPECT_EQ(walk.allocated, 0);
  for (auto& block : blocks) EXPECT_TRUE(block->look());
  EXPECT_NE(tarn_heap_allocate(heap, 900 * kib), nullptr);
}

// Blocks of another thread's pages, of a thread that has ended, and of a heap that is locked.
TEST(PurgeableThreads, WhoRecoversNeedNotBeWhoAllocated) {
  for (const int threads : {TARN_HEAP_SHARED, TARN_HEAP_SERIALISED}) {
    const Heap heap(options(2 * mib, threads));
    std::vector<std::unique_ptr<Marked>> blocks;
    std::thread([&] {
      for (int i = 0; i < 1'000; ++i) {
        blocks.push_back(std::make_unique<Marked>(heap, 1'500, static_cast<unsigned char>(i)));
        ASSERT_TRUE(blocks.back()->fill());
      }
    }).join();
    ASSERT_EQ(tarn_heap_lock(heap), 0);
    void* const p = tarn_heap_allocate(heap, mib + 512 * kib);
    EXPECT_NE(p, nullptr);
    ASSERT_EQ(tarn_heap_unlock(heap), 0);
    for (auto& block : blocks) {
      block->look();
      EXPECT_EQ(block->wrong(), 0);
    }
  }
}

TEST(PurgeableModes, OfHeapsThatCheck) {
  for (const int mode : {TARN_MODE_CHECKED, TARN_MODE_GUARDED, TARN_MODE_PASSTHROUGH}) {
    tarn_heap_options wanted = options(mib);
    wanted.mode = mode;
    const Heap heap(wanted);
    std::vector<std::unique_ptr<Marked>> blocks;
    for (unsigned char i = 0; i < 9; ++i) {
      blocks.push_back(std::make_unique<Marked>(heap, 100'000, i));
      ASSERT_TRUE(blocks.back()->fill()) << mode;
    }
    void* const p = tarn_heap_allocate(heap, 800'000);
    EXPECT_NE(p, nullptr) << mode;
    int there = 0;
    for (auto& block : blocks) {
      there += block->look();
      EXPECT_EQ(block->wrong(), 0);
    }
    EXPECT_LE(there, 2) << mode;
    tarn_free(p);
  }
}

}  // namespace
}  // namespace recovering
