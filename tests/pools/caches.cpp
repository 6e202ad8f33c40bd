// Object caches, and frames of coroutines.
//
// SPDX-License-Identifier: MIT
#include <coroutine>
#include <csignal>
#include <set>
#include <stdexcept>
#include <vector>

#include "sources.hpp"
#include "tarn/arena/arena.hpp"
#include "tarn/pool/object_cache.hpp"
#include "tarn/standard/coroutine.hpp"

namespace pools {
namespace {

struct Expensive {
  static inline int built = 0;
  static inline int alive = 0;
  explicit Expensive(bool fails = false) {
    if (fails) throw std::runtime_error("no");
    ++built;
    ++alive;
  }
  ~Expensive() { --alive; }
  std::vector<int> table = std::vector<int>(100);
};

TEST(ObjectCache, RecyclesWhatIsBuilt) {
  Expensive::built = 0;
  {
    CountingSource source;
    tarn::ObjectCache<Expensive> cache(source);
    for (int round = 0; round < 100; ++round) {
      std::set<Expensive*> taken;
      for (int i = 0; i < 10; ++i) EXPECT_TRUE(taken.insert(cache.take()).second);
      for (Expensive* const object : taken) cache.give(object);
    }
    EXPECT_EQ(Expensive::built, 10);
    EXPECT_EQ(cache.hits(), 990u);
    EXPECT_EQ(cache.misses(), 10u);
    EXPECT_EQ(cache.idle(), 10u);
    Expensive* const last = cache.take();
    last->table[5] = 42;
    cache.give(last);
    EXPECT_EQ(cache.take()->table[5], 42);  // As it was given.
    EXPECT_EQ(cache.trim(4), 5u);
    EXPECT_EQ(Expensive::alive, 5);
    EXPECT_TRUE(cache.check());
    cache.give(nullptr);
  }
  EXPECT_EQ(Expensive::alive, 0);  // That which was taken, too.
}

TEST(ObjectCache, KeepsNoMoreThanItIsTold) {
  tarn::ObjectCache<Expensive> cache(3);
  std::vector<Expensive*> taken;
  for (int i = 0; i < 10; ++i) taken.push_back(cache.take());
  for (Expensive* const object : taken) cache.give(object);
  EXPECT_EQ(cache.idle(), 3u);
  EXPECT_EQ(Expensive::alive, 3);
}

TEST(ObjectCache, Leases) {
  tarn::ObjectCache<Expensive> cache;
  {
    auto a = cache.borrow();
    auto b = cache.borrow();
    EXPECT_NE(a.get(), b.get());
    b = std::move(a);
    EXPECT_EQ(b->table.size(), 100u);
  }
  EXPECT_EQ(cache.idle(), 2u);
  static_cast<void>(cache.take());
  static_cast<void>(cache.take());
  EXPECT_THROW(static_cast<void>(cache.take(true)), std::runtime_error);
  EXPECT_TRUE(cache.check());
}

TEST(ObjectCacheDeathTest, GivenTwice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  tarn::PoolOptions named;
  named.name = "parsers";
  tarn::ObjectCache<Expensive> cache(0, named);
  Expensive* const object = cache.take();
  cache.give(object);
  EXPECT_EXIT(cache.give(object), testing::KilledBySignal(SIGABRT),
              "^tarn: double free: tarn_object_cache_give.*the pool \"parsers\"");
}

// Also when the first time destroyed the object, and for one of another cache.
TEST(ObjectCacheDeathTest, GivenWhatIsNotOut) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const char* const said = "tarn: double free: tarn_object_cache_give|use-after-poison";
  tarn::ObjectCache<Expensive> cache(1);
  tarn::ObjectCache<Expensive> other;
  Expensive* const kept = cache.take();
  Expensive* const destroyed = cache.take();
  cache.give(kept);
  cache.give(destroyed);
  EXPECT_DEATH(cache.give(destroyed), said);
  Expensive* const foreign = other.take();
  EXPECT_DEATH(cache.give(foreign), said);
  EXPECT_EQ(cache.trim(), 1u);
  EXPECT_DEATH(cache.give(kept), said);
}

// An object that has one of the same cache, which it gives back at its end.
struct Pair {
  static inline int ended = 0;
  explicit Pair(tarn::ObjectCache<Pair>& cache) : home(&cache) {}
  ~Pair() {
    ++ended;
    home->give(other);
  }
  tarn::ObjectCache<Pair>* home;
  Pair* other = nullptr;
};

TEST(ObjectCache, EndsEachObjectOnce) {
  for (const bool older : {false, true}) {
    Pair::ended = 0;
    {
      tarn::ObjectCache<Pair> cache(1);
      Pair* const a = cache.take(cache);
      Pair* const b = cache.take(cache);
      (older ? a : b)->other = older ? b : a;
      cache.give(cache.take(cache));
    }
    EXPECT_EQ(Pair::ended, 3);
  }
}

TEST(ObjectCache, OutOfMemory) {
  CountingSource source;
  source.allowed = 0;
  tarn::ObjectCache<Expensive> cache(source);
  EXPECT_THROW(static_cast<void>(cache.take()), std::bad_alloc);
  tarn::PoolOptions reserving;
  reserving.reserve_blocks = 100;
  EXPECT_THROW(tarn::ObjectCache<Expensive>(source, 0, reserving), std::bad_alloc);
  reserving.alignment = 24;
  EXPECT_THROW(tarn::ObjectCache<Expensive>(source, 0, reserving), tarn::InvalidOptions);
}

struct Sum {
  struct promise_type : tarn::CoroutineFrames {
    int value = 0;
    Sum get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_value(int v) { value = v; }
    void unhandled_exception() { throw; }
  };
  std::coroutine_handle<promise_type> handle;
  int get() {
    handle.resume();
    const int value = handle.promise().value;
    handle.destroy();
    return value;
  }
};

template <class A>
Sum add(A&, int a, int b) {
  co_return a + b;
}

Sum add_by_handle(tarn::ArenaRef, int a, int b) { co_return a + b; }

[[gnu::noinline]] Sum begin_by_handle(tarn::Arena& arena) {
  return add_by_handle(arena, 20, 22);  // The parameter ends here.
}

Sum add_plainly(int a, int b) { co_return a + b; }

struct Adder {
  int base;
  Sum add(tarn::Pool&, int n) { co_return base + n; }
};

TEST(CoroutineFrames, KeepHandlesByValue) {
  tarn::Arena arena;
  for (int i = 0; i < 3; ++i) {
    Sum sum = begin_by_handle(arena);
    EXPECT_TRUE(arena.owns(sum.handle.address()));
    volatile char other[2000];
    for (volatile char& c : other) c = 0x41;
    EXPECT_EQ(sum.get(), 42);
    EXPECT_EQ(arena.stats().used_bytes, 0u);  // It went back: it was the last block.
  }
}

TEST(CoroutineFrames, ComeFromTheAllocator) {
  CountingSource source;
  tarn::Arena arena(source);
  EXPECT_EQ(add(arena, 1, 2).get(), 3);
  EXPECT_EQ(source.calls, 1u);
  tarn::Pool frames(400, source);
  Sum waiting = add(frames, 3, 4);
  EXPECT_EQ(frames.stats().live_blocks, 1u);
  EXPECT_TRUE(frames.owns(waiting.handle.address()));
  EXPECT_EQ(waiting.get(), 7);
  EXPECT_EQ(frames.stats().live_blocks, 0u);
  Adder adder{10};
  Sum member = adder.add(frames, 5);
  EXPECT_EQ(frames.stats().live_blocks, 1u);
  EXPECT_EQ(member.get(), 15);
  EXPECT_EQ(add_plainly(5, 6).get(), 11);
  tarn::Pool small(16, source);
  EXPECT_THROW(static_cast<void>(add(small, 1, 2)), std::bad_alloc);
}

}  // namespace
}  // namespace pools
