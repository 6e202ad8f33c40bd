// StaticPool and StaticObjectPool: order, alignment, exhaustion, statistics, walks, life before and
// after main, footprint; for every kind of lock.
//
// SPDX-License-Identifier: MIT
#include "tarn/pool/static_pool.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "tarn/source/concepts.hpp"

namespace {

using tarn::LockFree;
using tarn::NoLock;
using tarn::StaticObjectPool;
using tarn::StaticPool;

// A lock that sees whether it is used as one.
struct CountingLock {
  int depth = 0;
  int times = 0;
  void lock() noexcept {
    EXPECT_EQ(++depth, 1);
    ++times;
  }
  void unlock() noexcept { EXPECT_EQ(--depth, 0); }
};

static_assert(tarn::BlockAllocator<StaticPool<12, 5>>);
static_assert(tarn::BlockAllocator<StaticPool<12, 5, 4, LockFree>>);
static_assert(tarn::BlockAllocator<StaticPool<12, 5, 64, CountingLock>>);
static_assert(TARN_WATCH || std::is_trivially_destructible_v<StaticPool<12, 5>>);
static_assert(TARN_WATCH ||
              std::is_trivially_destructible_v<StaticObjectPool<std::vector<int>, 5>>);

// What is said of room: a bit for a block, three counts; from the second word on also the list.
constexpr std::size_t word = sizeof(std::size_t);
static_assert(StaticPool<8, 64>::footprint_bytes() == 64 * 8 + 4 * word);
static_assert(StaticPool<8, 65>::footprint_bytes() == 65 * 8 + (2 * 2 + 1 + 3) * word);
static_assert(StaticPool<1, 64>::footprint_bytes() == 64 + 4 * word);
static_assert(StaticPool<8, 64>::overhead_bytes() == 4 * word);
static_assert(StaticPool<8, 64>::worst_case_words() == 3);
static_assert(StaticPool<8, 100000>::worst_case_words() == 5);
static_assert(StaticPool<8, 4096, 8, LockFree>::worst_case_words() == 4);
static_assert(StaticPool<24, 10>::alignment == 8 && StaticPool<32, 10>::alignment == 16);
static_assert(StaticPool<7, 10>::alignment == 1);

constinit StaticPool<24, 100> early;
void* const from_before_main = early.try_allocate();

struct LateUser {
  void* block = nullptr;
  ~LateUser() { early.deallocate(block); }
} late_user;  // Is destroyed after main, and the pool is still there.

template <class T>
class StaticPools : public testing::Test {
 public:
  // Not on the stack: some are large. New for each test.
  std::unique_ptr<T> owner = std::make_unique<T>();
  T& pool = *owner;
};

using Kinds =
    testing::Types<StaticPool<1, 1>, StaticPool<1, 63>, StaticPool<3, 64>, StaticPool<16, 65>,
                   StaticPool<24, 128>, StaticPool<40, 1000, 64>, StaticPool<7, 4500>,
                   StaticPool<4096, 3, 4096>, StaticPool<24, 100, 8, CountingLock>,
                   StaticPool<1, 1, 1, LockFree>, StaticPool<12, 64, 4, LockFree>,
                   StaticPool<24, 65, 8, LockFree>, StaticPool<24, 4500, 8, LockFree>>;
TYPED_TEST_SUITE(StaticPools, Kinds);

TYPED_TEST(StaticPools, FreshBlocksComeInOrderAlignedAndApart) {
  auto& pool = this->pool;
  std::vector<unsigned char*> blocks;
  for (std::size_t i = 0; i < pool.blocks; ++i) {
    blocks.push_back(static_cast<unsigned char*>(pool.try_allocate()));
    ASSERT_NE(blocks[i], nullptr);
    ASSERT_TRUE(tarn::is_aligned(blocks[i], pool.alignment));
    ASSERT_EQ(pool.index_of(blocks[i]), i);
    if (i > 0) {
      ASSERT_GE(blocks[i] - blocks[i - 1], static_cast<std::ptrdiff_t>(pool.block_bytes));
    }
    ASSERT_TRUE(pool.owns(blocks[i]) && pool.is_live(blocks[i]));
    std::memset(blocks[i], static_cast<int>(i % 251), pool.block_bytes);
  }
  ASSERT_TRUE(pool.check());
  for (std::size_t i = 0; i < pool.blocks; ++i) {
    for (std::size_t at = 0; at < pool.block_bytes; ++at) ASSERT_EQ(blocks[i][at], i % 251);
  }
  EXPECT_FALSE(pool.owns(blocks.front() - 1));
  EXPECT_FALSE(pool.owns(&pool + 1));
  EXPECT_FALSE(pool.owns(nullptr) || pool.is_live(nullptr));
}

TYPED_TEST(StaticPools, ExhaustionIsExactAndCounted) {
  auto& pool = this->pool;
  std::vector<void*> blocks(pool.blocks);
  for (int round = 1; round <= 2; ++round) {
    for (void*& block : blocks) block = pool.allocate();
    EXPECT_EQ(pool.try_allocate(), nullptr);
    EXPECT_THROW((void)pool.allocate(), std::bad_alloc);
    const tarn::StaticStats stats = pool.stats();
    EXPECT_EQ(stats.in_use, pool.blocks);
    EXPECT_EQ(stats.peak, pool.blocks);
    EXPECT_EQ(stats.failures, 2U * static_cast<unsigned>(round));
    EXPECT_EQ(stats.blocks, pool.blocks);
    EXPECT_EQ(stats.block_bytes, pool.block_bytes);
    pool.deallocate(blocks[pool.blocks / 2]);
    EXPECT_EQ(pool.allocate(), blocks[pool.blocks / 2]);
    for (void* block : blocks) pool.deallocate(block);
    EXPECT_EQ(pool.in_use(), 0U);
    EXPECT_TRUE(pool.check());
  }
}

TYPED_TEST(StaticPools, SizesAndAlignmentsThatItDoesNotHave) {
  auto& pool = this->pool;
  EXPECT_EQ(pool.try_allocate(pool.block_bytes + 1, 1), nullptr);
  EXPECT_EQ(pool.try_allocate(SIZE_MAX, 1), nullptr);
  EXPECT_EQ(pool.try_allocate(1, pool.alignment * 2), nullptr);
  EXPECT_THROW((void)pool.allocate(SIZE_MAX, 1), std::bad_alloc);
  EXPECT_EQ(pool.stats().failures, 0U);
  void* const empty = pool.try_allocate(0, 1);
  ASSERT_NE(empty, nullptr);
  pool.deallocate(empty, 0, 1);
  void* const whole = pool.allocate(pool.block_bytes, pool.alignment);
  pool.deallocate(whole, pool.block_bytes, pool.alignment);
  pool.deallocate(nullptr);
  EXPECT_TRUE(pool.check() && pool.in_use() == 0);
}

TYPED_TEST(StaticPools, NoBlockFromThePeakOnWasEverUsed) {
  auto& pool = this->pool;
  std::mt19937 random(1);
  std::vector<void*> live;
  std::size_t touched = 0;
  for (int i = 0; i < 20000 / TARN_TEST_DIVISOR; ++i) {
    if (random() % 2 == 0 || live.empty()) {
      void* const p = pool.try_allocate();
      if (p == nullptr) continue;
      live.push_back(p);
      touched = std::max(touched, pool.index_of(p) + 1);
    } else {
      std::swap(live[random() % live.size()], live.back());
      pool.deallocate(live.back());
      live.pop_back();
    }
    ASSERT_EQ(touched, pool.stats().peak);
    ASSERT_EQ(pool.in_use(), live.size());
    ASSERT_TRUE(i % 64 != 0 || pool.check());
  }
}

TYPED_TEST(StaticPools, ForEachSeesLiveBlocksByAddress) {
  auto& pool = this->pool;
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < pool.blocks; ++i) blocks.push_back(pool.allocate());
  std::vector<void*> kept;
  for (std::size_t i = 0; i < pool.blocks; ++i) {
    if (i % 3 == 1) {
      pool.deallocate(blocks[i]);
    } else {
      kept.push_back(blocks[i]);
    }
  }
  std::vector<void*> seen;
  pool.for_each([&](void* p) { seen.push_back(p); });
  EXPECT_EQ(seen, kept);
  std::size_t first = 0;
  pool.for_each([&](void*) { return ++first < 1; });
  EXPECT_EQ(first, 1U);
  pool.for_each([&](void* p) { pool.deallocate(p); });
  EXPECT_TRUE(pool.in_use() == 0 && pool.check());
}

