// Arenas that are wound back to marks which were taken between other things, and that make room.
//
// SPDX-License-Identifier: MIT
#include <cstring>

#include "sources.hpp"
#include "tarn/arena/arena.hpp"
#include "tarn/source/buffer_source.hpp"

namespace pools {
namespace {

// What was there before a mark may go before the arena is wound back to it, whatever its size.
TEST(Arena, OlderBlocksMayGoBeforeTheMark) {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{1'000'000}}) {
    for (const auto mode : {tarn::Mode::fast, tarn::Mode::checked}) {
      CountingSource source;
      tarn::ArenaOptions options;
      options.mode = mode;
      tarn::Arena arena(source, options);
      void* const first = arena.allocate(bytes);
      std::memset(arena.allocate(10), 1, 10);
      void* p = arena.allocate(bytes);
      {
        tarn::ArenaScope scope(arena);
        arena.deallocate(p, bytes);
        EXPECT_TRUE(arena.check());
        // Other blocks in its place, of which one reaches beyond the mark.
        std::memset(arena.allocate(bytes / 2), 2, bytes / 2);
        std::memset(arena.allocate(3 * bytes), 3, 3 * bytes);
      }
      EXPECT_TRUE(arena.check());
      EXPECT_TRUE(arena.owns(first));
      p = arena.allocate(bytes);
      {
        tarn::ArenaScope scope(arena);
        p = arena.resize(p, bytes, 4 * bytes);
        std::memset(p, 4, 4 * bytes);
      }
      EXPECT_TRUE(arena.check());
      std::memset(arena.allocate(bytes), 5, bytes);
      std::memset(arena.allocate(3 * bytes), 6, 3 * bytes);
      arena.reset();
      EXPECT_EQ(arena.stats().used_bytes, 0u);
    }
  }
}

// No block grows to what cannot be, wherever it is and however it would be rounded.
TEST(Arena, NothingGrowsBeyondAllBounds) {
  for (const auto mode : {tarn::Mode::fast, tarn::Mode::checked}) {
    tarn::ArenaOptions options;
    options.mode = mode;
    tarn::Arena arena(options);
    for (const std::size_t old : {std::size_t{100}, std::size_t{1'000'000}}) {
      for (const bool newest : {true, false}) {
        void* const p = arena.allocate(old);
        if (!newest) static_cast<void>(arena.allocate(10));
        for (std::size_t less = 0; less < 40; ++less) {
          for (const std::size_t bytes : {SIZE_MAX - less, PTRDIFF_MAX + std::size_t{20} - less}) {
            ASSERT_FALSE(arena.try_expand(p, old, bytes));
            ASSERT_EQ(arena.try_resize(p, old, bytes), nullptr);
            ASSERT_EQ(arena.try_allocate(bytes), nullptr);
          }
        }
        EXPECT_TRUE(arena.check());
      }
    }
  }
}

// Chunks that are kept for later do not stand in the way of a block that needs their memory.
TEST(Arena, WhatIsKeptMakesRoom) {
  CountingSource source;
  tarn::ArenaOptions options;
  options.limit_bytes = 1'000'000;
  options.keep_bytes = tarn::keep_all;
  tarn::Arena arena(source, options);
  while (arena.try_allocate(1000) != nullptr) {
  }
  arena.reset();
  EXPECT_GT(arena.stats().retained_bytes, 900'000u);
  EXPECT_EQ(arena.try_allocate(2'000'000), nullptr);  // Never: nothing goes back for that.
  EXPECT_GT(arena.stats().retained_bytes, 900'000u);
  EXPECT_NE(arena.try_allocate(500'000), nullptr);
  EXPECT_TRUE(arena.check());

  static tarn::StaticBuffer<100'000> buffer;
  tarn::ArenaOptions all;
  all.keep_bytes = tarn::keep_all;
  tarn::Arena small(buffer, all);
  while (small.try_allocate(100) != nullptr) {
  }
  small.reset();
  EXPECT_NE(small.try_allocate(90'000), nullptr);
}

}  // namespace
}  // namespace pools
