// Frozen heaps: what may be done with them, what is refused and how, and that they go on when they
// are thawed.
//
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "../support/child.hpp"
#include "../support/threads.hpp"
#include "heap.hpp"

namespace heaps {
namespace {

alignas(4096) std::byte static_memory[2 * mib];

enum Kind { plain, separate, in_region, serialised, confined };

class Frozen : public testing::TestWithParam<Kind> {
 protected:
  static tarn_heap_options wanted() {
    const Kind kind = GetParam();
    tarn_heap_options made = options(kind == serialised ? TARN_HEAP_SERIALISED
                                     : kind == confined ? TARN_HEAP_CONFINED
                                                        : TARN_HEAP_SHARED,
                                     "read only");
    if (kind == separate) made.flags = TARN_HEAP_SEPARATE;
    if (kind == in_region) {
      made.region = static_memory;
      made.region_bytes = sizeof static_memory;
    }
    return made;
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, Frozen,
                         testing::Values(plain, separate, in_region, serialised, confined));
using FrozenDeathTest = Frozen;
INSTANTIATE_TEST_SUITE_P(Kinds, FrozenDeathTest,
                         testing::Values(plain, separate, in_region, serialised, confined));

struct Filled {
  std::vector<std::pair<void*, std::size_t>> blocks;

