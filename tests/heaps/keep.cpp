// A heap that ends and keeps its blocks; a heap as what malloc serves a thread from; blocks of one
// size.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "../support/threads.hpp"
#include "heap.hpp"

namespace heaps {
namespace {

class Keep : public EachMode {};
INSTANTIATE_TEST_SUITE_P(Modes, Keep, every_mode);

TEST_P(Keep, BlocksOfADeletedHeapAreMallocs) {
  for (const int count : {0, 5, 3'000}) {
    const tarn_heap_options wanted = options(GetParam(), "gone");
    const tarn_heap heap = tarn_heap_create(&wanted);
    std::vector<void*> blocks;
    for (int i = 0; i < count; ++i) {
      const std::size_t bytes = 1 + static_cast<std::size_t>(i) * 13 % 2'000;
      blocks.push_back(tarn_heap_allocate(heap, bytes));
      fill(blocks.back(), bytes, static_cast<unsigned>(i));
    }
    if (count != 0) {
      blocks.push_back(tarn_heap_allocate(heap, mib));
      fill(blocks.back(), mib, static_cast<unsigned>(count));
    }
    ASSERT_EQ(tarn_heap_delete(heap), 0);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const bool last = i + 1 == blocks.size();
      const std::size_t bytes = last ? mib : 1 + i * 13 % 2'000;
      EXPECT_TRUE(same(tarn_heap_of(blocks[i]), tarn_heap_main())) << i;
      EXPECT_TRUE(is_filled(blocks[i], bytes, static_cast<unsigned>(i)));
      if (i % 3 == 0) blocks[i] = tarn_realloc(blocks[i], bytes + 100);
      EXPECT_TRUE(is_filled(blocks[i], bytes, static_cast<unsigned>(i)));
    }
    if (GetParam() == TARN_HEAP_SHARED) {
      std::thread([&] {
        for (void* const p : blocks) tarn_free(p);
      }).join();
    } else {
      for (void* const p : blocks) tarn_free(p);
    }
  }
}

TEST_P(Keep, AHeapIsDeletedWhileItsBlocksAreFreed) {
  if (GetParam() == TARN_HEAP_CONFINED) GTEST_SKIP() << "only its thread may free";
  constexpr std::size_t count = 20'000;
  for (int round = 0; round < 8; ++round) {
    const tarn_heap_options wanted = options(GetParam());
    const tarn_heap heap = tarn_heap_create(&wanted);
    std::vector<void*> blocks(count);
    std::atomic<std::size_t> freed{0};
    const bool own = round % 2 != 0;  // The blocks are of the thread that frees them.
    const auto allocate = [&] {
      for (void*& block : blocks) block = tarn_heap_allocate(heap, 48);
    };
    if (!own) allocate();
    std::thread freeing([&] {
      if (own) allocate();
      for (void* const block : blocks) {
        tarn_free(block);
        freed.fetch_add(1, std::memory_order_release);
      }
    });
    while (freed.load(std::memory_order_acquire) < 100) std::this_thread::yield();
    EXPECT_EQ(tarn_heap_delete(heap), 0);
    freeing.join();
  }
}

// Of ten sizes: what the mixed page is for.
std::vector<void*> ten_sizes(tarn_heap heap) {
  std::vector<void*> blocks;
  for (std::size_t i = 1; i <= 10; ++i) blocks.push_back(tarn_heap_allocate(heap, 16 * i));
  return blocks;
}

void free_all(std::vector<void*>& blocks) {
  for (void* const p : blocks) tarn_free(p);
  blocks.clear();
}

// Makes heaps until one is in the record; the zero value when none is. `others`: those before it.
tarn_heap heap_in(const void* record, std::vector<tarn_heap>& others) {
  for (int i = 0; i < 10'000; ++i) {
    const tarn_heap heap = tarn_heap_create(nullptr);
    if (heap.record == record) return heap;
    others.push_back(heap);
  }
  return {};
}

enum class MixedPageEnds { after_the_heap, with_it, before_it };
class KeepMixedPage : public testing::TestWithParam<MixedPageEnds> {};
INSTANTIATE_TEST_SUITE_P(When, KeepMixedPage,
                         testing::Values(MixedPageEnds::after_the_heap, MixedPageEnds::with_it,
                                         MixedPageEnds::before_it));

TEST_P(KeepMixedPage, OfADeletedHeapIsNoneOfTheRecordsNextOne) {
  const tarn_heap fresh = tarn_heap_create(nullptr);
  std::vector<void*> blocks = ten_sizes(fresh);
  const tarn_heap_stats wanted = stats_of(fresh);
  EXPECT_EQ(wanted.committed_bytes, slice);
  for (int i = 0; i < 40; ++i) {  // Classes leave the mixed page, and have pages.
    const std::vector<void*> more = ten_sizes(fresh);
    blocks.insert(blocks.end(), more.begin(), more.end());
  }
  if (GetParam() != MixedPageEnds::after_the_heap) free_all(blocks);
  if (GetParam() == MixedPageEnds::before_it) tarn_heap_trim(fresh, 0);
  ASSERT_EQ(tarn_heap_delete(fresh), 0);
  free_all(blocks);

  std::vector<tarn_heap> others;
  const tarn_heap next = heap_in(fresh.record, others);
  for (const tarn_heap other : others) EXPECT_EQ(tarn_heap_destroy(other), 0);
  ASSERT_FALSE(is_none(next)) << "the record has not come back";
  blocks = ten_sizes(next);
  const tarn_heap_stats stats = stats_of(next);
  EXPECT_EQ(stats.committed_bytes, wanted.committed_bytes);
  EXPECT_EQ(stats.pages, 1u);
  tarn_free(blocks.back());
  blocks.pop_back();
  EXPECT_EQ(stats_of(next).requested_is_exact, 1) << "all sizes are those of their blocks";
  EXPECT_EQ(stats_of(next).requested_bytes, wanted.requested_bytes - 160);
  free_all(blocks);
  EXPECT_EQ(tarn_heap_destroy(next), 0);
}

TEST(KeepMemory, ComesBackWhenTheBlocksAreFreed) {
  tarn_malloc_trim(0);
  const auto committed_now = [] {
    const auto account = std::make_unique<tarn_account>();
    EXPECT_EQ(tarn_process_account(account.get(), sizeof *account), 0);
    return account->committed_bytes;
  };
  const std::uint64_t before = committed_now();
  for (int round = 0; round < 20; ++round) {
    const tarn_heap heap = tarn_heap_create(nullptr);
    std::vector<void*> blocks;
    blocks.reserve(10'000);
    for (int i = 0; i < 5'000; ++i) blocks.push_back(tarn_heap_allocate(heap, 100));
    std::thread([&] {
      for (int i = 0; i < 5'000; ++i) blocks.push_back(tarn_heap_allocate(heap, 200));
    }).join();
    ASSERT_EQ(tarn_heap_delete(heap), 0);
    for (void* const p : blocks) tarn_free(p);
  }
  tarn_malloc_trim(0);
  EXPECT_LE(committed_now(), before + 256 * kib);
}

TEST(KeepErrors, MallocsHeapStays) {
  errno = 0;
  EXPECT_EQ(tarn_heap_delete(tarn_heap_main()), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(tarn_heap_delete({}), -1);
}

class Default : public EachMode {};
INSTANTIATE_TEST_SUITE_P(Modes, Default, every_mode);

TEST_P(Default, ServesTheMallocFamilyOfItsThread) {
  const Heap heap(GetParam());
  void* outside = tarn_malloc(10);
  const tarn_heap before = tarn_heap_set_default(heap);
  EXPECT_TRUE(same(before, tarn_heap_main()));
  for (const std::size_t bytes : {std::size_t{11}, std::size_t{300}, 9 * kib, 2 * mib, kib}) {
    outside = tarn_realloc(outside, bytes);
    EXPECT_TRUE(same(tarn_heap_of(outside), tarn_heap_main()));
  }
  std::vector<void*> blocks;
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{5'000}, 100 * kib, 3 * mib}) {
    blocks.push_back(tarn_malloc(bytes));
    blocks.push_back(tarn_calloc(1, bytes));
    EXPECT_TRUE(is_zero(blocks.back(), bytes));
    blocks.push_back(tarn_aligned_alloc(64, bytes));
    EXPECT_EQ(misaligned(blocks.back(), 64), 0u);
    blocks.push_back(tarn_realloc(nullptr, bytes + 1));
    blocks.push_back(tarn_realloc(tarn_malloc(bytes + 1), 2 * bytes + 10));
  }
  for (void* const p : blocks) EXPECT_EQ(tarn_heap_owns(heap, p), 1);
  void* elsewhere = nullptr;
  std::thread([&] { elsewhere = tarn_malloc(10); }).join();
  EXPECT_TRUE(same(tarn_heap_of(elsewhere), tarn_heap_main()));
  EXPECT_TRUE(same(tarn_heap_set_default(before), heap));
  void* const mine = tarn_malloc(10);
  EXPECT_TRUE(same(tarn_heap_of(mine), tarn_heap_main()));
  EXPECT_EQ(stats_of(heap).live_blocks, blocks.size());
  for (void* const p : blocks) tarn_free(p);
  expect_empty(heap);
  tarn_free(outside);
  tarn_free(mine);
  tarn_free(elsewhere);
}

TEST(DefaultOfANewThread, HoldsFromItsFirstAllocation) {
  const Heap heap;
  std::thread([&] {
    tarn_heap_set_default(heap);
    void* const p = tarn_malloc(10);
    EXPECT_EQ(tarn_heap_owns(heap, p), 1);
    tarn_heap_set_default({});
    void* const q = tarn_malloc(10);
    EXPECT_TRUE(same(tarn_heap_of(q), tarn_heap_main()));
    tarn_free(q);
  }).join();  // Ends with its default set back; the next test of a thread sees no trace.
}

class Fixed : public EachMode {};
INSTANTIATE_TEST_SUITE_P(Modes, Fixed, every_mode);

TEST_P(Fixed, BlocksLieSideBySideInTheirExactSize) {
  const Heap heap(GetParam());
  make_grown_up(heap);
  for (const std::size_t bytes : {8u, 20u, 24u, 40u, 41u, 48u, 1'001u, 5'000u, 131'072u}) {
    const std::size_t alignment = bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : 1;
    const tarn_fixed fixed = tarn_heap_fixed(heap, bytes, alignment);
    ASSERT_NE(fixed.record, nullptr) << bytes;
    std::vector<char*> blocks;
    for (int i = 0; i < 30; ++i) {
      auto* const p = static_cast<char*>(tarn_fixed_allocate(fixed));
      ASSERT_NE(p, nullptr);
      EXPECT_EQ(misaligned(p, alignment), 0u);
      EXPECT_EQ(usable(p), bytes);
      EXPECT_EQ(tarn_heap_owns(heap, p), 1);
      fill(p, bytes, static_cast<unsigned>(i));
      blocks.push_back(p);
    }
    EXPECT_EQ(blocks[1] - blocks[0], static_cast<std::ptrdiff_t>(bytes)) << "a gap between blocks";
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_TRUE(is_filled(blocks[i], bytes, static_cast<unsigned>(i)));
      tarn_free(blocks[i]);
    }
  }
}

TEST_P(Fixed, AreCountedExactlyAndEndWithTheHeap) {
  const Heap heap(GetParam());
  make_grown_up(heap);
  const tarn_fixed fixed = tarn_heap_fixed(heap, 36, 4);
  for (int i = 0; i < 10'000; ++i) ASSERT_NE(tarn_fixed_allocate(fixed), nullptr);
  EXPECT_EQ(stats_of(heap).live_bytes, 360'000u);
  EXPECT_EQ(tarn_heap_clear(heap), 0);
  expect_empty(heap);
  EXPECT_NE(tarn_fixed_allocate(fixed), nullptr);  // The heap, and so its sizes, live on.
}

TEST(FixedErrors, NumbersThatMakeNoSense) {
  const Heap heap;
  for (const std::size_t alignment : {0u, 3u, 24u, 8'192u}) {
    errno = 0;
    EXPECT_EQ(tarn_heap_fixed(heap, 16, alignment).record, nullptr);
    EXPECT_EQ(errno, EINVAL) << alignment;
  }
  EXPECT_EQ(tarn_heap_fixed(heap, 131'073, 1).record, nullptr);
  EXPECT_EQ(tarn_heap_fixed(heap, SIZE_MAX, 1).record, nullptr);
  EXPECT_EQ(tarn_heap_fixed({}, 16, 16).record, nullptr);
  errno = 0;
  EXPECT_EQ(tarn_fixed_allocate({}), nullptr);
  EXPECT_EQ(errno, EINVAL);
  const tarn_fixed a = tarn_heap_fixed(heap, 20, 4);
  const tarn_fixed again = tarn_heap_fixed(heap, 20, 4);
  EXPECT_EQ(a.id, again.id);
  for (std::size_t bytes = 9; bytes < 136; ++bytes) {
    EXPECT_NE(tarn_heap_fixed(heap, bytes, 1).record, nullptr) << bytes;
  }
  (void)tarn_heap_fixed(heap, 1'000, 1);
  errno = 0;
  EXPECT_EQ(tarn_heap_fixed(heap, 1'001, 1).record, nullptr);
  EXPECT_EQ(errno, ENOSPC);
}

TEST(FixedThreads, EachThreadHasPagesOfItsOwn) {
  const Heap heap;
  make_grown_up(heap);
  const tarn_fixed fixed = tarn_heap_fixed(heap, 56, 8);
  std::vector<std::vector<void*>> blocks(4);
  support::each_in_threads(blocks, [&](auto& own) {
    for (int i = 0; i < scaled(20'000); ++i) {
      own.push_back(tarn_fixed_allocate(fixed));
      fill(own.back(), 56, 1);
    }
  });
  std::size_t count = 0;
  for (const auto& own : blocks) {
    for (void* const p : own) {
      EXPECT_TRUE(is_filled(p, 56, 1));
      tarn_free(p);
      ++count;
    }
  }
  EXPECT_EQ(count, 4u * static_cast<std::size_t>(scaled(20'000)));
  expect_empty(heap);
}

}  // namespace
}  // namespace heaps
