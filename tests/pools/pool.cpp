// What tarn/pool/pool.hpp promises, in fast pools and in those that look closer.
//
// SPDX-License-Identifier: MIT
#include "tarn/pool/pool.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "sources.hpp"

namespace pools {
namespace {

using tarn::Mode;
using tarn::Pool;
using tarn::PoolOptions;

std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

// Sanitizers make checked pools of fast ones, which order and lay out their blocks differently.
bool is_fast(Pool& pool) { return (pool.get()->state & 3) == 0; }

class EachMode : public InEachMode<PoolOptions> {
 protected:
  static PoolOptions in_tens() {
    PoolOptions wanted = options();
    wanted.chunk_blocks = 10;
    return wanted;
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, EachMode, every_mode, mode_name);

TEST_P(EachMode, ComesInTheOrderOfAddresses) {
  CountingSource source;
  Pool pool(40, source, options());
  std::vector<char*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(static_cast<char*>(pool.allocate()));
  EXPECT_TRUE(std::is_sorted(blocks.begin(), blocks.end()));
  EXPECT_EQ(source.chunks.size(), 1u);
  EXPECT_EQ(static_cast<std::size_t>(blocks[1] - blocks[0]), pool.stats().stride_bytes);
  for (char* const p : blocks) pool.deallocate(p);
}

TEST_P(EachMode, TakesAnySizeAndAlignment) {
  for (const int size : {1, 2, 7, 8, 12, 24, 28, 100, 4096, 5000, 100'000, 3'000'000}) {
    const auto bytes = static_cast<std::size_t>(size);
    for (std::size_t alignment = 0; alignment <= 65536; alignment = alignment * 2 + !alignment) {
      CountingSource source;
      PoolOptions wanted = options();
      wanted.alignment = alignment;
      Pool pool(bytes, source, wanted);
      std::set<char*> blocks;
      for (int i = 0; i < 20; ++i) {
        auto* const p = static_cast<char*>(pool.allocate());
        std::memset(p, i, bytes);
        EXPECT_EQ(address(p) % std::max<std::size_t>(alignment, 1), 0u);
        EXPECT_TRUE(blocks.insert(p).second);
      }
      const auto wrong = std::adjacent_find(blocks.begin(), blocks.end(),
                                            [&](char* a, char* b) { return a + bytes > b; });
      EXPECT_EQ(wrong, blocks.end());
      EXPECT_TRUE(pool.check());
      for (char* const p : blocks) pool.deallocate(p);
    }
  }
}

TEST(Pool, AlignsByTheSizeWhenNothingIsSaid) {
  EXPECT_EQ(Pool(24).alignment(), sizeof(void*));
  EXPECT_EQ(Pool(16).alignment(), 16u);
  EXPECT_EQ(Pool(4096).alignment(), 16u);
  EXPECT_EQ(Pool(1).alignment(), sizeof(void*));
  Pool of_24(24);
  if (is_fast(of_24)) {
    EXPECT_EQ(of_24.stats().stride_bytes, 24u);
  }
}

TEST_P(EachMode, GivesEmptyChunksBackButOne) {
  CountingSource source;
  Pool pool(32, source, in_tens());
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(pool.allocate());
  EXPECT_EQ(source.chunks.size(), 100u);
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937(5));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    pool.deallocate(blocks[i]);
    if (i % 50 == 0) {
      ASSERT_TRUE(pool.check());
    }
  }
  EXPECT_EQ(source.chunks.size(), 1u);
  EXPECT_EQ(pool.stats().live_blocks, 0u);
  EXPECT_EQ(pool.stats().chunks_peak, 100u);
  EXPECT_EQ(pool.stats().chunks_released, 99u);
  EXPECT_TRUE(pool.check());
  EXPECT_GT(pool.trim(), 0u);
  EXPECT_EQ(source.chunks.size(), 0u);
  EXPECT_EQ(pool.stats().held_bytes, 0u);
  EXPECT_NE(pool.allocate(), nullptr);
}

// With one chunk kept, what comes and goes at the edge of a chunk asks the source no more.
TEST_P(EachMode, DoesNotAskTheSourceAgainAndAgain) {
  CountingSource source;
  Pool pool(32, source, in_tens());
  std::vector<void*> kept;
  for (int i = 0; i < 10; ++i) kept.push_back(pool.allocate());
  for (int i = 0; i < 100; ++i) pool.deallocate(pool.allocate());
  EXPECT_EQ(source.calls, 2u);
}

// Walks have a block's address as well: compilers must not think that nobody reads it.
__attribute__((noinline)) void add(tarn_pool* pool, int value) {
  int* const p = static_cast<int*>(tarn_pool_allocate(pool));
  if (p != nullptr) *p = value;
}

// Exact where each block passes the library, else to within the blocks at hand.
TEST(Pool, KnowsTheMostThatWereLive) {
  for (const Mode mode : {Mode::fast, Mode::checked}) {
    PoolOptions options;
    options.mode = mode;
    Pool pool(48, options);
    std::uint64_t most = 0;
    for (const std::size_t n : {1u, 10u, 5u, 700u, 30u, 699u, 2000u, 1u}) {
      std::vector<void*> blocks;
      for (std::size_t i = 0; i < n; ++i) blocks.push_back(pool.allocate());
      if (most < n) most = n;
      for (void* p : blocks) pool.deallocate(p);
      const std::uint64_t seen = pool.stats().live_blocks_peak;
      EXPECT_LE(seen, most);
      EXPECT_GE(seen + (mode == Mode::fast ? TARN_POOL_CACHE : 0), most);
    }
  }
}

TEST(Pool, WalksSeeWhatNobodyElseKept) {
  Pool pool(sizeof(int));
  add(pool.get(), 17);
  int seen = 0;
  pool.walk([&](void* p) { seen = *static_cast<int*>(p); });
  EXPECT_EQ(seen, 17);
}

TEST(Pool, WhatWasFreedLastComesFirst) {
  CountingSource source;
  PoolOptions wanted;
  wanted.chunk_blocks = 100;
  Pool pool(48, source, wanted);
  if (!is_fast(pool)) return;
  std::vector<void*> blocks;
  for (int i = 0; i < 500; ++i) blocks.push_back(pool.allocate());
  for (const std::size_t i : {3u, 450u, 120u, 7u, 250u}) {
    pool.deallocate(blocks[i]);
    EXPECT_EQ(pool.allocate(), blocks[i]);
  }
}

TEST(Pool, AnEmptyChunkIsCarvedInOrderAgain) {
  CountingSource source;
  Pool pool(48, source);
  if (!is_fast(pool)) return;
  std::vector<void*> blocks;
  for (int i = 0; i < 500; ++i) blocks.push_back(pool.allocate());
  std::vector<void*> mixed = blocks;
  std::shuffle(mixed.begin(), mixed.end(), std::mt19937(5));
  for (void* const p : mixed) pool.deallocate(p);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(pool.allocate(), blocks[static_cast<std::size_t>(i)]);
}

TEST(Pool, OneBlockInAChunk) {
  CountingSource source;
  PoolOptions wanted;
  wanted.chunk_blocks = 1;
  Pool pool(200, source, wanted);
  void* const a = pool.allocate();
  void* const b = pool.allocate();
  EXPECT_EQ(source.chunks.size(), 2u);
  pool.deallocate(a);
  EXPECT_TRUE(pool.check());
  void* const c = pool.allocate();
  pool.deallocate(b);
  pool.deallocate(c);
  EXPECT_EQ(source.chunks.size(), 1u);
  EXPECT_TRUE(pool.check());
}

TEST(Pool, ChunksMayGrow) {
  CountingSource source;
  PoolOptions wanted;
  wanted.chunk_bytes = 4096;
  wanted.chunk_bytes_max = 20'000;
  Pool pool(64, source, wanted);
  std::vector<void*> blocks;
  for (int i = 0; i < 2000; ++i) blocks.push_back(pool.allocate());
  std::multiset<std::size_t> sizes;
  for (const auto& [data, bytes] : source.chunks) sizes.insert(bytes);
  EXPECT_EQ(sizes.count(4096), 1u);
  EXPECT_EQ(sizes.count(8192), 1u);
  EXPECT_EQ(sizes.count(16'384), 1u);
  EXPECT_EQ(sizes.count(20'000), sizes.size() - 3);
  EXPECT_TRUE(pool.check());
  for (void* const p : blocks) pool.deallocate(p);
  EXPECT_EQ(source.chunks.size(), 1u);
}

TEST(Pool, TakesWhatTheSourceHas) {
  CountingSource source;
  source.bytes_max = 3000;
  Pool pool(64, source);
  std::vector<void*> blocks;
  for (int i = 0; i < 200; ++i) {
    blocks.push_back(pool.try_allocate());
    ASSERT_NE(blocks.back(), nullptr);
  }
  EXPECT_TRUE(pool.check());
  source.bytes_max = 50;
  while (pool.try_allocate() != nullptr) {
  }
  EXPECT_EQ(errno, ENOMEM);
}

TEST(Pool, UsesAllThatIsGranted) {
  CountingSource source;
  source.generous = true;
  PoolOptions wanted;
  wanted.chunk_blocks = 3;
  Pool pool(32, source, wanted);
  void* const p = pool.allocate();
  EXPECT_GE(pool.stats().capacity_blocks, 3u);
  EXPECT_EQ(pool.stats().held_bytes, source.chunks.begin()->second);
  EXPECT_TRUE(pool.check());
  pool.deallocate(p);
}

TEST_P(EachMode, KeepsAllChunksIfAsked) {
  CountingSource source;
  PoolOptions wanted = options();
  wanted.chunk_blocks = 10;
  wanted.keep_chunks = true;
  Pool pool(32, source, wanted);
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(pool.allocate());
  for (void* const p : blocks) pool.deallocate(p);
  EXPECT_EQ(source.chunks.size(), 10u);
  for (void*& p : blocks) p = pool.allocate();
  EXPECT_EQ(source.calls, 10u);
  pool.clear();
  EXPECT_EQ(source.chunks.size(), 10u);
  EXPECT_EQ(pool.stats().live_blocks, 0u);
  EXPECT_TRUE(pool.check());
  pool.trim();
  EXPECT_EQ(source.chunks.size(), 0u);
}

TEST_P(EachMode, Reserves) {
  CountingSource source;
  Pool pool(32, source, in_tens());
  EXPECT_TRUE(pool.reserve(95));
  const std::size_t calls = source.calls;
  EXPECT_GE(pool.stats().capacity_blocks, 95u);
  for (int i = 0; i < 95; ++i) EXPECT_NE(pool.allocate(), nullptr);
  EXPECT_EQ(source.calls, calls);
  EXPECT_TRUE(pool.reserve(0));
  source.allowed = calls + 2;
  EXPECT_FALSE(pool.reserve(1000));
  EXPECT_TRUE(pool.check());
  source.allowed = SIZE_MAX;  // It would be asked until it has no more.
  const std::size_t tried = source.calls;
  EXPECT_FALSE(pool.reserve(SIZE_MAX));
  EXPECT_EQ(source.calls, tried);
}

// What it has got until then goes back with all else when the last block is freed.
TEST_P(EachMode, AReserveThatFailsKeepsChunksInOrder) {
  CountingSource source;
  Pool pool(32, source, in_tens());
  void* const p = pool.allocate();
  pool.deallocate(pool.allocate());
  source.allowed = 3;
  EXPECT_FALSE(pool.reserve(1000));
  EXPECT_EQ(source.chunks.size(), 3u);
  pool.deallocate(p);
  for (int i = 0; i < 30; ++i) EXPECT_NE(pool.try_allocate(), nullptr);
  EXPECT_TRUE(pool.check());
  pool.clear();
  EXPECT_EQ(source.chunks.size(), 1u);
}

TEST_P(EachMode, ReservesInOneChunkWhenItIsMade) {
  CountingSource source;
  PoolOptions wanted = options();
  wanted.reserve_blocks = 100'000;
  Pool pool(32, source, wanted);
  EXPECT_EQ(source.chunks.size(), 1u);
  EXPECT_EQ(pool.stats().capacity_blocks, 100'000u);
  for (int i = 0; i < 100'000; ++i) ASSERT_NE(pool.try_allocate(), nullptr);
  EXPECT_EQ(source.calls, 1u);
  EXPECT_NE(pool.try_allocate(), nullptr);
  EXPECT_EQ(source.calls, 2u);
  EXPECT_LT(source.chunks.rbegin()->second + source.chunks.begin()->second, 100'000u * 100);
  EXPECT_TRUE(pool.check());
}

// Or they would use up addresses, being aligned as the one that was reserved.
TEST_P(EachMode, ChunksAfterALargeReserveAreLarge) {
  CountingSource source;
  PoolOptions wanted = options();
  wanted.reserve_blocks = 1 << 19;
  Pool pool(32, source, wanted);
  for (int i = 0; i < (1 << 19) + 1; ++i) ASSERT_NE(pool.try_allocate(), nullptr);
  ASSERT_EQ(source.calls, 2u);
  for (const auto& [data, bytes] : source.chunks) EXPECT_GE(bytes * 32, source.last_alignment);
}

TEST_P(EachMode, ClearsAndStartsAgain) {
  CountingSource source;
  PoolOptions wanted = options();
  wanted.chunk_blocks = 16;
  Pool pool(32, source, wanted);
  for (int round = 0; round < 3; ++round) {
    std::set<void*> blocks;
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(blocks.insert(pool.allocate()).second);
    pool.clear();
    EXPECT_EQ(pool.stats().live_blocks, 0u);
    EXPECT_EQ(source.chunks.size(), 1u);
    EXPECT_TRUE(pool.check());
  }
}

TEST_P(EachMode, WalksLiveBlocksOnly) {
  CountingSource source;
  PoolOptions wanted = options();
  wanted.chunk_blocks = 70;
  Pool pool(32, source, wanted);
  std::set<void*> live;
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    live.insert(pool.allocate());
    if (random() % 2 == 0) {
      pool.deallocate(*live.begin());
      live.erase(live.begin());
    }
  }
  std::set<void*> seen;
  EXPECT_TRUE(pool.walk([&](void* p) { EXPECT_TRUE(seen.insert(p).second); }));
  EXPECT_EQ(seen, live);
  int left = 5;
  EXPECT_FALSE(pool.walk([&](void*) { return --left > 0; }));
  EXPECT_EQ(left, 0);
  EXPECT_TRUE(pool.check());
  EXPECT_EQ(pool.stats().live_blocks, live.size());
}

TEST_P(EachMode, AWalkMayFree) {
  CountingSource source;
  PoolOptions wanted = options();
  wanted.chunk_blocks = 70;
  Pool pool(32, source, wanted);
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(pool.allocate());
  std::set<void*> shown;
  std::set<void*> freed;
  pool.walk([&](void* p) {
    EXPECT_FALSE(freed.count(p));
    shown.insert(p);
    const std::size_t at =
        static_cast<std::size_t>(std::find(blocks.begin(), blocks.end(), p) - blocks.begin());
    for (void* const q : {p, blocks[(at + 7) % 1000]}) {  // Itself, and another one.
      if (freed.insert(q).second) pool.deallocate(q);
    }
    EXPECT_EQ(pool.try_allocate(), nullptr);
    errno = 0;
    EXPECT_FALSE(pool.walk([](void*) {}));
    EXPECT_EQ(errno, EBUSY);
  });
  EXPECT_LT(shown.size(), 1000u);
  EXPECT_EQ(pool.stats().live_blocks, 1000 - freed.size());
  EXPECT_TRUE(pool.check());
  std::set<void*> again;
  for (std::size_t i = 0; i < freed.size(); ++i) again.insert(pool.allocate());
  EXPECT_EQ(pool.stats().live_blocks, 1000u);
  EXPECT_TRUE(pool.check());
}

TEST_P(EachMode, OwnsItsBlocks) {
  CountingSource source;
  Pool pool(40, source, options());
  Pool other(40, source, options());
  auto* const p = static_cast<char*>(pool.allocate());
  EXPECT_TRUE(pool.owns(p));
  EXPECT_TRUE(pool.owns(p + 39));
  EXPECT_FALSE(pool.owns(p + pool.stats().stride_bytes));  // Not handed out yet.
  EXPECT_FALSE(pool.owns(p - 1));
  EXPECT_FALSE(other.owns(p));
  EXPECT_FALSE(pool.owns(&source));
  if (GetParam() == Mode::checked) {
    pool.deallocate(p);
    EXPECT_FALSE(pool.owns(p));
  }
}

TEST_P(EachMode, Moves) {
  CountingSource source;
  PoolOptions wanted = options();
  wanted.chunk_blocks = 4;
  Pool pool(40, source, wanted);
  std::vector<void*> blocks;
  for (int i = 0; i < 30; ++i) blocks.push_back(pool.allocate());
  Pool moved(std::move(pool));
  EXPECT_TRUE(moved.check());
  EXPECT_EQ(pool.try_allocate(), nullptr);  // NOLINT: what is left is defined.
  EXPECT_FALSE(pool);
  Pool target(8, source);
  static_cast<void>(target.allocate());
  target = std::move(moved);
  for (void* const p : blocks) target.deallocate(p);
  EXPECT_TRUE(target.check());
  EXPECT_EQ(source.chunks.size(), 1u);
}

TEST(PoolOptions, ThatMakeNoSense) {
  tarn_pool pool;
  const auto refused = [&](auto change) {
    tarn_pool_options options = TARN_POOL_OPTIONS();
    options.block_bytes = 32;
    change(options);
    errno = 0;
    const bool is = tarn_pool_init(&pool, &options) == -1 && errno == EINVAL &&
                    tarn_pool_allocate(&pool) == nullptr;
    tarn_pool_deallocate(&pool, nullptr);
    tarn_pool_destroy(&pool);
    return is;
  };
  using Options = tarn_pool_options;
  EXPECT_FALSE(refused([](Options&) {}));
  EXPECT_TRUE(refused([](Options& o) { o.bytes = 8; }));
  EXPECT_TRUE(refused([](Options& o) { o.block_bytes = 0; }));
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 8, SIZE_MAX / 2, SIZE_MAX / 8 + 1}) {
    EXPECT_TRUE(refused([=](Options& o) { o.block_bytes = bytes; })) << bytes;
    EXPECT_TRUE(refused([=](Options& o) { o.chunk_bytes = bytes; })) << bytes;
    EXPECT_TRUE(refused([=](Options& o) { o.chunk_blocks = bytes; })) << bytes;
    EXPECT_TRUE(refused([=](Options& o) { o.chunk_bytes_max = bytes; })) << bytes;
    EXPECT_TRUE(refused([=](Options& o) { o.reserve_blocks = bytes; })) << bytes;
  }
  EXPECT_TRUE(refused([](Options& o) { o.alignment = 3; }));
  EXPECT_TRUE(refused([](Options& o) { o.alignment = 24; }));
  EXPECT_TRUE(refused([](Options& o) { o.alignment = SIZE_MAX / 2 + 1; }));
  EXPECT_TRUE(refused([](Options& o) { o.chunk_bytes = o.chunk_blocks = 4096; }));
  EXPECT_TRUE(refused([](Options& o) { o.chunk_bytes_max = (o.chunk_bytes = 4096) - 1; }));
  EXPECT_TRUE(refused([](Options& o) { o.mode = 4; }));
  EXPECT_TRUE(refused([](Options& o) { o.mode = -1; }));
  EXPECT_TRUE(refused([](Options& o) { o.flags = 2; }));
  errno = 0;
  EXPECT_EQ(tarn_pool_init(&pool, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(PoolOptions, ThrowWhatIsWrong) {
  EXPECT_THROW(Pool(0), tarn::InvalidOptions);
  CountingSource source;
  source.allowed = 0;
  PoolOptions wanted;
  wanted.reserve_blocks = 10;
  EXPECT_THROW(Pool(8, source, wanted), std::bad_alloc);
  Pool pool(8, source);
  EXPECT_THROW(static_cast<void>(pool.allocate()), std::bad_alloc);
  EXPECT_EQ(pool.try_allocate(), nullptr);
}

// The n-th call of the source fails, for every n: nothing is lost, and it goes on afterwards.
TEST_P(EachMode, SurvivesEveryFailure) {
  for (std::size_t n = 0; n < 12; ++n) {
    CountingSource source;
    source.allowed = n;
    PoolOptions wanted = options();
    wanted.chunk_blocks = 8;
    Pool pool(32, source, wanted);
    std::vector<void*> blocks;
    while (void* const p = pool.try_allocate()) {
      blocks.push_back(p);
      if (blocks.size() == 80) break;
    }
    EXPECT_GE(blocks.size(), std::min<std::size_t>(n * 8, 80));
    EXPECT_TRUE(pool.check());
    source.allowed = SIZE_MAX;
    EXPECT_NE(pool.try_allocate(), nullptr);
    for (void* const p : blocks) pool.deallocate(p);
    EXPECT_TRUE(pool.check());
  }
}

}  // namespace
}  // namespace pools
