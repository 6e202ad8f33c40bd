// ArrayAllocator: the standard's node containers over static pools, their capacity, and what the
// standard wants of an allocator.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "../support/threads.hpp"
#include "tarn/standard/array_allocator.hpp"

namespace array_pools {
namespace {

using tarn::ArrayAllocator;

struct First {};
using Ints = ArrayAllocator<int, 100, tarn::OverflowThrow, First>;
using Traits = std::allocator_traits<Ints>;
static_assert(Traits::is_always_equal::value);
static_assert(Traits::propagate_on_container_swap::value);
static_assert(std::is_empty_v<Ints> && sizeof(std::list<int, Ints>) == sizeof(std::list<int>));
static_assert(std::is_same_v<Traits::rebind_alloc<long>,
                             ArrayAllocator<long, 100, tarn::OverflowThrow, First>>);
static_assert(Ints() == Traits::rebind_alloc<long>() && !(Ints() != Ints(Ints())));

TEST(ArrayAllocator, ServesEveryNodeContainer) {
  std::forward_list<int, Ints> forward;
  std::list<int, Ints> list;
  std::set<int, std::less<int>, Ints> set;
  std::multiset<int, std::less<int>, Ints> multiset;
  using Pairs = Traits::rebind_alloc<std::pair<const int, int>>;
  std::map<int, int, std::less<int>, Pairs> map;
  std::multimap<int, int, std::less<int>, Pairs> multimap;
  for (int i = 0; i != 20; ++i) {
    forward.push_front(i);
    list.push_back(i);
    set.insert(i);
    multiset.insert(i / 2);
    map[i] = i;
    multimap.emplace(i / 2, i);
  }
  EXPECT_EQ(std::accumulate(forward.begin(), forward.end(), 0), 190);
  EXPECT_EQ(std::accumulate(list.begin(), list.end(), 0), 190);
  EXPECT_EQ(multiset.count(3), 2u);
  EXPECT_EQ(map.at(19), 19);
  EXPECT_EQ(multimap.size(), 20u);
  auto moved = std::move(list);
  list = moved;
  list.splice(list.begin(), moved);
  EXPECT_EQ(list.size(), 40u);
  list.swap(moved);
  EXPECT_TRUE(list.empty());
}

TEST(ArrayAllocator, CapacityIsThatOfAllContainersTogether) {
  struct Own {};
  using Few = ArrayAllocator<int, 5, tarn::OverflowThrow, Own>;
  std::list<int, Few> one, two;
  for (int i = 0; i != 3; ++i) one.push_back(i);
  for (int i = 0; i != 2; ++i) two.push_back(i);
  EXPECT_THROW(two.push_back(2), std::bad_alloc);
  EXPECT_EQ(two.size(), 2u);
  one.pop_front();
  EXPECT_NO_THROW(two.push_back(2));
  const std::list<int> expected{0, 1, 2};
  EXPECT_TRUE(std::equal(two.begin(), two.end(), expected.begin(), expected.end()));
}

TEST(ArrayAllocator, ATagKeepsContainersApart) {
  struct A {};
  struct B {};
  std::list<int, ArrayAllocator<int, 1, tarn::OverflowThrow, A>> a{1};
  std::list<int, ArrayAllocator<int, 1, tarn::OverflowThrow, B>> b{2};
  EXPECT_EQ(a.front() + b.front(), 3);
  EXPECT_THROW(a.push_back(2), std::bad_alloc);
}

TEST(ArrayAllocator, FallsBackBeyondTheCapacityAndForArrays) {
  struct Own {};
  using Spilling = ArrayAllocator<std::string, 3, tarn::OverflowNew, Own>;
  std::list<std::string, Spilling> list;
  for (int i = 0; i != 10; ++i) list.push_back(std::string(100, static_cast<char>('a' + i)));
  EXPECT_EQ(list.back(), std::string(100, 'j'));
  list.clear();
  std::vector<std::string, Spilling> vector(50, "text");
  vector.resize(500, "more");
  EXPECT_EQ(vector.back(), "more");
  EXPECT_THROW((void)Spilling().allocate(SIZE_MAX / 2), std::bad_alloc);  // The product wraps.
  EXPECT_THROW((void)Spilling().allocate(SIZE_MAX), std::bad_alloc);
}

TEST(ArrayAllocator, HasArraysButNoFurtherNodesIfToldSo) {
  struct Own {};
  using Strict = ArrayAllocator<int, 3, tarn::OverflowThrowNodes, Own>;
  std::list<int, Strict> list{1, 2, 3};
  EXPECT_THROW(list.push_back(4), std::bad_alloc);
  std::vector<int, Strict> vector(1000, 7);
  EXPECT_EQ(vector.back(), 7);
  EXPECT_THROW((void)Strict().allocate(SIZE_MAX), std::bad_alloc);
}

struct alignas(64) Wide {
  char text[64];
};
TEST(ArrayAllocator, TakesWideArraysFromOperatorNew) {
  struct Own {};
  std::vector<Wide, ArrayAllocator<Wide, 3, tarn::OverflowNew, Own>> vector(10);
  EXPECT_TRUE(tarn::is_aligned(vector.data(), 64));
  std::list<Wide, ArrayAllocator<Wide, 3, tarn::OverflowNew, Own>> list(10);
  for (const Wide& wide : list) EXPECT_TRUE(tarn::is_aligned(&wide, 64));
}

TEST(ArrayAllocator, HasNoArraysWithoutAFallback) {
  EXPECT_THROW((void)Ints().allocate(2), std::bad_alloc);
  EXPECT_THROW((void)Ints().allocate(SIZE_MAX), std::bad_alloc);
  EXPECT_EQ(Traits::max_size(Ints()), 100u);
  int* const none = Ints().allocate(0);  // As one.
  EXPECT_TRUE(Ints::pool().owns(none));
  Ints().deallocate(none, 0);
}

TEST(ArrayAllocator, ALockOfTheUsersLetsThreadsShareAPool) {
  struct Own {};
  using Locked = ArrayAllocator<int, 400, tarn::OverflowThrow, Own, tarn::SpinLock>;
  std::vector<int> sums(4);
  support::in_threads(sums.size(), [&sums](std::size_t t) {
    for (int round = 0; round != 200; ++round) {
      std::list<int, Locked> list;
      for (int i = 0; i != 100; ++i) list.push_back(i);
      sums[t] += std::accumulate(list.begin(), list.end(), 0);
    }
  });
  for (const int sum : sums) EXPECT_EQ(sum, 200 * 4950);
}

// Filled by a constructor that runs before main, emptied by a destructor after it.
struct Late {
  using List = std::list<int, ArrayAllocator<int, 10, tarn::OverflowThrow, Late>>;
  List list{1, 2, 3};
} late;

TEST(ArrayAllocator, StaticContainersUseItBeforeMain) { EXPECT_EQ(late.list.size(), 3u); }

}  // namespace
}  // namespace array_pools
