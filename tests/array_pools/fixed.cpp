// ArrayPool: order and capacity, sizes from one byte on, what it touches, what happens when no
// block is free.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <set>
#include <vector>

#include "tarn/pool/array_pool.hpp"
#include "tarn/source/concepts.hpp"

namespace array_pools {
namespace {

using tarn::ArrayChecks;
using tarn::ArrayPool;
using tarn::LockFree;
using tarn::OverflowNew;
using tarn::OverflowNull;
using tarn::OverflowThrow;
using tarn::ThreadSafe;

static_assert(tarn::BlockAllocator<ArrayPool<10, 24>>);
static_assert(tarn::BlockAllocator<ArrayPool<10, 24, 8, OverflowNew, ArrayChecks::exact>>);
static_assert(TARN_WATCH || std::is_trivially_destructible_v<ArrayPool<10, 24>>);

// The index is as wide as the capacity needs, and no wider.
static_assert(sizeof(ArrayPool<256, 1>::Index) == 1 && sizeof(ArrayPool<257, 1>::Index) == 2);
static_assert(sizeof(ArrayPool<65536, 1>::Index) == 2 && sizeof(ArrayPool<65537, 1>::Index) == 4);
static_assert(sizeof(ArrayPool<256, 1>) == 12 + 256 + 256,
              "three counts, an index and a byte each");

static_assert(tarn::natural_alignment(1) == 1 && tarn::natural_alignment(24) == 8 &&
              tarn::natural_alignment(4096) == alignof(std::max_align_t));
static_assert(tarn_exact_inverse(3) * 3 == 1 && tarn_exact_inverse(12345677) * 12345677 == 1);

template <class Pool>
std::vector<unsigned char*> take_all(Pool& pool) {
  std::vector<unsigned char*> taken;
  while (void* const p = pool.try_allocate()) taken.push_back(static_cast<unsigned char*>(p));
  return taken;
}

template <class Pool>
constexpr std::size_t bytes_of = 0;
template <std::size_t count, std::size_t bytes, std::size_t alignment, class Overflow,
          ArrayChecks checks, class Lock>
constexpr std::size_t bytes_of<ArrayPool<count, bytes, alignment, Overflow, checks, Lock>> = bytes;
template <class Pool>
constexpr bool is_for_threads = false;
template <std::size_t count, std::size_t bytes, std::size_t alignment, class Overflow,
          ArrayChecks checks, class Lock>
constexpr bool is_for_threads<ArrayPool<count, bytes, alignment, Overflow, checks, Lock>> =
    tarn::IsAtomic<Lock>::value;

template <class Pool>
class EveryArrayPool : public testing::Test {
 public:
  Pool pool;
};
using Pools =
    testing::Types<ArrayPool<1, 1>, ArrayPool<200, 1>, ArrayPool<256, 3>,
                   ArrayPool<257, 5, 1, OverflowNull>, ArrayPool<300, 24>, ArrayPool<100, 40, 64>,
                   ArrayPool<5000, 8, 8, OverflowThrow, ArrayChecks::exact>, ArrayPool<70000, 2>,
                   ArrayPool<33, 100, 4, OverflowThrow, ArrayChecks::exact>,
                   ArrayPool<1, 8, 8, OverflowNull, ArrayChecks::cheap, LockFree>,
                   ArrayPool<300, 24, 8, OverflowNull, ArrayChecks::cheap, ThreadSafe>,
                   ArrayPool<5000, 3, 1, OverflowNull, ArrayChecks::exact, ThreadSafe>,
                   ArrayPool<5000, 24, 8, OverflowNull, ArrayChecks::exact, LockFree>,
                   ArrayPool<200, 24, 8, OverflowNull, ArrayChecks::cheap, std::mutex>>;
TYPED_TEST_SUITE(EveryArrayPool, Pools);

TYPED_TEST(EveryArrayPool, HandsOutEachBlockOnceInAddressOrder) {
  auto& pool = this->pool;
  EXPECT_TRUE(pool.is_empty() && !pool.is_full());
  void* const only = pool.try_allocate();
  EXPECT_FALSE(pool.is_empty());
  EXPECT_EQ(pool.is_full(), pool.capacity() == 1);
  pool.deallocate(only);
  const auto taken = take_all(pool);
  ASSERT_EQ(taken.size(), pool.capacity());
  EXPECT_TRUE(pool.is_full() && !pool.is_empty());
  for (std::size_t i = 0; i != taken.size(); ++i) {
    EXPECT_EQ(taken[i], taken[0] + i * pool.stride);
    EXPECT_TRUE(pool.owns(taken[i]) && pool.owns(taken[i] + pool.stride - 1));
    EXPECT_EQ(pool.index_of(taken[i]), i);
    std::memset(taken[i], 0xA5, bytes_of<TypeParam>);
  }
  EXPECT_FALSE(pool.owns(taken[0] - 1));
  EXPECT_FALSE(pool.owns(taken.back() + pool.stride));
  EXPECT_FALSE(pool.owns(&pool));
  EXPECT_TRUE(pool.check());
}

TYPED_TEST(EveryArrayPool, TakesBlocksBackInAnyOrder) {
  auto& pool = this->pool;
  auto taken = take_all(pool);
  std::set<void*> freed;
  for (std::size_t i = 0; i < taken.size(); i += 2) {
    pool.deallocate(taken[i]);
    freed.insert(taken[i]);
  }
  EXPECT_EQ(pool.in_use(), taken.size() / 2);
  ASSERT_TRUE(pool.check());
  std::size_t live = 0;
  pool.for_each([&](void* p) {
    EXPECT_EQ(freed.count(p), 0u);
    ++live;
  });
  EXPECT_EQ(live, pool.in_use());
  if (taken.size() > 2) {  // The last one first.
    void* const again = pool.try_allocate();
    EXPECT_EQ(again, taken[(taken.size() - 1) / 2 * 2]);
    pool.deallocate(again);
  }
  pool.for_each([&](void* p) { pool.deallocate(p); });
  EXPECT_TRUE(pool.is_empty());
  EXPECT_TRUE(pool.check());
  EXPECT_EQ(pool.peak(), taken.size());
  const auto again = take_all(pool);
  EXPECT_EQ(again.size(), taken.size());
  if (!is_for_threads<TypeParam>) {
    EXPECT_EQ(again, taken);  // From the start again.
  }
}

TYPED_TEST(EveryArrayPool, KnowsTheMostThatWereInUse) {
  auto& pool = this->pool;
  EXPECT_EQ(pool.peak(), 0u);
  std::size_t most = 0;
  for (const std::size_t n : {1u, 1u, 3u, 2u, 7u}) {
    std::vector<void*> taken;
    while (taken.size() != n && taken.size() != pool.capacity()) {
      taken.push_back(pool.try_allocate());
    }
    if (most < taken.size()) most = taken.size();
    EXPECT_EQ(pool.in_use(), taken.size());
    for (void* p : taken) pool.deallocate(p);
    const std::size_t rounding = is_for_threads<TypeParam> ? 31 : 0;  // LockFree carves by 32.
    EXPECT_TRUE(pool.peak() >= most && pool.peak() <= most + rounding) << pool.peak();
  }
}

TYPED_TEST(EveryArrayPool, SaysNoToWhatBlocksAreNot) {
  auto& pool = this->pool;
  EXPECT_EQ(pool.try_allocate(SIZE_MAX, 1), nullptr);
  EXPECT_EQ(pool.try_allocate(pool.stride + 1, 1), nullptr);
  EXPECT_EQ(pool.try_allocate(1, 1 << 20), nullptr);
  EXPECT_TRUE(pool.is_empty());
  void* const p = pool.try_allocate(0, 1);  // Nothing is a block, too.
  EXPECT_TRUE(pool.owns(p));
  pool.deallocate(p, 0, 1);
  pool.deallocate(nullptr);
  EXPECT_TRUE(pool.is_empty());
}

TEST(ArrayPool, AlignsTheAddress) {
  static ArrayPool<20, 40, 64> pool;
  EXPECT_EQ(pool.stride, 64u);
  for (int i = 0; i != 20; ++i) EXPECT_TRUE(tarn::is_aligned(pool.allocate(), 64));
}

TEST(ArrayPool, ThrowsOrGivesNullWhenNoBlockIsFree) {
  ArrayPool<2, 8> throwing;
  ArrayPool<2, 8, 8, OverflowNull> quiet;
  for (int i = 0; i != 2; ++i) {
    EXPECT_NE(throwing.allocate(), nullptr);
    EXPECT_NE(quiet.allocate(), nullptr);
  }
  EXPECT_THROW((void)throwing.allocate(), std::bad_alloc);
  EXPECT_EQ(throwing.try_allocate(), nullptr);
  static_assert(noexcept(quiet.allocate()) && !noexcept(throwing.allocate()));
  EXPECT_EQ(quiet.allocate(), nullptr);
  EXPECT_TRUE(throwing.check() && quiet.check());
}

TEST(ArrayPool, FallsBackToAnotherAllocatorAndFreesFindTheirWay) {
  using Second = ArrayPool<3, 16, 8, OverflowNull>;
  Second second;
  ArrayPool<2, 16, 8, tarn::OverflowTo<Second>> pool{tarn::OverflowTo<Second>(second)};
  void* taken[5];
  for (void*& p : taken) p = pool.allocate();
  EXPECT_TRUE(pool.owns(taken[1]) && !pool.owns(taken[2]) && second.owns(taken[2]));
  EXPECT_EQ(pool.in_use(), 2u);
  EXPECT_EQ(second.in_use(), 3u);
  EXPECT_THROW((void)pool.allocate(), std::bad_alloc);  // The fallback has none, either.
  EXPECT_EQ(pool.try_allocate(), nullptr);
  for (void* p : taken) pool.deallocate(p);
  EXPECT_TRUE(pool.is_empty() && second.is_empty());
}

TEST(ArrayPool, FallsBackToOperatorNew) {
  ArrayPool<1, 100, 64, OverflowNew> pool;
  void* const own = pool.allocate();
  void* const other = pool.allocate();
  EXPECT_FALSE(pool.owns(other));
  EXPECT_TRUE(tarn::is_aligned(other, 64));
  std::memset(other, 1, 100);
  pool.deallocate(other);
  pool.deallocate(own);
  EXPECT_TRUE(pool.is_empty());
}

TEST(ArrayPool, ConstructionWritesTheCountsOnly) {
  using Pool = ArrayPool<1000, 64, 16, OverflowThrow, ArrayChecks::exact>;
  std::vector<unsigned char> memory(sizeof(Pool) + 64, 0xC3);
  void* place = memory.data();
  std::size_t room = memory.size();
  ASSERT_NE(std::align(alignof(Pool), sizeof(Pool), place, room), nullptr);
  auto* const pool = ::new (place) Pool();
  const auto* const bytes = static_cast<const unsigned char*>(place);
  for (std::size_t i = 16; i != sizeof(Pool); ++i) ASSERT_EQ(bytes[i], 0xC3) << "byte " << i;
  EXPECT_EQ(take_all(*pool).size(), 1000u);  // Rubbish in the memory does not matter.
  EXPECT_TRUE(pool->check());
}

// A gigabyte, of which nothing is there.
ArrayPool<std::size_t{1} << 20, 1024> large;

TEST(ArrayPool, TouchesNoPageThatIsNotUsed) {
  const auto os_page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i != 100; ++i) std::memset(large.allocate(), 1, 1024);
  const auto first = tarn::address_of(&large) / os_page * os_page;
  std::vector<unsigned char> resident((sizeof large + os_page) / os_page);
  ASSERT_EQ(mincore(reinterpret_cast<void*>(first), sizeof large, resident.data()), 0);
  std::size_t pages = 0;
  for (const unsigned char page : resident) pages += page & 1;
  EXPECT_GE(pages, 100 * 1024 / os_page);
  EXPECT_LE(pages, 100 * 1024 / os_page + 4);  // The counts, and the ends.
}

// Before the pool's own line of this file is reached, and with no constructor to run.
struct Early {
  Early();
  void* p;
} early;
constinit ArrayPool<4, 8> used_early;
Early::Early() : p(used_early.allocate()) {}

TEST(ArrayPool, IsThereBeforeConstructorsRun) {
  EXPECT_TRUE(used_early.owns(early.p));
  EXPECT_EQ(used_early.in_use(), 1u);
}

}  // namespace
}  // namespace array_pools
