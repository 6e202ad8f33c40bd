// The options of heaps: what is refused, and names.
//
// SPDX-License-Identifier: MIT
#include <string>

#include "heap.hpp"

namespace heaps {
namespace {

void expect_invalid(const tarn_heap_options& wanted) {
  errno = 0;
  const tarn_heap heap = tarn_heap_create(&wanted);
  EXPECT_TRUE(is_none(heap));
  EXPECT_EQ(errno, EINVAL);
}

TEST(Options, NullMeansNone) {
  const tarn_heap heap = tarn_heap_create(nullptr);
  ASSERT_FALSE(is_none(heap));
  EXPECT_STREQ(tarn_heap_name(heap), "");
  EXPECT_NE(tarn_heap_allocate(heap, 10), nullptr);
  EXPECT_EQ(tarn_heap_destroy(heap), 0);
}

TEST(Options, OfAnotherSize) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{8}, sizeof(tarn_heap_options) - 1, SIZE_MAX}) {
    tarn_heap_options wanted = options();
    wanted.bytes = bytes;
    expect_invalid(wanted);
  }
}

TEST(Options, ModesThatAreNone) {
  for (const int threads : {-1, 3, 4, 255, 256, INT32_MAX, INT32_MIN}) {
    expect_invalid(options(threads));
  }
}

TEST(Options, ParentsThatAreHalfOne) {
  const Heap parent;
  tarn_heap_options wanted = options();
  wanted.parent = parent;
  wanted.parent.id = 0;
  expect_invalid(wanted);
  wanted.parent = parent;
  wanted.parent.record = nullptr;
  expect_invalid(wanted);
  wanted.parent = parent;
  const Heap child(wanted);
  EXPECT_FALSE(same(child, parent));
}

TEST(Options, StatisticsOfAnotherSize) {
  const Heap heap;
  tarn_heap_stats stats{};
  for (const std::size_t bytes : {std::size_t{0}, sizeof stats - 1}) {
    stats.bytes = bytes;
    errno = 0;
    EXPECT_EQ(tarn_heap_get_stats(heap, &stats), -1);
    EXPECT_EQ(errno, EINVAL);
  }
  errno = 0;
  EXPECT_EQ(tarn_heap_get_stats(heap, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  stats.bytes = sizeof stats;
  stats.live_blocks = 99;
  EXPECT_EQ(tarn_heap_get_stats(heap, &stats), 0);
  EXPECT_EQ(stats.live_blocks, 0u);
}

TEST(Names, AreCopiedAndCut) {
  const std::string longest(TARN_HEAP_NAME_BYTES - 1, 'n');
  for (const std::string& name : {std::string(), std::string("a"), std::string("two words"),
                                  longest.substr(1), longest, longest + "x", longest + longest}) {
    std::string given = name;
    const Heap heap(options(TARN_HEAP_SHARED, given.c_str()));
    given.assign(given.size(), '?');
    EXPECT_EQ(tarn_heap_name(heap), name.substr(0, TARN_HEAP_NAME_BYTES - 1));
  }
}

TEST(Names, NoneAfterOneThatHadAName) {
  // The record is used again; its name is not.
  { const Heap named(options(TARN_HEAP_SHARED, "somebody")); }
  std::vector<tarn_heap> made;
  for (int i = 0; i < 10; ++i) {
    made.push_back(tarn_heap_create(nullptr));
    EXPECT_STREQ(tarn_heap_name(made.back()), "");
  }
  for (const tarn_heap heap : made) EXPECT_EQ(tarn_heap_destroy(heap), 0);
}

TEST(Names, ManyHeapsOfOneName) {
  const Heap a(options(TARN_HEAP_SHARED, "twin"));
  const Heap b(options(TARN_HEAP_SERIALISED, "twin"));
  EXPECT_FALSE(same(a, b));
  EXPECT_STREQ(tarn_heap_name(a), tarn_heap_name(b));
}

}  // namespace
}  // namespace heaps
