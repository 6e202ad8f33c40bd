// fixed_pool: the names of fixed_pool.h in C++, and the faults of the source: each is reported.
//
// SPDX-License-Identifier: MIT
#include "fixed_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace {

TEST(FixedPool, Names) {
  Pool* const pool = GetPool(sizeof(int), 16);
  int* const number = ::new (PoolAlloc(pool)) int(7);
  EXPECT_EQ(*number, 7);
  PoolFree(pool, number);
  DeletePool(pool);
  Arena* const arena = GetArena(1000);
  EXPECT_NE(ArenaAlloc(arena, 10, 1), nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ArenaAlloc(arena, 5000, 256)) % 256, 0u);
  DeleteArena(arena);
}

TEST(FixedPool, FirstBlocksComeInAddressOrder) {
  Pool* const pool = GetPool(48, 100);
  std::vector<char*> blocks(100);
  for (char*& p : blocks) p = static_cast<char*>(PoolAlloc(pool));
  for (std::size_t i = 1; i < blocks.size(); ++i) EXPECT_LT(blocks[i - 1], blocks[i]);
  DeletePool(pool);
}

TEST(FixedPoolFaults, ADoubleFreeIsReported) {
  Pool* const pool = GetPool(32, 16);
  void* const p = PoolAlloc(pool);
  void* const q = PoolAlloc(pool);
  PoolFree(pool, p);
  EXPECT_DEATH(PoolFree(pool, p), "tarn: double free: ");
  PoolFree(pool, q);
  // Nobody gets a block twice.
  std::set<void*> blocks;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(blocks.insert(PoolAlloc(pool)).second);
  DeletePool(pool);
}

TEST(FixedPoolFaults, InteriorAndForeignPointersAreReported) {
  Pool* const pool = GetPool(32, 16);
  Pool* const other = GetPool(32, 16);
  auto* const p = static_cast<char*>(PoolAlloc(pool));
  int local = 0;
  EXPECT_DEATH(PoolFree(pool, p + 8), "tarn: invalid free: ");
  EXPECT_DEATH(PoolFree(other, p), "tarn: invalid free: ");
  EXPECT_DEATH(PoolFree(pool, &local), "tarn: invalid free: ");
  DeletePool(other);
  DeletePool(pool);
}

// Found when the block is freed, or the pool ends; at once where a sanitizer watches.
TEST(FixedPoolFaults, AWriteBehindABlockIsReported) {
  Pool* const pool = GetPool(32, 16);
  auto* const p = static_cast<char*>(PoolAlloc(pool));
  const auto write_behind = [&] { p[32] = 1; };
  EXPECT_DEATH((write_behind(), PoolFree(pool, p)), "tarn: overrun: |AddressSanitizer: ");
  EXPECT_DEATH((write_behind(), DeletePool(pool)), "tarn: overrun: |AddressSanitizer: ");
  DeletePool(pool);
}

TEST(FixedPoolFaults, AnArenaIsNotOverrun) {
  // Requests above the step, and sums that a wrong precedence made too small.
  for (const std::size_t step : {64u, 100u, 1000u}) {
    Arena* const arena = GetArena(step);
    std::vector<std::pair<char*, std::size_t>> blocks;
    for (std::size_t i = 1; i < 300; ++i) {
      const std::size_t bytes = i * 37 % (3 * step) + 1;
      auto* const p = static_cast<char*>(ArenaAlloc(arena, bytes, std::size_t{1} << (i % 7)));
      ASSERT_NE(p, nullptr);
      std::memset(p, static_cast<int>(i), bytes);
      blocks.emplace_back(p, bytes);
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      for (std::size_t b = 0; b < blocks[i].second; ++b) {
        ASSERT_EQ(blocks[i].first[b], static_cast<char>(i + 1));
      }
    }
    EXPECT_EQ(ArenaAlloc(arena, 1, 0), nullptr);
    EXPECT_NE(ArenaAlloc(arena, 1, 1), nullptr);
    DeleteArena(arena);
  }
}

}  // namespace
