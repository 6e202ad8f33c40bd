// Options that are refused: the call fails with an errno, and one line on standard error says what
// is wrong and what to do.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <string>

#include "tarn/tarn.hpp"

namespace {

// What the call wrote to standard error.
template <class Call>
std::string said_by(Call call) {
  testing::internal::CaptureStderr();
  errno = 0;
  call();
  return testing::internal::GetCapturedStderr();
}

int init_pool(int mode) {
  tarn_pool pool;
  tarn_pool_options options{};
  options.bytes = sizeof options;
  options.block_bytes = 32;
  options.mode = mode;
  return tarn_pool_init(&pool, &options);
}

int init_arena(int mode) {
  tarn_arena arena;
  tarn_arena_options options{};
  options.bytes = sizeof options;
  options.mode = mode;
  return tarn_arena_init(&arena, &options);
}

int create_heap(int mode, unsigned flags = 0) {
  tarn_heap_options options{};
  options.bytes = sizeof options;
  options.mode = mode;
  options.flags = flags;
  return tarn_heap_create(&options).record == nullptr ? -1 : 0;
}

TEST(Modes, NumbersThatAreNoneAreRefusedByEachKind) {
  for (const int mode : {-1, 4, INT_MAX, INT_MIN}) {
    const std::string end = ": mode " + std::to_string(mode) + " is none of enum tarn_mode\n";
    EXPECT_EQ(said_by([&] { EXPECT_EQ(init_pool(mode), -1); EXPECT_EQ(errno, EINVAL); }),
              "tarn: invalid options: tarn_pool_init" + end);
    EXPECT_EQ(said_by([&] { EXPECT_EQ(init_arena(mode), -1); EXPECT_EQ(errno, EINVAL); }),
              "tarn: invalid options: tarn_arena_init" + end);
    EXPECT_EQ(said_by([&] { EXPECT_EQ(create_heap(mode), -1); EXPECT_EQ(errno, EINVAL); }),
              "tarn: invalid options: tarn_heap_create" + end);
  }
}

TEST(Modes, AHeapApartFromOthersHasNoneButFast) {
  for (const int mode : {TARN_MODE_CHECKED, TARN_MODE_GUARDED, TARN_MODE_PASSTHROUGH}) {
    const char* const names[] = {"fast", "checked", "guarded", "passthrough"};
    EXPECT_EQ(said_by([&] {
                EXPECT_EQ(create_heap(mode, TARN_HEAP_SEPARATE), -1);
                EXPECT_EQ(errno, EINVAL);
              }),
              std::string("tarn: invalid options: tarn_heap_create: mode ") + names[mode] +
                  " is refused: a heap with a region, a source or flags is always fast\n");
  }
}

TEST(Modes, OneEnumIsForAllKinds) {
  tarn::Heap heap(tarn::HeapOptions{.mode = tarn::Mode::checked});
  tarn::Pool pool(32, {.mode = tarn::Mode::checked});
  tarn::Arena arena({.mode = tarn::Mode::checked});
  EXPECT_NE(heap.allocate(1), nullptr);
  EXPECT_NE(pool.allocate(), nullptr);
  EXPECT_NE(arena.allocate(1), nullptr);
}

}  // namespace
