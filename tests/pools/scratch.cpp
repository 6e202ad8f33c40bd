// Scratch: the stack, else the heap, and how often.
//
// SPDX-License-Identifier: MIT
#include "tarn/arena/scratch.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>

#include "../support/threads.hpp"
#include "tarn/heap/heap.h"

namespace pools {
namespace {

using tarn::Scratch;

template <class T>
bool lies_in(const T* p, const void* object, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(object);
  return at < bytes;
}

TEST(Scratch, IsOnTheStackWhenItFits) {
  Scratch<int, 8> small(8);
  EXPECT_FALSE(small.is_spilled());
  EXPECT_TRUE(lies_in(small.data(), &small, sizeof small));
  EXPECT_EQ(small.size(), 8u);
  Scratch<int, 8> none(0);
  EXPECT_FALSE(none.is_spilled());
}

TEST(Scratch, SpillsAndGivesBack) {
  tarn_heap_stats before = TARN_HEAP_STATS();
  tarn_heap_get_stats(tarn_heap_main(), &before);
  for (int i = 0; i < 1000; ++i) {
    Scratch<int, 8> large(9);
    EXPECT_TRUE(large.is_spilled());
    EXPECT_FALSE(lies_in(large.data(), &large, sizeof large));
    for (int& number : large) number = i;
  }
  tarn_heap_stats after = before;
  tarn_heap_get_stats(tarn_heap_main(), &after);
  EXPECT_LT(after.live_blocks, before.live_blocks + 100);
}

TEST(Scratch, KeepsContentsWhenItGrows) {
  Scratch<char, 16> text(10);
  for (std::size_t i = 0; i < 10; ++i) text[i] = static_cast<char>('a' + i);
  text.grow(16);
  EXPECT_FALSE(text.is_spilled());
  text.grow(17);
  EXPECT_TRUE(text.is_spilled());
  text.grow(40'000);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(text[i], static_cast<char>('a' + i));
  EXPECT_FALSE(text.try_grow(SIZE_MAX));
  EXPECT_EQ(text.size(), 40'000u);
  EXPECT_THROW(text.grow(SIZE_MAX / 2 + 9), std::bad_alloc);
}

TEST(Scratch, OutOfMemory) {
  EXPECT_THROW((Scratch<int, 4>(SIZE_MAX)), std::bad_alloc);
  EXPECT_THROW((Scratch<int, 4>(SIZE_MAX / 4 + 2)), std::bad_alloc);
  EXPECT_THROW((Scratch<int, 4>(PTRDIFF_MAX)), std::bad_alloc);
}

TEST(Scratch, CountsItsSpills) {
  struct Own {
    char c;
  };
  for (std::size_t n = 1; n <= 10; ++n) Scratch<Own, 7> scratch(n);
  const tarn::ScratchSite all = Scratch<Own, 7>::stats();
  EXPECT_EQ(all.spills, 3u);
  EXPECT_EQ(all.bytes_max, 10u);
  tarn::ScratchSite site{};
  support::in_threads(4, [&site] {
    for (std::size_t n = 1; n <= 1000; ++n) Scratch<Own, 7> scratch(n % 10, site);
  });
  EXPECT_EQ(tarn_scratch_read(&site).uses, 4000u);
  EXPECT_EQ(tarn_scratch_read(&site).spills, 800u);
  EXPECT_EQ(tarn_scratch_read(&site).bytes_max, 9u);
  EXPECT_EQ((Scratch<Own, 7>::stats().spills), 3u);
}

}  // namespace
}  // namespace pools
