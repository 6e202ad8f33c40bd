// array_pool: the names of array_pool.hpp, and the faults of the source.
//
// SPDX-License-Identifier: MIT
#include "array_pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <forward_list>
#include <list>
#include <map>
#include <set>
#include <vector>

namespace {

TEST(ArrayPoolNames, AllocateFreeIsEmptyIsFull) {
  ArrayPool<3, 24> pool;
  EXPECT_TRUE(pool.IsFull());
  EXPECT_FALSE(pool.IsEmpty());
  void* const a = pool.Allocate();
  void* const b = pool.Allocate();
  void* const c = pool.Allocate();
  EXPECT_LT(a, b);  // Lowest addresses first.
  EXPECT_LT(b, c);
  EXPECT_TRUE(pool.IsEmpty());
  EXPECT_EQ(pool.Allocate(), nullptr);  // Nothing underflows,
  EXPECT_EQ(pool.Allocate(), nullptr);  // whenever it is asked.
  pool.Free(b);
  EXPECT_FALSE(pool.IsEmpty());
  EXPECT_EQ(pool.Allocate(), b);
  for (void* p : {a, b, c}) pool.Free(p);
  pool.Free(nullptr);
  EXPECT_TRUE(pool.IsFull());
}

TEST(ArrayPoolNames, BlocksOfOneByte) {
  ArrayPool<100, 1> pool;
  std::set<void*> blocks;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(blocks.insert(pool.Allocate()).second);
  EXPECT_TRUE(pool.IsEmpty());
  EXPECT_EQ(static_cast<char*>(*blocks.rbegin()) - static_cast<char*>(*blocks.begin()), 99);
}

TEST(ArrayPoolFaults, BlocksAreAligned) {
  static ArrayPool<10, 48> of_48;
  static ArrayPool<10, 24> of_24;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(of_48.Allocate()) % 16, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(of_24.Allocate()) % 8, 0u);
  }
}

TEST(ArrayPoolFaults, WrongFreesAreReported) {
  ArrayPool<4, 16> pool;
  auto* const p = static_cast<char*>(pool.Allocate());
  pool.Free(p);
  EXPECT_DEATH(pool.Free(p), "tarn: double free: ");
  EXPECT_DEATH(pool.Free(p + 1), "tarn: invalid free: ");
  // Also while other blocks live.
  void* const one = pool.Allocate();
  void* const other = pool.Allocate();
  pool.Free(one);
  EXPECT_DEATH(pool.Free(one), "tarn: double free: ");
  pool.Free(other);
  int local = 0;
  EXPECT_DEATH(pool.Free(&local), "tarn: invalid free: ");
}

// A gigabyte of blocks is made in no time, and before main.
ArrayPool<(1u << 20), 1024> huge;
const void* const first_of_huge = huge.Allocate();

TEST(ArrayPoolFaults, ConstructionIsConstant) {
  EXPECT_NE(first_of_huge, nullptr);
  huge.Free(const_cast<void*>(first_of_huge));
  EXPECT_TRUE(huge.IsFull());
}

template <class T>
using Of1000 = ArrayAllocatorSTL<T, 1000>;

TEST(ArrayAllocatorNames, EveryNodeContainer) {
  std::forward_list<int, Of1000<int>> forward;
  std::list<int, Of1000<int>> list;
  std::set<int, std::less<>, Of1000<int>> set;
  std::multiset<int, std::less<>, Of1000<int>> multiset;
  std::map<int, int, std::less<>, Of1000<std::pair<const int, int>>> map;
  std::multimap<int, int, std::less<>, Of1000<std::pair<const int, int>>> multimap;
  for (int i = 0; i < 200; ++i) {
    forward.push_front(i);
    list.push_back(i);
    set.insert(i);
    multiset.insert(i / 2);
    map.emplace(i, i);
    multimap.emplace(i / 2, i);
  }
  EXPECT_EQ(list.size() + set.size() + multiset.size() + map.size() + multimap.size(), 1000u);
  EXPECT_EQ(std::distance(forward.begin(), forward.end()), 200);
  EXPECT_EQ(forward.get_allocator(), Of1000<int>());
}

TEST(ArrayAllocatorNames, StrictCapacity) {
  struct Own {
    long words[5];
  };
  std::list<Own, ArrayAllocatorSTL<Own, 50>> list;
  const auto fill = [&] {
    for (;;) list.emplace_back();
  };
  EXPECT_THROW(fill(), std::bad_alloc);
  EXPECT_EQ(list.size(), 50u);
}

// Static containers in either order.
std::list<int, ArrayAllocatorSTL<int, 77>> before_main = {1, 2, 3};
TEST(ArrayAllocatorNames, BeforeMain) { EXPECT_EQ(before_main.size(), 3u); }

}  // namespace
