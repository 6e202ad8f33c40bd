// Walks, locks, enumeration, floor and trim: what is asked of a heap as a whole.
//
// SPDX-License-Identifier: MIT
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "heap.hpp"

namespace heaps {
namespace {

struct Found {
  std::map<void*, std::size_t> blocks;
  std::map<void*, std::size_t> large;
  std::set<void*> free_blocks;
  std::uint64_t pages = 0;
  std::uint64_t promised = 0;  // Live blocks, by the pages.
  std::size_t stop_after = SIZE_MAX;
};

int note(const tarn_heap_item* item, void* context) {
  auto& found = *static_cast<Found*>(context);
  switch (item->kind) {
    case TARN_HEAP_PAGE:
      ++found.pages;
      found.promised += item->live_blocks;
      EXPECT_EQ(misaligned(item->start, slice), 0u);
      break;
    case TARN_HEAP_BLOCK: EXPECT_TRUE(found.blocks.emplace(item->start, item->bytes).second); break;
    case TARN_HEAP_FREE_BLOCK: EXPECT_TRUE(found.free_blocks.insert(item->start).second); break;
    case TARN_HEAP_LARGE_BLOCK:
      EXPECT_TRUE(found.large.emplace(item->start, item->bytes).second);
      break;
    default: ADD_FAILURE() << "kind " << item->kind;
  }
  return --found.stop_after == 0 ? 77 : 0;
}

Found walk(tarn_heap heap, unsigned flags = 0) {
  Found found;
  EXPECT_EQ(tarn_heap_walk(heap, flags, note, &found), 0);
  return found;
}

class Walk : public EachMode {};
INSTANTIATE_TEST_SUITE_P(Modes, Walk, every_mode);

TEST_P(Walk, FindsEachLiveBlockOnceAndNothingElse) {
  const Heap heap(GetParam());
  EXPECT_TRUE(walk(heap).blocks.empty());
  std::map<void*, std::size_t> live;
  std::size_t i = 0;
  for (const std::size_t count : {10u, 100u, 3'000u}) {
    for (; i < count; ++i) {
      const std::size_t bytes = i * 37 % 5'000;
      void* const p = tarn_heap_allocate(heap, bytes);
      ASSERT_NE(p, nullptr);
      live[p] = usable(p);
    }
    for (auto block = live.begin(); block != live.end();) {
      if (reinterpret_cast<std::uintptr_t>(block->first) / 16 % 3 != 0) {
        ++block;
        continue;
      }
      tarn_heap_deallocate(block->first);
      block = live.erase(block);
    }
    const Found found = walk(heap);
    EXPECT_EQ(found.blocks, live) << count;
    EXPECT_EQ(found.promised, live.size());
    const tarn_heap_stats stats = stats_of(heap);
    EXPECT_EQ(stats.live_blocks, live.size());
    EXPECT_EQ(stats.pages, found.pages);
  }
}

TEST_P(Walk, FindsLargeBlocksAndFreeOnes) {
  const Heap heap(GetParam());
  make_grown_up(heap);
  void* const large = tarn_heap_allocate(heap, 3 * mib);
  std::set<void*> freed;
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(tarn_heap_allocate(heap, 40));
  for (int i = 0; i < 100; i += 2) {
    tarn_heap_deallocate(blocks[static_cast<std::size_t>(i)]);
    freed.insert(blocks[static_cast<std::size_t>(i)]);
  }
  const Found found = walk(heap, TARN_HEAP_WALK_FREE);
  EXPECT_EQ(found.large.size(), 1u);
  EXPECT_EQ(found.large.count(large), 1u);
  EXPECT_EQ(found.blocks.size(), 50u);
  for (void* const p : freed) EXPECT_EQ(found.free_blocks.count(p), 1u);
  EXPECT_TRUE(walk(heap).free_blocks.empty());
}

TEST_P(Walk, FindsBlocksThatOtherThreadsHaveMadeAndFreed) {
  if (GetParam() == TARN_HEAP_CONFINED) GTEST_SKIP() << "one thread's alone";
  const Heap heap(GetParam());
  std::set<void*> live;
  std::vector<void*> mine;
  for (int i = 0; i < 500; ++i) mine.push_back(tarn_heap_allocate(heap, 100));
  std::thread([&] {
    for (int i = 0; i < 500; ++i) live.insert(tarn_heap_allocate(heap, 100));
    for (std::size_t i = 0; i < mine.size(); i += 2) tarn_heap_deallocate(mine[i]);
  }).join();
  for (std::size_t i = 1; i < mine.size(); i += 2) live.insert(mine[i]);
  const Found found = walk(heap);
  EXPECT_EQ(found.blocks.size(), live.size());
  for (void* const p : live) EXPECT_EQ(found.blocks.count(p), 1u);
}

TEST_P(Walk, EndsWhereTheVisitorSaysSo) {
  const Heap heap(GetParam());
  for (int i = 0; i < 50; ++i) (void)!tarn_heap_allocate(heap, 100);
  Found found;
  found.stop_after = 7;
  EXPECT_EQ(tarn_heap_walk(heap, 0, note, &found), 77);
  EXPECT_EQ(found.blocks.size() + found.pages, 7u);
}

int free_it(const tarn_heap_item* item, void*) {
  if (item->kind != TARN_HEAP_PAGE) tarn_heap_deallocate(item->start);
  return 0;
}

int allocate_more(const tarn_heap_item* item, void* context) {
  if (item->kind == TARN_HEAP_PAGE) return 0;
  EXPECT_NE(tarn_heap_allocate(*static_cast<tarn_heap*>(context), 300), nullptr);
  return 0;
}

TEST_P(Walk, VisitorMayFreeWhatItSeesAndAllocate) {
  const Heap heap(GetParam());
  for (const int count : {10, 5'000}) {
    for (int i = 0; i < count; ++i) {
      (void)!tarn_heap_allocate(heap, static_cast<std::size_t>(i) % 700);
    }
    (void)!tarn_heap_allocate(heap, 2 * mib);
    tarn_heap handle = heap.handle();
    if (count == 10) {
      EXPECT_EQ(tarn_heap_walk(heap, 0, allocate_more, &handle), 0);
    }
    EXPECT_EQ(tarn_heap_walk(heap, 0, free_it, nullptr), 0);
    expect_empty(heap);
    tarn_heap_clear(heap);
  }
}

TEST(WalkErrors, NoHeapNoVisitorUnknownFlags) {
  const Heap heap;
  errno = 0;
  EXPECT_EQ(tarn_heap_walk(heap, 0, nullptr, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(tarn_heap_walk(heap, 2, note, nullptr), -1);
  EXPECT_EQ(tarn_heap_walk(tarn_heap{}, 0, note, nullptr), -1);
  errno = 0;
  EXPECT_EQ(tarn_heap_walk(tarn_heap_main(), 0, note, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(Lock, KeepsOtherThreadsOutUntilUnlocked) {
  for (const int threads : {TARN_HEAP_SHARED, TARN_HEAP_SERIALISED}) {
    const Heap heap(threads);
    std::atomic<int> done{0};
    std::atomic<bool> started{false};
    (void)!tarn_heap_allocate(heap, 10);
    ASSERT_EQ(tarn_heap_lock(heap), 0);
    ASSERT_EQ(tarn_heap_lock(heap), 0);
    std::thread other([&] {
      started = true;
      for (int i = 0; i < 100; ++i) (void)!tarn_heap_allocate(heap, 100);
      done = 1;
    });
    while (!started) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(done, 0);
    EXPECT_EQ(stats_of(heap).live_blocks, 1u);
    EXPECT_NE(tarn_heap_allocate(heap, 10), nullptr);  // The holder may.
    EXPECT_EQ(tarn_heap_unlock(heap), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(done, 0);  // Still once.
    EXPECT_EQ(tarn_heap_unlock(heap), 0);
    other.join();
    EXPECT_EQ(stats_of(heap).live_blocks, 102u);
    errno = 0;
    EXPECT_EQ(tarn_heap_unlock(heap), -1);
    EXPECT_EQ(errno, EPERM);
  }
}

TEST(Enumeration, ShowsMallocsHeapAndAllOthersInOrder) {
  const Heap a(options(TARN_HEAP_SHARED, "a"));
  std::vector<tarn_heap> seen;
  const auto look = [&] {
    seen.clear();
    for (tarn_heap h = tarn_heap_next({}); !is_none(h); h = tarn_heap_next(h)) seen.push_back(h);
  };
  look();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_TRUE(same(seen[0], tarn_heap_main()));
  EXPECT_TRUE(same(seen[1], a));
  {
    const Heap b;
    look();
    ASSERT_EQ(seen.size(), 3u);
    EXPECT_TRUE(same(seen[2], b));
  }
  look();
  EXPECT_EQ(seen.size(), 2u);
}

TEST(Trim, GivesEmptyPagesOfAllThreadsBack) {
  const Heap heap;
  std::vector<void*> blocks;
  for (int i = 0; i < 20'000; ++i) blocks.push_back(tarn_heap_allocate(heap, 100));
  std::atomic<int> phase{0};
  std::thread other([&] {  // Alive all the time; its pages are emptied by the first thread.
    std::vector<void*> own;
    for (int i = 0; i < 20'000; ++i) own.push_back(tarn_heap_allocate(heap, 100));
    for (void* const p : own) blocks.push_back(p);
    phase = 1;
    while (phase != 2) std::this_thread::yield();
  });
  while (phase != 1) std::this_thread::yield();
  for (void* const p : blocks) tarn_heap_deallocate(p);
  const std::size_t before = committed(heap);
  const std::size_t given = tarn_heap_trim(heap, 0);
  EXPECT_EQ(committed(heap), before - given);
  EXPECT_EQ(committed(heap), 0u);
  phase = 2;
  other.join();
}

TEST(Trim, KeepsTheFloorAndWhatItIsToldToKeep) {
  tarn_heap_options wanted = options();
  wanted.floor_bytes = 256 * kib;
  const Heap heap(wanted);
  const auto use = [&] {
    std::vector<void*> blocks;
    for (int i = 0; i < 20'000; ++i) blocks.push_back(tarn_heap_allocate(heap, 100));
    for (void* const p : blocks) tarn_heap_deallocate(p);
  };
  use();
  EXPECT_GE(committed(heap), 256 * kib);
  tarn_heap_trim(heap, 512 * kib);
  const std::size_t kept = committed(heap);
  EXPECT_GE(kept, 256 * kib);
  tarn_heap_trim(heap, 0);
  EXPECT_GE(committed(heap), 256 * kib);
  EXPECT_LE(committed(heap), kept);
  EXPECT_EQ(tarn_heap_trim({}, 0), 0u);
  use();  // What was kept serves again.
  EXPECT_EQ(tarn_heap_clear(heap), 0);
  EXPECT_EQ(committed(heap), 0u);
}

TEST(Trim, AFloorDoesNotKeepACeilingsMemoryFromOtherSizes) {
  tarn_heap_options wanted = options();
  wanted.floor_bytes = 512 * kib;
  wanted.ceiling_bytes = 600 * kib;
  const Heap heap(wanted);
  std::vector<void*> blocks;
  while (void* const p = tarn_heap_allocate(heap, 48)) blocks.push_back(p);
  for (void* const p : blocks) tarn_heap_deallocate(p);
  void* const large = tarn_heap_allocate(heap, 500 * kib);
  EXPECT_NE(large, nullptr);
}

// What an idle thread has left is given back by whoever frees the last block of it.
TEST(Idle, MemoryDoesNotWaitForTheThread) {
  const Heap heap;
  std::vector<void*> blocks;
  std::atomic<int> phase{0};
  std::thread other([&] {
    for (int i = 0; i < 20'000; ++i) blocks.push_back(tarn_heap_allocate(heap, 100));
    tarn_thread_idle();
    phase = 1;
    while (phase != 2) std::this_thread::yield();
    EXPECT_NE(tarn_heap_allocate(heap, 100), nullptr);
  });
  while (phase != 1) std::this_thread::yield();
  for (void* const p : blocks) tarn_heap_deallocate(p);
  EXPECT_EQ(stats_of(heap).live_blocks, 0u);
  phase = 2;
  other.join();
  // The thread's mail: all but what its last allocation kept.
  EXPECT_LE(committed(heap), 512 * kib);
}

}  // namespace
}  // namespace heaps
