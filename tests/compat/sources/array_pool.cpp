// A program to the interface of V. Stadnik's "Array-Based Memory Pool and Allocator": each name, in
// the ways in which the article's listing and its benchmark use it. C++11 and later.
//
// SPDX-License-Identifier: MIT
#include <array_pool.hpp>

#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "require.h"

namespace {

// A pool as a member and a pool as a static object.
struct Order {
  int number;
  char symbol[20];
};
ArrayPool<64, sizeof(Order)> orders;

void use_pool() {
  REQUIRE(orders.IsFull() && !orders.IsEmpty());
  REQUIRE(orders.Capacity() == 64 && orders.NumFree() == 64 && orders.NumUsed() == 0);
  REQUIRE(orders.MemorySize() == 64 * sizeof(Order));
  Order* taken[64];
  for (int i = 0; i < 64; ++i) {
    taken[i] = reinterpret_cast<Order*>(orders.Allocate());
    taken[i]->number = i;
  }
  REQUIRE(orders.IsEmpty() && orders.NumFree() == 0 && orders.NumUsed() == 64);
  for (int i = 0; i < 64; ++i) {
    REQUIRE(taken[i]->number == i);
    orders.Deallocate(reinterpret_cast<void*>(taken[i]));
  }
  REQUIRE(orders.IsFull());
  void* const last = orders.Allocate();
  orders.Free(last);
}

// The pool under an allocator of the program's own.
template <class T>
struct Own {
  typedef T value_type;
  static ArrayPool<100, sizeof(T)> pool;
  Own() {}
  template <class U>
  Own(const Own<U>&) {}
  T* allocate(std::size_t) { return static_cast<T*>(pool.Allocate()); }
  void deallocate(T* p, std::size_t) { pool.Deallocate(p); }
};
template <class T>
ArrayPool<100, sizeof(T)> Own<T>::pool;
template <class T, class U>
bool operator==(const Own<T>&, const Own<U>&) {
  return true;
}
template <class T, class U>
bool operator!=(const Own<T>&, const Own<U>&) {
  return false;
}

// As the article's benchmark has it: a container and an allocator of one parameter.
template <class Container>
long fill_back(int n) {
  Container container;
  for (int i = 0; i < n; ++i) container.push_back(i);
  return std::accumulate(container.begin(), container.end(), 0L);
}
template <class Container>
long fill_front(int n) {
  Container container;
  for (int i = 0; i < n; ++i) container.push_front(i);
  return std::accumulate(container.begin(), container.end(), 0L);
}
template <class Set>
std::size_t fill_set(int n) {
  Set set;
  for (int i = 0; i < n; ++i) set.insert(i / 2);
  return set.size();
}
template <class Map>
std::size_t fill_map(int n) {
  Map map;
  for (int i = 0; i < n; ++i) map.insert(typename Map::value_type(i / 2, i));
  return map.size();
}
typedef std::pair<const int, int> Pair;
typedef ArrayAllocatorSTL<Pair> Pairs;

void use_containers() {
  const int n = 1000;
  const long sum = 499500;
  REQUIRE((fill_back<std::list<int, ArrayAllocatorSTL<int>>>(n) == sum));
  REQUIRE((fill_front<std::list<int, ArrayAllocatorSTL<int>>>(n) == sum));
  REQUIRE((fill_front<std::forward_list<int, ArrayAllocatorSTL<int>>>(n) == sum));
  REQUIRE((fill_set<std::set<int, std::less<int>, ArrayAllocatorSTL<int>>>(n) == 500));
  REQUIRE((fill_set<std::multiset<int, std::less<int>, ArrayAllocatorSTL<int>>>(n) == 1000));
  REQUIRE((fill_map<std::map<int, int, std::less<int>, Pairs>>(n) == 500));
  REQUIRE((fill_map<std::multimap<int, int, std::less<int>, Pairs>>(n) == 1000));
  REQUIRE((fill_back<std::list<int, Own<int>>>(100) == 4950));
  // What asks for arrays has them from operator new.
  REQUIRE((fill_back<std::vector<int, ArrayAllocatorSTL<int>>>(n) == sum));
  REQUIRE((fill_back<std::deque<int, ArrayAllocatorSTL<int>>>(n) == sum));
  typedef std::hash<int> Hash;
  typedef std::equal_to<int> Equal;
  REQUIRE((fill_set<std::unordered_set<int, Hash, Equal, ArrayAllocatorSTL<int>>>(n) == 500));
  REQUIRE((fill_map<std::unordered_map<int, int, Hash, Equal, Pairs>>(n) == 500));
  std::vector<bool, ArrayAllocatorSTL<bool>> bits(1000, true);
  REQUIRE(bits[999]);
  typedef std::basic_string<char, std::char_traits<char>, ArrayAllocatorSTL<char>> String;
  REQUIRE((String(100, 'x') + String("y")).size() == 101);
  std::shared_ptr<int> shared = std::allocate_shared<int>(ArrayAllocatorSTL<int>(), 7);
  REQUIRE(*shared == 7);
  std::list<std::unique_ptr<int>, ArrayAllocatorSTL<std::unique_ptr<int>>> owners;
  owners.emplace_back(new int(3));
  REQUIRE(*owners.front() == 3);
}

void use_allocator() {
  ArrayAllocatorSTL<long> one;
  ArrayAllocatorSTL<long> two(one);
  ArrayAllocatorSTL<double> other(one);
  two = one;
  REQUIRE(one == two && !(one != two) && one == other);
  ArrayAllocatorSTL<long>::pointer p = one.allocate(1);
  ArrayAllocatorSTL<long>::const_pointer q = two.allocate(1, p);
  one.construct(p, 5L);
  REQUIRE(one.address(*p) == p && two.address(*q) == q && *p == 5);
  one.destroy(p);
  two.deallocate(p, 1);  // Equal allocators free each other's.
  one.deallocate(const_cast<long*>(q), 1);
  long* const array = one.allocate(50);
  array[49] = 1;
  one.deallocate(array, 50);
  const std::size_t capacity = ALR_CAPACITY;
  REQUIRE(capacity == ARRAY_ALLOCATOR_CAPACITY);
}

// A capacity of the type's own; what happens beyond it, and among threads, by name.
template <class T>
using Few = ArrayAllocatorSTL<T, 50>;

void use_policies() {
  std::list<int, Few<int>> few;
  bool was_thrown = false;
  try {
    for (int i = 0; i < 51; ++i) few.push_back(i);
  } catch (const std::bad_alloc&) {
    was_thrown = true;
  }
  REQUIRE(was_thrown && few.size() == 50);
  std::list<long, ArrayAllocatorSpilling<long, 50>> spilling;
  for (int i = 0; i < 1000; ++i) spilling.push_back(i);
  REQUIRE(spilling.size() == 1000 && spilling.back() == 999);
  REQUIRE((fill_back<std::list<int, ArrayAllocatorUnlocked<int>>>(1000) == 499500));
}

void use_threads() {
  long sums[2] = {0, 0};
  const auto work = [&sums](int t) {
    for (int round = 0; round < 20; ++round) {
      sums[t] = fill_back<std::list<int, ArrayAllocatorSTL<int>>>(1000);
    }
  };
  std::thread one(work, 0), two(work, 1);
  one.join();
  two.join();
  REQUIRE(sums[0] == 499500 && sums[1] == 499500);
}

}  // namespace

int main() {
  use_pool();
  use_containers();
  use_allocator();
  use_policies();
  use_threads();
  return 0;
}
