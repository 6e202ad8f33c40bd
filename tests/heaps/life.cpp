// How heaps begin and end: clearing, destroying, many of them in any order, and that their memory
// comes back.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include "heap.hpp"

namespace heaps {
namespace {

class Life : public EachMode {};
INSTANTIATE_TEST_SUITE_P(Modes, Life, every_mode);

std::uint64_t process_committed() {
  const auto account = std::make_unique<tarn_account>();
  EXPECT_EQ(tarn_process_account(account.get(), sizeof *account), 0);
  return account->committed_bytes;
}

// Blocks of every kind, in a random mix.
void use(tarn_heap heap, std::mt19937& random, int blocks) {
  for (int i = 0; i < blocks; ++i) {
    const unsigned kind = static_cast<unsigned>(random() % 200);
    const std::size_t bytes = random() % (kind == 0 ? 300'000 : kind < 10 ? 20'000 : 200);
    void* const p = tarn_heap_allocate(heap, bytes);
    ASSERT_NE(p, nullptr);
    std::memset(p, 0xee, bytes);
    if (random() % 4 == 0) tarn_heap_deallocate(p);
  }
}

TEST_P(Life, AnEmptyHeapHasNoMemory) {
  const Heap heap(GetParam());
  const tarn_heap_stats stats = stats_of(heap);
  EXPECT_EQ(stats.committed_bytes, 0u);
  EXPECT_EQ(stats.committed_bytes_peak, 0u);
  EXPECT_EQ(stats.pages, 0u);
  expect_empty(heap);
}

TEST_P(Life, ClearEndsTheBlocksAndTheHeapGoesOn) {
  const Heap heap(options(GetParam(), "cleared"));
  std::mt19937 random(1);
  for (const int blocks : {0, 1, 10, 63, 64, 65, 1'000, scaled(20'000)}) {
    use(heap, random, blocks);
    EXPECT_EQ(tarn_heap_clear(heap), 0);
    const tarn_heap_stats stats = stats_of(heap);
    EXPECT_EQ(stats.live_blocks, 0u);
    EXPECT_EQ(stats.live_bytes, 0u);
    EXPECT_EQ(stats.committed_bytes, 0u);
    EXPECT_EQ(stats.pages, 0u);
    EXPECT_EQ(stats.large_blocks, 0u);
    EXPECT_STREQ(tarn_heap_name(heap), "cleared");
  }
  EXPECT_EQ(tarn_heap_clear(heap), 0);
  // Young again.
  ASSERT_NE(tarn_heap_allocate(heap, 10), nullptr);
  EXPECT_EQ(committed(heap), slice);
}

TEST_P(Life, ClearingOneHeapLeavesTheOthers) {
  const Heap cleared(GetParam());
  const Heap kept(GetParam());
  std::vector<void*> blocks;
  for (unsigned i = 0; i < 500; ++i) {
    ASSERT_NE(tarn_heap_allocate(cleared, i), nullptr);
    void* const p = tarn_heap_allocate(kept, i);
    fill(p, i, i);
    blocks.push_back(p);
  }
  void* const mine = tarn_malloc(100);
  fill(mine, 100, 1);
  EXPECT_EQ(tarn_heap_clear(cleared), 0);
  for (unsigned i = 0; i < 500; ++i) {
    void* const p = tarn_heap_allocate(cleared, i);
    ASSERT_NE(p, nullptr);
    std::memset(p, 0, i);
    EXPECT_TRUE(is_filled(blocks[i], i, i));
  }
  EXPECT_TRUE(is_filled(mine, 100, 1));
  tarn_free(mine);
  EXPECT_EQ(stats_of(kept).live_blocks, 500u);
  EXPECT_EQ(stats_of(cleared).live_blocks, 500u);
}

TEST_P(Life, IdsAreNeverGivenTwice) {
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 2'000; ++i) {
    Heap heap(GetParam());
    EXPECT_TRUE(ids.insert(heap.handle().id).second);
  }
}

TEST_P(Life, RecordsAreUsedAgain) {
  std::set<void*> records;
  for (int i = 0; i < 2'000; ++i) {
    Heap heap(GetParam());
    ASSERT_NE(tarn_heap_allocate(heap, 5'000), nullptr);
    records.insert(heap.handle().record);
  }
  EXPECT_LE(records.size(), 10u);
}

TEST_P(Life, ANewHeapHasNothingOfTheOldOne) {
  for (int i = 0; i < 50; ++i) {
    tarn_heap_options wanted = options(GetParam(), "old");
    wanted.ceiling_bytes = 64 * kib;
    Heap old(wanted);
    ASSERT_NE(tarn_heap_allocate(old, 5'000), nullptr);
    EXPECT_EQ(tarn_heap_allocate(old, mib), nullptr);
    old.destroy();
    const Heap fresh((i % 2) == 0 ? TARN_HEAP_SHARED : TARN_HEAP_SERIALISED);
    const tarn_heap_stats stats = stats_of(fresh);
    EXPECT_EQ(stats.committed_bytes_peak, 0u);
    EXPECT_EQ(stats.live_blocks, 0u);
    EXPECT_NE(tarn_heap_allocate(fresh, mib), nullptr);
    void* const p = tarn_heap_allocate(fresh, 10);
    EXPECT_EQ(usable(p), 16u);
    EXPECT_EQ(committed(fresh), mib + slice);
  }
}

TEST_P(Life, TenThousandInRandomOrderLeaveNothing) {
  tarn_malloc_trim(0);
  const std::uint64_t before = process_committed();
  std::mt19937 random(7);
  std::vector<tarn_heap> live;
  const tarn_heap_options wanted = options(GetParam());
  for (int i = 0; i < scaled(10'000); ++i) {
    live.push_back(tarn_heap_create(&wanted));
    ASSERT_FALSE(is_none(live.back()));
    use(live.back(), random, static_cast<int>(random() % (i % 16 == 0 ? 200 : 8)));
  }
  std::shuffle(live.begin(), live.end(), random);
  for (std::size_t i = 0; i < live.size(); ++i) {
    ASSERT_EQ(tarn_heap_destroy(live[i]), 0);
    // Those that are left still serve.
    if (i + 1 < live.size()) use(live[i + 1], random, 2);
  }
  tarn_malloc_trim(0);
  EXPECT_EQ(process_committed(), before);
}

TEST_P(Life, MadeAndEndedInTurnNeedsNoMoreMemory) {
  std::mt19937 random(3);
  { Heap first(GetParam()); }
  tarn_malloc_trim(0);
  const std::uint64_t before = process_committed();
  for (int i = 0; i < scaled(10'000); ++i) {
    const Heap heap(GetParam());
    use(heap, random, 10);
    // What the last one left stays warm, up to a bound.
    ASSERT_LE(process_committed(), before + 16 * mib);
  }
  tarn_malloc_trim(0);
  EXPECT_EQ(process_committed(), before);
}

TEST_P(Life, FreedBlocksGiveTheirPagesBack) {
  const Heap heap(GetParam());
  std::vector<void*> blocks;
  for (int i = 0; i < 10'000; ++i) blocks.push_back(tarn_heap_allocate(heap, 200));
  const std::size_t most = committed(heap);
  EXPECT_GE(most, 10'000u * 208);
  for (void* const p : blocks) tarn_heap_deallocate(p);
  expect_empty(heap);
  tarn_malloc_trim(0);
  EXPECT_EQ(committed(heap), 0u);
  EXPECT_EQ(stats_of(heap).pages, 0u);
  EXPECT_EQ(stats_of(heap).committed_bytes_peak, most);
}

}  // namespace
}  // namespace heaps