  explicit Filled(tarn_heap heap, int small = 500) {
    add(heap, 40);
    for (int i = 0; i < small; ++i) add(heap, static_cast<std::size_t>(i % 300 + 1));
    add(heap, 5000);
    add(heap, 200 * kib);
    tarn_free(blocks[10].first);  // A free block, and a page with room.
    blocks.erase(blocks.begin() + 10);
  }
  void add(tarn_heap heap, std::size_t bytes) {
    void* const p = tarn_heap_allocate(heap, bytes);
    ASSERT_NE(p, nullptr);
    fill(p, bytes, static_cast<unsigned>(bytes));
    blocks.emplace_back(p, bytes);
  }
  bool whole() const {
    for (const auto& [p, bytes] : blocks) {
      if (!is_filled(p, bytes, static_cast<unsigned>(bytes))) return false;
    }
    return true;
  }
};

int count(const tarn_heap_item* item, void* context) {
  const bool block = item->kind == TARN_HEAP_BLOCK || item->kind == TARN_HEAP_LARGE_BLOCK;
  if (block) ++*static_cast<std::size_t*>(context);
  return 0;
}

TEST_P(Frozen, IsReadWalkedAndAsked) {
  const Heap heap(wanted());
  const Filled filled(heap);
  const tarn_heap_stats before = stats_of(heap);
  ASSERT_EQ(tarn_heap_freeze(heap), 0);
  EXPECT_EQ(tarn_heap_freeze(heap), 0);
  EXPECT_TRUE(filled.whole());
  std::size_t seen = 0;
  EXPECT_EQ(tarn_heap_walk(heap, 0, count, &seen), 0);
  EXPECT_EQ(seen, filled.blocks.size());
  EXPECT_EQ(stats_of(heap).live_bytes, before.live_bytes);
  for (const auto& [p, bytes] : filled.blocks) {
    EXPECT_TRUE(tarn_heap_owns(heap, p));
    EXPECT_GE(usable(p), bytes);
  }
  EXPECT_EQ(tarn_heap_lock(heap), 0);
  EXPECT_EQ(tarn_heap_unlock(heap), 0);
  EXPECT_EQ(tarn_heap_trim(heap, 0), 0u);
  tarn_malloc_trim(0);
  tarn_thread_idle();
  EXPECT_TRUE(filled.whole());
}

TEST_P(Frozen, RefusesWhatWouldWrite) {
  const Heap heap(wanted());
  const Filled filled(heap);
  ASSERT_EQ(tarn_heap_freeze(heap), 0);
  for (const std::size_t bytes : {1u, 40u, 300u, 5000u, 300000u}) {
    errno = 0;
    EXPECT_EQ(tarn_heap_allocate(heap, bytes), nullptr);
    EXPECT_EQ(errno, EPERM);
    errno = 0;
    EXPECT_EQ(tarn_heap_allocate_zeroed(heap, 1, bytes), nullptr);
    EXPECT_EQ(errno, EPERM);
  }
  const tarn_fixed fixed = tarn_heap_fixed(heap, 24, 8);
  ASSERT_NE(fixed.record, nullptr);
  errno = 0;
  EXPECT_EQ(tarn_fixed_allocate(fixed), nullptr);
  EXPECT_EQ(errno, EPERM);
  errno = 0;
  EXPECT_EQ(tarn_heap_clear(heap), -1);
  EXPECT_EQ(errno, EPERM);
  errno = 0;
  EXPECT_EQ(tarn_heap_delete(heap), -1);
  EXPECT_TRUE(errno == EPERM || errno == ENOTSUP);
  const auto& [large, bytes] = filled.blocks.back();
  EXPECT_EQ(tarn_heap_try_expand(large, 3 * mib), 0);
  errno = 0;
  EXPECT_EQ(tarn_heap_reallocate(heap, large, 3 * mib), nullptr);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(tarn_realloc(filled.blocks[0].first, 700), nullptr);
  EXPECT_TRUE(filled.whole());
}

TEST_P(Frozen, GoesOnWhenItIsThawed) {
  const Heap heap(wanted());
  for (int turn = 0; turn < 3; ++turn) {
    const Filled filled(heap);
    ASSERT_EQ(tarn_heap_freeze(heap), 0);
    EXPECT_TRUE(filled.whole());
    ASSERT_EQ(tarn_heap_thaw(heap), 0);
    EXPECT_EQ(tarn_heap_thaw(heap), 0);
    const Filled more(heap);
    EXPECT_TRUE(filled.whole() && more.whole());
    for (const auto& [p, bytes] : filled.blocks) {
      fill(p, bytes, 0);
      tarn_free(p);
    }
    EXPECT_TRUE(more.whole());
    for (const auto& [p, bytes] : more.blocks) tarn_free(p);
    expect_empty(heap);
  }
}

TEST_P(Frozen, EndsLikeAnyOther) {
  for (int turn = 0; turn < 3; ++turn) {
    const Heap heap(wanted());
    const Filled filled(heap);
    ASSERT_EQ(tarn_heap_freeze(heap), 0);
  }
  // What it had is there for others, and writable.
  const Heap heap(wanted());
  const Filled filled(heap, 3000);
  EXPECT_TRUE(filled.whole());
}

TEST_P(Frozen, YoungHeaps) {
  const Heap heap(wanted());
  void* const p = tarn_heap_allocate(heap, 100);
  fill(p, 100, 1);
  ASSERT_EQ(tarn_heap_freeze(heap), 0);
  EXPECT_EQ(tarn_heap_try_expand(p, 900), 0);
  EXPECT_EQ(tarn_heap_allocate(heap, 10), nullptr);
  ASSERT_EQ(tarn_heap_thaw(heap), 0);
  EXPECT_NE(tarn_heap_allocate(heap, 10), nullptr);
  tarn_free(p);
}

TEST_P(Frozen, OtherThreadsRead) {
  if (GetParam() == confined) GTEST_SKIP() << "there is one thread";
  const Heap heap(wanted());
  std::atomic<bool> frozen{false};
  std::atomic<bool> done{false};
  std::atomic<int> ready{0};
  std::vector<std::vector<void*>> freed_later(3);
  support::Threads threads(std::size_t{3}, [&](std::size_t id) {
    const Filled filled(heap, 200);
    for (const auto& [p, bytes] : filled.blocks) freed_later[id].push_back(p);
    ++ready;
    while (!done) {
      EXPECT_TRUE(filled.whole());
      tarn_free(tarn_malloc(100000));  // Reads its mail now and then.
      if (frozen) {
        EXPECT_EQ(tarn_heap_allocate(heap, 50), nullptr);
      }
    }
  });
  while (ready != 3) std::this_thread::yield();
  ASSERT_EQ(tarn_heap_freeze(heap), 0);
  frozen = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  done = true;
  threads.join();
  ASSERT_EQ(tarn_heap_thaw(heap), 0);
  for (const auto& blocks : freed_later) {
    for (void* const p : blocks) tarn_free(p);
  }
}

// What others have freed before waits in the mail of the blocks' thread, which has other mail too.
TEST_P(Frozen, MailThatWaitsIsDeliveredWhenItIsThawed) {
  if (GetParam() == confined) GTEST_SKIP() << "there is one thread";
  const Heap heap(wanted());
  Heap another;
  std::atomic<int> step{0};
  std::vector<void*> blocks;
  std::thread owner([&] {
    make_grown_up(heap);
    make_grown_up(another);
    for (int i = 0; i < 2000; ++i) blocks.push_back(tarn_heap_allocate(heap, 200));
    EXPECT_NE(tarn_heap_allocate(another, 200), nullptr);
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  for (void* const p : blocks) tarn_free(p);
  ASSERT_EQ(tarn_heap_freeze(heap), 0);
  tarn_heap_trim(another, 0);
  another.destroy();
  ASSERT_EQ(tarn_heap_thaw(heap), 0);
  EXPECT_EQ(tarn_heap_clear(heap), 0);
  step = 2;
  owner.join();
}

TEST_P(Frozen, StaysSoInTheChildOfAFork) {
  const Heap heap(wanted());
  const Filled filled(heap);
  ASSERT_EQ(tarn_heap_freeze(heap), 0);
  const int status = support::status_of_child([&] {
    int failed = tarn_heap_allocate(heap, 10) == nullptr ? 0 : 1;
    if (tarn_heap_thaw(heap) != 0 || tarn_heap_allocate(heap, 10) == nullptr) failed |= 2;
    for (const auto& [p, bytes] : filled.blocks) tarn_free(p);
    if (tarn_heap_destroy(heap) != 0) failed |= 4;
    return failed;
  });
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(filled.whole());
  EXPECT_EQ(tarn_heap_allocate(heap, 10), nullptr);
}

TEST(FrozenLimits, PiecesOfHeapsInCommonMemory) {
  const Heap heap(options(TARN_HEAP_SHARED, "pieces"));
  const Heap other(options(TARN_HEAP_SHARED, "other"));
  EXPECT_NE(tarn_heap_allocate(other, 10), nullptr);
  for (int i = 0; i < 16384; ++i) ASSERT_NE(tarn_heap_allocate(heap, 132 * kib), nullptr);
  ASSERT_EQ(tarn_heap_freeze(heap), 0);
  errno = 0;
  EXPECT_EQ(tarn_heap_freeze(other), -1);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_NE(tarn_heap_allocate(other, 10), nullptr);
  ASSERT_EQ(tarn_heap_thaw(heap), 0);
  EXPECT_EQ(tarn_heap_freeze(other), 0);
}

TEST(FrozenOptions, NotHeapsThatLookAtTheirBlocks) {
  for (int mode = TARN_MODE_CHECKED; mode <= TARN_MODE_PASSTHROUGH; ++mode) {
    tarn_heap_options wanted = options();
    wanted.mode = mode;
    const Heap heap(wanted);
    errno = 0;
    EXPECT_EQ(tarn_heap_freeze(heap), -1);
    EXPECT_EQ(errno, ENOTSUP);
  }
}

TEST(FrozenOptions, NotMallocsHeapAndNotWithinAWalk) {
  errno = 0;
  EXPECT_EQ(tarn_heap_freeze(tarn_heap_main()), -1);
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_EQ(tarn_heap_freeze(tarn_heap{}), -1);
  EXPECT_EQ(errno, EINVAL);
  const Heap heap;
  EXPECT_NE(tarn_heap_allocate(heap, 10), nullptr);
  tarn_heap handle = heap;
  const auto visit = [](const tarn_heap_item*, void* context) {
    errno = 0;
    return tarn_heap_freeze(*static_cast<tarn_heap*>(context)) == -1 && errno == EBUSY ? 5 : 6;
  };
  EXPECT_EQ(tarn_heap_walk(heap, 0, visit, &handle), 5);
}

[[gnu::noinline]] void write_to(void* p) { *static_cast<volatile char*>(p) = 1; }

TEST_P(FrozenDeathTest, WritesFaultAndFreesAreReported) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Heap heap(wanted());
  const Filled filled(heap);
  ASSERT_EQ(tarn_heap_freeze(heap), 0);
  for (const std::size_t i : {std::size_t{0}, std::size_t{200}, filled.blocks.size() - 1}) {
    void* const p = filled.blocks[i].first;
    EXPECT_DEATH(write_to(p), "");
    EXPECT_EXIT(tarn_free(p), testing::KilledBySignal(SIGABRT),
                "tarn: frozen heap: free: the heap \"read only\"");
  }
  if (GetParam() == confined) return;
  EXPECT_EXIT(std::thread([&] { tarn_free(filled.blocks[200].first); }).join(),
              testing::KilledBySignal(SIGABRT), "tarn: frozen heap: free");
}

}  // namespace
}  // namespace heaps
