// What a heap calls: reclaim at its ceiling, as long as that helps, and its soft mark, once each
// time that it is passed upwards.
//
// SPDX-License-Identifier: MIT
#include "heap.hpp"

namespace heaps {
namespace {

class Callbacks : public EachMode {};
INSTANTIATE_TEST_SUITE_P(Modes, Callbacks, every_mode);

// Blocks that may go, and who asked for that.
struct Cache {
  std::vector<void*> blocks;
  std::vector<tarn_heap> asked;
  std::vector<std::size_t> wanted;
  std::size_t at_once = 1;  // Blocks that go in one call.
};

std::size_t give_up_some(tarn_heap heap, std::size_t wanted_bytes, void* context) {
  auto* const cache = static_cast<Cache*>(context);
  cache->asked.push_back(heap);
  cache->wanted.push_back(wanted_bytes);
  std::size_t given = 0;
  for (std::size_t i = 0; i < cache->at_once && !cache->blocks.empty(); ++i) {
    given += usable(cache->blocks.back());
    tarn_heap_deallocate(cache->blocks.back());
    cache->blocks.pop_back();
  }
  return given;
}

tarn_heap_options caching(int threads, std::size_t ceiling, Cache* cache) {
  return reclaiming(threads, ceiling, give_up_some, cache);
}

TEST_P(Callbacks, ReclaimIsCalledUntilThereIsRoom) {
  Cache cache;
  const Heap heap(caching(GetParam(), 4 * mib, &cache));
  for (int i = 0; i < 8; ++i) cache.blocks.push_back(tarn_heap_allocate(heap, 512 * kib));
  EXPECT_EQ(cache.asked.size(), 0u);
  void* const p = tarn_heap_allocate(heap, mib + 512 * kib);
  EXPECT_NE(p, nullptr);
  EXPECT_EQ(cache.asked.size(), 3u);
  for (const tarn_heap asked : cache.asked) EXPECT_TRUE(same(asked, heap));
  for (const std::size_t wanted : cache.wanted) EXPECT_EQ(wanted, mib + 512 * kib);
  EXPECT_EQ(cache.blocks.size(), 5u);
}

TEST_P(Callbacks, ReclaimThatHasNothingEndsIt) {
  Cache cache;
  const Heap heap(caching(GetParam(), mib, &cache));
  cache.blocks.push_back(tarn_heap_allocate(heap, 512 * kib));
  errno = 0;
  EXPECT_EQ(tarn_heap_allocate(heap, 2 * mib), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(cache.asked.size(), 2u);  // One block, then none.
  EXPECT_EQ(committed(heap), 0u);
}

TEST_P(Callbacks, PagesThatReclaimHasEmptiedMakeRoomForAnySize) {
  for (const std::size_t bytes : {16u, 100u, 1000u, 5'000u}) {
    Cache cache;
    cache.at_once = 0;
    const Heap heap(caching(GetParam(), mib, &cache));
    make_grown_up(heap);
    // A page that is not full, so that it stays the current one when its block is freed.
    cache.blocks.push_back(tarn_heap_allocate(heap, 700));
    for (void* p; (p = tarn_heap_allocate(heap, bytes)) != nullptr;) cache.blocks.push_back(p);
    ASSERT_EQ(cache.asked.size(), 1u);
    cache.at_once = cache.blocks.size();
    void* const p = tarn_heap_allocate(heap, mib);
    EXPECT_NE(p, nullptr) << bytes;
    EXPECT_EQ(cache.asked.size(), 2u) << bytes;
  }
}

TEST_P(Callbacks, ReclaimIsAskedForEveryForm) {
  Cache cache;
  const Heap heap(caching(GetParam(), mib, &cache));
  const auto fill_up = [&] {
    cache.asked.clear();
    cache.blocks.push_back(tarn_heap_allocate(heap, mib));
    ASSERT_NE(cache.blocks.back(), nullptr);
  };
  fill_up();
  void* p = tarn_heap_allocate_zeroed(heap, 600, kib);
  ASSERT_NE(p, nullptr);
  EXPECT_TRUE(is_zero(p, 600 * kib));
  EXPECT_EQ(cache.asked.size(), 1u);
  tarn_heap_deallocate(p);

  fill_up();
  p = tarn_heap_allocate_aligned(heap, 64 * kib, 600 * kib);
  EXPECT_NE(p, nullptr);
  EXPECT_EQ(cache.asked.size(), 1u);
  tarn_heap_deallocate(p);

  p = tarn_malloc(100);
  fill(p, 100, 1);
  fill_up();
  p = tarn_heap_reallocate(heap, p, 700 * kib);
  ASSERT_NE(p, nullptr);
  EXPECT_TRUE(is_filled(p, 100, 1));
  EXPECT_EQ(cache.asked.size(), 1u);
  tarn_heap_deallocate(p);
}

TEST_P(Callbacks, AParentIsAskedForItsOwnCeiling) {
  Cache of_parent;
  Cache of_child;
  const Heap parent(caching(GetParam(), 2 * mib, &of_parent));
  tarn_heap_options wanted = caching(GetParam(), 4 * mib, &of_child);
  wanted.parent = parent;
  const Heap child(wanted);
  of_parent.blocks.push_back(tarn_heap_allocate(parent, 2 * mib));
  EXPECT_NE(tarn_heap_allocate(child, mib), nullptr);
  EXPECT_EQ(of_child.asked.size(), 0u);
  ASSERT_EQ(of_parent.asked.size(), 1u);
  EXPECT_TRUE(same(of_parent.asked[0], parent));
}

TEST_P(Callbacks, ADestroyedParentIsNotAsked) {
  // Its owner may have forgotten the context.
  Cache cache;
  Heap parent(caching(GetParam(), mib, &cache));
  tarn_heap_options wanted = options(GetParam());
  wanted.parent = parent;
  const Heap child(wanted);
  parent.destroy();
  EXPECT_NE(tarn_heap_allocate(child, 600 * kib), nullptr);
  EXPECT_EQ(tarn_heap_allocate(child, 600 * kib), nullptr);
  EXPECT_EQ(cache.asked.size(), 0u);
}

struct Busy {
  tarn_heap other;
  tarn_heap full;
  void* block = nullptr;
  int depth = 0;
  int calls = 0;
};

// Uses other heaps, makes and ends one, and asks the full heap itself for more.
std::size_t work_in_heaps(tarn_heap heap, std::size_t, void* context) {
  auto* const busy = static_cast<Busy*>(context);
  ++busy->calls;
  EXPECT_TRUE(same(heap, busy->full));
  if (busy->depth > 0) return 0;
  ++busy->depth;
  tarn_heap_deallocate(tarn_heap_allocate(busy->other, 100));
  tarn_free(tarn_malloc(100));
  { EXPECT_NE(tarn_heap_allocate(Heap(), 5'000), nullptr); }
  EXPECT_EQ(stats_of(heap).large_blocks, 1u);
  EXPECT_EQ(tarn_heap_allocate(heap, mib), nullptr) << "not called again, within";
  const std::size_t given = busy->block == nullptr ? 0 : usable(busy->block);
  tarn_heap_deallocate(busy->block);
  busy->block = nullptr;
  void* const small = tarn_heap_allocate(heap, 20);
  EXPECT_NE(small, nullptr);
  tarn_heap_deallocate(small);
  --busy->depth;
  return given;
}

TEST_P(Callbacks, ReclaimMayUseAnyHeap) {
  const Heap other(GetParam());
  Busy busy;
  busy.other = other;
  const Heap heap(reclaiming(GetParam(), mib, work_in_heaps, &busy));
  busy.full = heap;
  busy.block = tarn_heap_allocate(heap, mib);
  EXPECT_NE(tarn_heap_allocate(heap, 900 * kib), nullptr);
  EXPECT_EQ(busy.calls, 1);
}

std::size_t clear_it(tarn_heap heap, std::size_t, void* context) {
  ++*static_cast<int*>(context);
  return tarn_heap_clear(heap) == 0 && *static_cast<int*>(context) < 5 ? 1 : 0;
}

TEST_P(Callbacks, ReclaimMayClearTheHeap) {
  int calls = 0;
  const Heap heap(reclaiming(GetParam(), mib, clear_it, &calls));
  for (int i = 0; i < 100'000 && calls == 0; ++i) {
    ASSERT_NE(tarn_heap_allocate(heap, 100), nullptr);
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(stats_of(heap).live_blocks, 1u);
}

struct Marks {
  std::vector<tarn_heap> heaps;
  std::vector<std::size_t> bytes;
};

void note_soft_mark(tarn_heap heap, std::size_t committed_bytes, void* context) {
  auto* const marks = static_cast<Marks*>(context);
  marks->heaps.push_back(heap);
  marks->bytes.push_back(committed_bytes);
  tarn_heap_deallocate(tarn_heap_allocate(heap, 10));  // It may use the heap.
}

TEST_P(Callbacks, ASoftMarkIsCalledOnceForEachTimeItIsPassed) {
  Marks marks;
  const Heap heap(marked(GetParam(), mib, note_soft_mark, &marks));
  void* const first = tarn_heap_allocate(heap, mib - 2 * slice);
  void* const small = tarn_heap_allocate(heap, 5);
  EXPECT_EQ(marks.bytes.size(), 0u);
  for (std::size_t crossings = 1; crossings <= 3; ++crossings) {
    void* const second = tarn_heap_allocate(heap, mib);
    ASSERT_EQ(marks.bytes.size(), crossings);
    EXPECT_EQ(marks.bytes.back(), 2 * mib - slice);
    EXPECT_TRUE(same(marks.heaps.back(), heap));
    void* const third = tarn_heap_allocate(heap, mib);
    tarn_heap_deallocate(third);
    EXPECT_EQ(marks.bytes.size(), crossings);
    tarn_heap_deallocate(second);
  }
  tarn_heap_deallocate(first);
  tarn_heap_deallocate(small);
  EXPECT_EQ(marks.bytes.size(), 3u);
}

TEST_P(Callbacks, AMarkThatIsReachedIsNotPassed) {
  Marks marks;
  const Heap heap(marked(GetParam(), mib, note_soft_mark, &marks));
  void* const p = tarn_heap_allocate(heap, mib);
  tarn_heap_deallocate(p);
  EXPECT_EQ(marks.bytes.size(), 0u);
  ASSERT_NE(tarn_heap_allocate(heap, mib + 1), nullptr);
  EXPECT_EQ(marks.bytes, std::vector<std::size_t>{mib + slice});
}

TEST_P(Callbacks, AMarkMayBeMoved) {
  Marks marks;
  const Heap heap(marked(GetParam(), mib, note_soft_mark, &marks));
  void* const p = tarn_heap_allocate(heap, mib / 2);
  EXPECT_EQ(tarn_heap_set_soft_mark(heap, mib / 4), 0);  // Below what is there: passed already.
  EXPECT_NE(tarn_heap_allocate(heap, mib / 4), nullptr);
  EXPECT_EQ(marks.bytes.size(), 0u);
  EXPECT_EQ(tarn_heap_set_soft_mark(heap, 2 * mib), 0);
  EXPECT_NE(tarn_heap_allocate(heap, mib), nullptr);
  EXPECT_EQ(marks.bytes.size(), 0u);
  EXPECT_NE(tarn_heap_allocate(heap, mib), nullptr);
  EXPECT_EQ(marks.bytes.size(), 1u);
  EXPECT_EQ(tarn_heap_set_soft_mark(heap, 0), 0);
  EXPECT_NE(tarn_heap_allocate(heap, 10 * mib), nullptr);
  EXPECT_EQ(marks.bytes.size(), 1u);
  tarn_heap_deallocate(p);
}

TEST_P(Callbacks, SmallBlocksPassTheMark) {
  Marks marks;
  const Heap heap(marked(GetParam(), 100 * kib, note_soft_mark, &marks));
  std::size_t before = 0;
  while (marks.bytes.size() == 0 && before < mib) {
    before = committed(heap);
    ASSERT_NE(tarn_heap_allocate(heap, 300), nullptr);
  }
  ASSERT_EQ(marks.bytes.size(), 1u);
  EXPECT_LE(before, 100 * kib);
  EXPECT_GT(marks.bytes[0], 100 * kib);
}

// Even where there is warm memory to which it could be copied.
TEST_P(Callbacks, ABlockThatGrowsIsNotCountedTwice) {
  void* const warm = tarn_malloc(20 * mib);
  void* const after = tarn_malloc(mib);
  tarn_free(warm);
  Marks marks;
  const Heap heap(marked(GetParam(), 4 * mib, note_soft_mark, &marks));
  void* p = tarn_heap_allocate(heap, 2 * mib);
  void* const behind = tarn_heap_allocate(heap, 200 * kib);
  p = tarn_heap_reallocate(heap, p, 3 * mib);
  EXPECT_NE(p, nullptr);
  EXPECT_EQ(marks.bytes.size(), 0u);
  tarn_heap_deallocate(behind);
  tarn_free(after);
}

TEST_P(Callbacks, GrowingABlockPassesTheMark) {
  Marks marks;
  const Heap heap(marked(GetParam(), mib, note_soft_mark, &marks));
  void* p = tarn_heap_allocate(heap, 900 * kib);
  p = tarn_heap_reallocate(heap, p, 2 * mib);
  EXPECT_EQ(marks.bytes.size(), 1u);
  p = tarn_heap_reallocate(heap, p, 500 * kib);
  ASSERT_EQ(usable(p), 500 * kib);
  EXPECT_EQ(marks.bytes.size(), 1u);
  ASSERT_EQ(tarn_heap_try_expand(p, mib + 1), 1);
  EXPECT_EQ(marks.bytes.size(), 2u);
}

TEST_P(Callbacks, ChildrenPassTheMarkOfTheirParent) {
  Marks marks;
  const Heap parent(marked(GetParam(), mib, note_soft_mark, &marks));
  tarn_heap_options wanted = options(GetParam());
  wanted.parent = parent;
  const Heap a(wanted);
  const Heap b(wanted);
  ASSERT_NE(tarn_heap_allocate(a, 600 * kib), nullptr);
  EXPECT_EQ(marks.bytes.size(), 0u);
  ASSERT_NE(tarn_heap_allocate(b, 600 * kib), nullptr);
  ASSERT_EQ(marks.bytes.size(), 1u);
  EXPECT_TRUE(same(marks.heaps[0], parent));
}

TEST_P(Callbacks, WhatWasRefusedHasPassedNothing) {
  Marks marks;
  tarn_heap_options wanted = options(GetParam());
  wanted.ceiling_bytes = mib;
  const Heap parent(wanted);
  wanted = marked(GetParam(), mib, note_soft_mark, &marks);
  wanted.parent = parent;
  const Heap child(wanted);
  EXPECT_EQ(tarn_heap_allocate(child, 2 * mib), nullptr);
  ASSERT_NE(tarn_heap_allocate(child, 600 * kib), nullptr);
  EXPECT_EQ(tarn_heap_allocate(child, 600 * kib), nullptr);
  EXPECT_EQ(tarn_heap_allocate(child, opaque(PTRDIFF_MAX)), nullptr);
  ASSERT_NE(tarn_heap_allocate(child, 10), nullptr);
  EXPECT_EQ(marks.bytes.size(), 0u);
}

TEST_P(Callbacks, TheMarkOfADestroyedParentIsForgotten) {
  Marks marks;
  Heap parent(marked(GetParam(), mib, note_soft_mark, &marks));
  tarn_heap_options wanted = options(GetParam());
  wanted.parent = parent;
  const Heap child(wanted);
  parent.destroy();
  ASSERT_NE(tarn_heap_allocate(child, 2 * mib), nullptr);
  EXPECT_EQ(marks.bytes.size(), 0u);
}

}  // namespace
}  // namespace heaps
