// The companion headers of xallocator (xlist.h and its sisters), in each way that their article
// uses them, with what a container asks of an allocator; also over static pools.
//
// SPDX-License-Identifier: MIT
#include "xlist.h"
#include "xmake_shared.h"
#include "xmap.h"
#include "xqueue.h"
#include "xset.h"
#include "xsstream.h"
#include "xstring.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <new>
#include <utility>

#undef ASSERT_TRUE  // gtest's, too.
#include "Fault.h"

namespace {

#ifdef STATIC_POOLS
std::size_t usable(const void* p) { return tarn_xstatic_usable_bytes(p); }
#else
std::size_t usable(const void* p) { return tarn_xalloc_usable_bytes(p); }
#endif

TEST(XContainers, AsInTheArticle) {
  xlist<int> numbers;
  numbers.push_back(123);
  EXPECT_NE(usable(&numbers.front() - 4), 0u);  // Behind the two links.
  xmap<char, int> values;
  values['a'] = 10;
  xmultimap<char, int> more;
  more.insert(std::make_pair('b', 1));
  xqueue<int> queue;
  queue.push(123);
  xset<xstring> words;
  words.insert("hello");
  words.insert("world");
  xmultiset<int> all = {1, 1};
  EXPECT_EQ(values.at('a') + queue.front() + int(words.size() + more.size() + all.size()), 138);
  const xstring text("a text that is longer than what a string has inside");
  EXPECT_GT(usable(text.data()), text.size());
  xwstring wide = L"This is ";
  wide += L"my string.";
  xstringstream stream;
  stream << "hello world " << 2016 << std::ends;
  EXPECT_EQ(stream.str(), xstring("hello world 2016\0", 17));
  xostringstream out;
  xwstringstream wide_stream;
  xwostringstream wide_out;
  out << 1;
  wide_stream << L"hello " << 2016;
  wide_out << wide;
  EXPECT_EQ(wide_out.str(), L"This is my string.");
  const std::shared_ptr<xstring> shared = xmake_shared<xstring>(100u, 'x');
  EXPECT_EQ(shared->size(), 100u);
}

struct alignas(64) Wide {
  char bytes[64];
};

TEST(XContainers, WhatContainersAskFor) {
#ifndef STATIC_POOLS  // Which align to 16.
  const std::list<Wide, stl_allocator<Wide>> wide(3);
  for (const Wide& each : wide) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&each) % 64, 0u);
#endif
  stl_allocator<int> ints;
  const stl_allocator<long> longs(ints);
  EXPECT_TRUE(longs == stl_allocator<void*>());
  EXPECT_FALSE(longs != ints);
  EXPECT_THROW(static_cast<void>(ints.allocate(SIZE_MAX / 2)), std::bad_alloc);
  xlist<int> one = {1, 2, 3};
  xlist<int> other;
  other.splice(other.end(), one);
  one = std::move(other);
  EXPECT_EQ(one.size(), 3u);
  static int asked = 0;
  std::set_new_handler([] {
    if (++asked == 2) std::set_new_handler(nullptr);
  });
  EXPECT_THROW(static_cast<void>(ints.allocate(SIZE_MAX / 8)), std::bad_alloc);
  EXPECT_EQ(asked, 2);
}

TEST(XContainersDeathTest, Assertions) {
  ASSERT_TRUE(1 + 1 == 2);
  EXPECT_EXIT(FaultHandler("file.cpp", 7), testing::KilledBySignal(SIGABRT),
              "tarn: fault: file.cpp:7");
}

TEST(XContainers, TypesOfTheSource) {
  const UINT number = 3;
  const INT negative = -1;
  const CHAR letter = 'a';
  const BOOL yes = TRUE;
  EXPECT_TRUE(number + 1u == 4u && negative < 0 && letter == 'a' && yes && !FALSE);
}

}  // namespace
