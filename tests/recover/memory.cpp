// The process out of memory: reserving fails beyond a limit, and calls of the OS fail one after the
// other. What owners can give comes back then, in malloc and in all heaps; without them null.
//
// SPDX-License-Identifier: MIT
#include <new>

#include "engine/store/store.hpp"
#include "platform/os/fake/fake.hpp"
#include "recover.hpp"

namespace recovering {
namespace {

// Nothing more is reserved as long as it lives, beyond what there is and `bytes`.
class Limit {
 public:
  explicit Limit(std::size_t bytes) {
    tarn_recover(SIZE_MAX, TARN_RECOVER_SPARE);
    tarn::os::fake::limit_bytes(tarn::os::fake::bytes_reserved() + bytes);
  }
  ~Limit() { tarn::os::fake::limit_bytes(0); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;
};

constexpr std::size_t limit_bytes = 192 * mib;

class Memory : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Memory, testing::Values(200, 20'000, 1'000'000));

// As many bytes of purgeables as fit in no memory: all can be filled, and the oldest have vanished.
TEST_P(Memory, PurgeablesOfMallocVanishWhenItIsOut) {
  const Limit limit(limit_bytes);
  const std::size_t bytes = GetParam();
  const std::size_t most = bytes < 1'000 ? 20'000 : 2 * limit_bytes / bytes;
  std::vector<std::unique_ptr<Marked>> blocks;
  for (std::size_t i = 0; i < most; ++i) {
    blocks.push_back(std::make_unique<Marked>(tarn_heap{}, bytes, static_cast<unsigned char>(i)));
    ASSERT_TRUE(blocks.back()->fill()) << i;
  }
  const tarn_recover_stats before = sums();
  std::vector<void*> taken;
  while (void* const p = tarn_malloc(mib)) taken.push_back(p);
  EXPECT_EQ(errno, ENOMEM);
  std::size_t there = 0;
  for (auto& block : blocks) {
    there += block->look();
    ASSERT_EQ(block->wrong(), 0);
  }
  EXPECT_EQ(there, 0u) << "malloc had none while there were some";
  EXPECT_GT(taken.size(), limit_bytes / mib / 4);
  EXPECT_GT(sums().purged, before.purged);
  EXPECT_EQ(sums().by_allocations_in_vain - before.by_allocations_in_vain, 1u);
  for (void* const p : taken) tarn_free(p);
  EXPECT_TRUE(blocks[0]->fill());
  EXPECT_TRUE(tarn::store.check());
}

TEST(MemoryOut, CallbacksMakeRoomForEveryKindOfRequest) {
  const Limit limit(limit_bytes);
  Cache cache;
  int asked = 0;
  tarn::Reclaimer gives([&](std::size_t wanted) { return ++asked, cache.give(wanted); });
  const auto fill_up = [&] {
    gives.set_estimate(0);
    while (cache.add(mib)) {
    }
    for (const std::size_t bytes : {2'000u, 64u}) {
      while (cache.add(bytes)) {
      }
    }
    gives.set_estimate(SIZE_MAX);
    asked = 0;
  };
  const Heap heap;
  tarn_heap_options one_lock = options(0, TARN_HEAP_SERIALISED);
  const Heap serialised(one_lock);
  tarn_heap_options checks = options();
  checks.mode = TARN_MODE_CHECKED;
  const Heap checked(checks);
  void* grows = tarn_malloc(3 * mib);
  void* small = tarn_malloc(100);
  ASSERT_NE(grows, nullptr);
  fill_up();
  const auto each = [&](const char* what, auto allocate) {
    errno = 0;
    void* const p = allocate();
    EXPECT_NE(p, nullptr) << what;
    EXPECT_EQ(errno, 0) << what;
    EXPECT_GT(asked, 0) << what;
    fill_up();
    return p;
  };
  void* got[] = {
      each("malloc", [] { return tarn_malloc(5 * mib); }),
      each("small", [] { return tarn_malloc(30'000); }),
      each("calloc", [] { return tarn_calloc(3, 3 * mib); }),
      each("aligned", [] { return tarn_aligned_alloc(mib, 4 * mib); }),
      each("heap", [&] { return tarn_heap_allocate(heap, 4 * mib); }),
      each("heap, small", [&] { return tarn_heap_allocate(heap, 8'000); }),
      each("serialised", [&] { return tarn_heap_allocate(serialised, 3'000); }),
      each("checked", [&] { return tarn_heap_allocate(checked, 4 * mib); }),
  };
  grows = each("realloc", [&] { return tarn_realloc(grows, 20 * mib); });
  small = each("realloc, small", [&] { return tarn_realloc(small, 6 * mib); });
  for (void* const p : got) tarn_free(p);
  tarn_free(grows);
  tarn_free(small);
}

TEST(MemoryOut, ASeparateHeapHasOthersGive) {
  const Limit limit(limit_bytes);
  tarn_heap_options apart = options();
  apart.flags = TARN_HEAP_SEPARATE;
  const Heap separate(apart);
  std::vector<std::unique_ptr<Marked>> blocks;
  for (unsigned char i = 0; i < 250; ++i) {
    blocks.push_back(std::make_unique<Marked>(separate, mib, i));
    ASSERT_TRUE(blocks.back()->fill()) << int{i};
  }
  int there = 0;
  for (auto& block : blocks) there += block->look();
  EXPECT_LT(there, 250);
  EXPECT_GT(there, 100);
}

TEST(MemoryOut, WhatCanNeverBeAsksNobody) {
  int asked = 0;
  tarn::Reclaimer counts([&](std::size_t) { return ++asked, std::size_t{1}; });
  volatile std::size_t bytes = SIZE_MAX;
  EXPECT_EQ(tarn_malloc(bytes), nullptr);
  EXPECT_EQ(tarn_calloc(bytes, 2), nullptr);
  const Heap heap;
  EXPECT_EQ(tarn_heap_allocate(heap, bytes), nullptr);
  EXPECT_EQ(asked, 0);
}

// Each call of the OS fails, alone or with all that follow.
struct Scenario {
  int nulls = 0;

  void run() {
    Cache cache;
    tarn::Reclaimer gives([&](std::size_t wanted) { return cache.give(wanted); });
    const tarn_heap_options limited = options(3 * mib);
    const tarn_heap heap = tarn_heap_create(&limited);
    if (heap.record == nullptr) return;
    {
      std::vector<std::unique_ptr<Marked>> blocks;
      for (unsigned char i = 0; i < 12; ++i) {
        blocks.push_back(std::make_unique<Marked>(i % 3 == 0 ? tarn_heap{} : heap,
                                                  i % 2 == 0 ? 500'000 : 3'000, i));
        nulls += !blocks.back()->fill();
        nulls += !cache.add(200'000);
      }
      void* const p = tarn_heap_allocate(heap, 2 * mib);
      nulls += p == nullptr;
      tarn_recover(mib, 0);
      for (auto& block : blocks) {
        block->look();
        nulls += !block->look() && !block->fill();
        ASSERT_EQ(block->wrong(), 0);
      }
      tarn_free(p);
      tarn_recover(SIZE_MAX, 0);
      for (auto& block : blocks) ASSERT_FALSE(block->look());
      ASSERT_EQ(cache.count(), 0u);
    }
    ASSERT_EQ(tarn_heap_destroy(heap), 0);
  }
};

// A request that cannot be met has all free chunks go back to the OS.
void give_chunks_back() {
  tarn_recover(SIZE_MAX, 0);
  tarn::os::fake::fail_at(1, false);
  tarn::Span* const span = tarn::store.take((300 * mib) >> tarn::slice_shift, 1);
  tarn::os::fake::fail_at(0, false);
  if (span != nullptr) tarn::store.give(span);
  tarn_recover(SIZE_MAX, 0);
}

void fail_every_call(bool onwards) {
  Scenario().run();
  int in_vain = 0;
  for (std::uint64_t n = 1;; ++n) {
    ASSERT_LT(n, 2'000u);
    give_chunks_back();
    tarn::os::fake::fail_at(n, onwards);
    Scenario scenario;
    scenario.run();
    const bool reached = tarn::os::fake::calls() >= n;
    tarn::os::fake::fail_at(0, false);
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "with call " << n;
    ASSERT_TRUE(tarn::store.check());
    in_vain += scenario.nulls != 0;
    if (reached) continue;
    EXPECT_EQ(scenario.nulls, 0) << "nothing failed";
    EXPECT_GT(n, 5u);
    EXPECT_TRUE(!onwards || in_vain > 0);
    return;
  }
}

TEST(EveryCall, FailsOnce) { fail_every_call(false); }
TEST(EveryCall, FailsForGood) { fail_every_call(true); }

}  // namespace
}  // namespace recovering