TEST(StaticPool, IsReadyBeforeMainAndAfterIt) {
  ASSERT_NE(from_before_main, nullptr);
  EXPECT_TRUE(early.is_live(from_before_main));
  late_user.block = early.try_allocate();
  EXPECT_TRUE(early.check());
}

// The blocks lie on pages that cannot be touched: who did would end the test.
TEST(StaticPool, ConstructionTouchesNoBlock) {
  using Pool = StaticPool<4096, 4, 4096>;
  static_assert(sizeof(Pool) == 5 * 4096);
  void* const memory = mmap(nullptr, sizeof(Pool), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory, 4096, PROT_READ | PROT_WRITE), 0);
  auto* const pool = ::new (memory) Pool;
  void* const p = pool->try_allocate();
  EXPECT_EQ(p, static_cast<char*>(memory) + 4096);
  pool->deallocate(p);
  EXPECT_TRUE(pool->check());
  munmap(memory, sizeof(Pool));
}

struct Thrower {
  static inline int alive = 0;
  explicit Thrower(bool throws) {
    if (throws) throw std::runtime_error("no");
    ++alive;
  }
  ~Thrower() { --alive; }
  double number = 0;
};

TEST(StaticObjectPool, CreatesAndDestroys) {
  static StaticObjectPool<Thrower, 3> pool;
  Thrower* const a = pool.create(false);
  EXPECT_THROW((void)pool.create(true), std::runtime_error);
  EXPECT_THROW((void)pool.try_create(true), std::runtime_error);
  EXPECT_EQ(pool.in_use(), 1U);
  EXPECT_NE(pool.try_create(false), nullptr);
  EXPECT_NE(pool.try_create(false), nullptr);
  EXPECT_EQ(pool.try_create(false), nullptr);
  EXPECT_THROW((void)pool.create(false), std::bad_alloc);
  EXPECT_EQ(Thrower::alive, 3);
  pool.destroy(a);
  pool.destroy(nullptr);
  int seen = 0;
  pool.for_each([&](Thrower&) { ++seen; });
  EXPECT_TRUE(seen == 2 && Thrower::alive == 2);
  pool.destroy_all();
  EXPECT_TRUE(Thrower::alive == 0 && pool.in_use() == 0 && pool.check());
}

TEST(StaticObjectPool, HasTheAlignmentOfTheType) {
  struct alignas(128) Wide {
    char text[130];
  };
  static StaticObjectPool<Wide, 5, LockFree> pool;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(tarn::is_aligned(pool.create(), 128));
}

}  // namespace
