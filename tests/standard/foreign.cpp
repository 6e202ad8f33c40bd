// foreign: containers of other libraries over tarn's allocators: Boost.Container, Abseil,
// robin-map, colony, as far as they are installed.
//
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#if __has_include(<boost/container/vector.hpp>)
#include <boost/container/deque.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/container/list.hpp>
#include <boost/container/map.hpp>
#include <boost/container/set.hpp>
#include <boost/container/slist.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/container/stable_vector.hpp>
#include <boost/container/string.hpp>
#include <boost/container/vector.hpp>
#define TARN_TEST_BOOST 1
#endif
#if defined(TARN_TEST_ABSEIL)
#include <absl/container/btree_map.h>
#include <absl/container/fixed_array.h>
#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>
#include <absl/container/node_hash_map.h>
#endif
#if __has_include(<tsl/robin_map.h>)
#include <tsl/robin_map.h>
#define TARN_TEST_ROBIN 1
#endif
#if __has_include(<plf_colony.h>)
#include <plf_colony.h>
#define TARN_TEST_COLONY 1
#endif

#include <gtest/gtest.h>

#include "tarn/arena/arena.hpp"
#include "tarn/standard/allocator.hpp"

namespace standard {
namespace {

using tarn::Allocator;
using tarn::Heap;

// Every block of what `fill` builds lies in the heap, and all of them go back.
template <class Build>
void lies_in_heap(Build build) {
  Heap heap("foreign");
  {
    auto container = build(heap);
    EXPECT_GT(heap.stats().live_blocks, 0u);
    auto copy = container;
    auto moved = std::move(container);
    EXPECT_EQ(copy.size(), moved.size());
    EXPECT_EQ(moved.size(), 500u);
  }
  EXPECT_EQ(heap.stats().live_blocks, 0u);
}

template <class Container>
auto sequence() {
  return [](Heap& heap) {
    Container c{typename Container::allocator_type(heap)};
    for (int i = 0; i < 500; ++i) c.insert(c.end(), i);
    return c;
  };
}

template <class Map>
auto map() {
  return [](Heap& heap) {
    Map m{typename Map::allocator_type(heap)};
    for (int i = 0; i < 500; ++i) m.emplace(i, i + 1);
    return m;
  };
}

using Pairs = Allocator<std::pair<const int, int>>;

#if defined(TARN_TEST_BOOST)
TEST(Foreign, Boost) {
  namespace bc = boost::container;
  using Ints = Allocator<int>;
  lies_in_heap(sequence<bc::vector<int, Ints>>());
  lies_in_heap(sequence<bc::stable_vector<int, Ints>>());
  lies_in_heap(sequence<bc::small_vector<int, 4, Ints>>());
  lies_in_heap(sequence<bc::deque<int, Ints>>());
  lies_in_heap(sequence<bc::list<int, Ints>>());
  lies_in_heap(sequence<bc::slist<int, Ints>>());
  lies_in_heap(sequence<bc::set<int, std::less<int>, Ints>>());
  lies_in_heap(map<bc::map<int, int, std::less<int>, Pairs>>());
  lies_in_heap(map<bc::flat_map<int, int, std::less<int>, Allocator<std::pair<int, int>>>>());
  Heap heap("string");
  const bc::basic_string<char, std::char_traits<char>, Allocator<char>> text(300, 'a', heap);
  EXPECT_TRUE(heap.owns(text.c_str()));
}
#endif

#if defined(TARN_TEST_ABSEIL)
TEST(Foreign, Abseil) {
  lies_in_heap(map<absl::flat_hash_map<int, int, absl::Hash<int>, std::equal_to<int>, Pairs>>());
  lies_in_heap(map<absl::node_hash_map<int, int, absl::Hash<int>, std::equal_to<int>, Pairs>>());
  lies_in_heap(map<absl::btree_map<int, int, std::less<int>, Pairs>>());
  lies_in_heap(sequence<absl::InlinedVector<int, 4, Allocator<int>>>());
  Heap heap("fixed");
  const absl::FixedArray<int, 0, Allocator<int>> array(500, 7, Allocator<int>(heap));
  EXPECT_TRUE(heap.owns(array.data()));
}
#endif

#if defined(TARN_TEST_ROBIN)
TEST(Foreign, RobinMap) {
  using Plain = Allocator<std::pair<int, int>>;
  lies_in_heap([](Heap& heap) {
    tsl::robin_map<int, int, std::hash<int>, std::equal_to<int>, Plain> m(16, Plain(heap));
    for (int i = 0; i < 500; ++i) m.emplace(i, i + 1);
    return m;
  });
}
#endif

#if defined(TARN_TEST_COLONY)
TEST(Foreign, Colony) {
  lies_in_heap([](Heap& heap) {
    plf::colony<int, Allocator<int>> c{Allocator<int>(heap)};
    for (int i = 0; i < 500; ++i) c.insert(i);
    return c;
  });
}
#endif

}  // namespace
}  // namespace standard
