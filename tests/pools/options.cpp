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
  tarn_pool_options options = TARN_POOL_OPTIONS();
  options.block_bytes = 32;
  options.mode = mode;
  return tarn_pool_init(&pool, &options);
}

int init_arena(int mode) {
  tarn_arena arena;
  tarn_arena_options options = TARN_ARENA_OPTIONS();
  options.mode = mode;
  return tarn_arena_init(&arena, &options);
}

int create_heap(int mode, unsigned flags = 0) {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.mode = mode;
  options.flags = flags;
  return tarn_heap_create(&options).record == nullptr ? -1 : 0;
}

TEST(Modes, NumbersThatAreNoneAreRefusedByEachKind) {
  for (const int mode : {-1, 4, 5, INT_MAX, INT_MIN}) {
    const std::string end = mode == TARN_MODE_HARDENED
                                ? ": mode hardened is refused: only the process's malloc has it: "
                                  "TARN_OPTIONS=mode=hardened\n"
                                : ": mode " + std::to_string(mode) + " is none of enum tarn_mode\n";
    EXPECT_EQ(said_by([&] {
                EXPECT_EQ(init_pool(mode), -1);
                EXPECT_EQ(errno, EINVAL);
              }),
              "tarn: invalid options: tarn_pool_init" + end);
    EXPECT_EQ(said_by([&] {
                EXPECT_EQ(init_arena(mode), -1);
                EXPECT_EQ(errno, EINVAL);
              }),
              "tarn: invalid options: tarn_arena_init" + end);
    EXPECT_EQ(said_by([&] {
                EXPECT_EQ(create_heap(mode), -1);
                EXPECT_EQ(errno, EINVAL);
              }),
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

// A struct of no size, and of another than the library knows: EINVAL, and a line with the macro.
template <class T, class Call>
void expect_size_refused(const char* function, const char* macro, T given, Call call) {
  const std::string start = std::string("tarn: invalid options: ") + function + ": bytes is ";
  const std::string middle = ", not " + std::to_string(sizeof(T)) + ": write " + macro;
  EXPECT_EQ(given.bytes, sizeof(T)) << macro;
  given.bytes = 0;
  EXPECT_EQ(said_by([&] {
              EXPECT_LT(call(&given), 0) << function;
              EXPECT_EQ(errno, EINVAL);
            }),
            start + "0" + middle + "(...), which sets it\n");
  given.bytes = sizeof(T) - 1;
  EXPECT_EQ(said_by([&] {
              EXPECT_LT(call(&given), 0) << function;
              EXPECT_EQ(errno, EINVAL);
            }),
            start + std::to_string(sizeof(T) - 1) + middle +
                "(...), which sets it, and compile with the headers of this library\n");
}

TEST(Sizes, OfOptionsThatWereForgotten) {
  expect_size_refused("tarn_pool_init", "TARN_POOL_OPTIONS", TARN_POOL_OPTIONS(),
                      [pool = tarn_pool()](auto* options) mutable {
                        options->block_bytes = 32;
                        return tarn_pool_init(&pool, options);
                      });
  expect_size_refused(
      "tarn_arena_init", "TARN_ARENA_OPTIONS", TARN_ARENA_OPTIONS(),
      [arena = tarn_arena()](auto* options) mutable { return tarn_arena_init(&arena, options); });
  expect_size_refused(
      "tarn_heap_create", "TARN_HEAP_OPTIONS", TARN_HEAP_OPTIONS(),
      [](auto* options) { return tarn_heap_create(options).record == nullptr ? -1 : 0; });
  expect_size_refused("tarn_xalloc_init", "TARN_XALLOC_OPTIONS", TARN_XALLOC_OPTIONS(),
                      [](auto* options) { return tarn_xalloc_init(options); });
  expect_size_refused("tarn_fixed_allocator_init", "TARN_FIXED_ALLOCATOR_OPTIONS",
                      TARN_FIXED_ALLOCATOR_OPTIONS(),
                      [own = tarn_fixed_allocator()](auto* options) mutable {
                        options->block_bytes = 32;
                        return tarn_fixed_allocator_init(&own, options);
                      });
  expect_size_refused("tarn_object_cache_init", "TARN_OBJECT_CACHE_OPTIONS",
                      TARN_OBJECT_CACHE_OPTIONS(),
                      [cache = tarn_object_cache()](auto* options) mutable {
                        return tarn_object_cache_init(&cache, options);
                      });
  tarn_object_cache_options outer = TARN_OBJECT_CACHE_OPTIONS();
  expect_size_refused("tarn_object_cache_init", "TARN_POOL_OPTIONS", TARN_POOL_OPTIONS(),
                      [&, cache = tarn_object_cache()](auto* options) mutable {
                        outer.objects = *options;
                        return tarn_object_cache_init(&cache, &outer);
                      });
  expect_size_refused("tarn_os_source_init", "TARN_OS_SOURCE_OPTIONS", TARN_OS_SOURCE_OPTIONS(),
                      [source = tarn_os_source()](auto* options) mutable {
                        return tarn_os_source_init(&source, options);
                      });
  expect_size_refused("tarn_file_source_init", "TARN_FILE_SOURCE_OPTIONS",
                      TARN_FILE_SOURCE_OPTIONS(),
                      [source = tarn_file_source()](auto* options) mutable {
                        return tarn_file_source_init(&source, options);
                      });
  expect_size_refused("tarn_reclaimer_register", "TARN_RECLAIMER_OPTIONS", TARN_RECLAIMER_OPTIONS(),
                      [reclaimer = tarn_reclaimer()](auto* options) mutable {
                        return tarn_reclaimer_register(&reclaimer, options);
                      });
}

TEST(Sizes, OfSourcesThatWereForgotten) {
  const tarn_source usual = tarn_source_default();
  const auto pool = [](const tarn_source* source) {
    tarn_pool made;
    tarn_pool_options options = TARN_POOL_OPTIONS();
    options.block_bytes = 32;
    options.source = source;
    return tarn_pool_init(&made, &options);
  };
  expect_size_refused("tarn_pool_init", "TARN_SOURCE", usual, pool);
  const auto arena = [](const tarn_source* source) {
    tarn_arena made;
    tarn_arena_options options = TARN_ARENA_OPTIONS();
    options.source = source;
    return tarn_arena_init(&made, &options);
  };
  expect_size_refused("tarn_arena_init", "TARN_SOURCE", usual, arena);
  const auto heap = [](const tarn_source* source) {
    tarn_heap_options options = TARN_HEAP_OPTIONS();
    options.source = source;
    return tarn_heap_create(&options).record == nullptr ? -1 : 0;
  };
  expect_size_refused("tarn_heap_create", "TARN_SOURCE", usual, heap);
}

TEST(Sizes, OfStatisticsThatWereForgotten) {
  tarn::Pool pool(32);
  expect_size_refused("tarn_pool_get_stats", "TARN_POOL_STATS", TARN_POOL_STATS(),
                      [&](auto* stats) { return tarn_pool_get_stats(pool.get(), stats); });
  tarn::Arena arena;
  expect_size_refused("tarn_arena_get_stats", "TARN_ARENA_STATS", TARN_ARENA_STATS(),
                      [&](auto* stats) { return tarn_arena_get_stats(arena.get(), stats); });
  tarn::Heap heap;
  expect_size_refused("tarn_heap_get_stats", "TARN_HEAP_STATS", TARN_HEAP_STATS(),
                      [&](auto* stats) { return tarn_heap_get_stats(heap.get(), stats); });
  expect_size_refused("tarn_recover_get_stats", "TARN_RECOVER_STATS", TARN_RECOVER_STATS(),
                      [](auto* stats) { return tarn_recover_get_stats(stats); });
}

}  // namespace
