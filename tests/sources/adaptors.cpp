// Adaptors: what tarn/source/adaptors.hpp promises, around sources and around allocators, nested.
//
// SPDX-License-Identifier: MIT
#include "tarn/source/adaptors.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "../support/threads.hpp"
#include "conformance.hpp"
#include "sources_conformance.hpp"
#include "tarn/arena/arena.hpp"
#include "tarn/heap/heap_source.hpp"
#include "tarn/pool/pool.hpp"
#include "tarn/source/buffer_source.hpp"

namespace sources {
namespace {

using tarn::BufferSource;
using tarn::Chunk;
using tarn::Counted;
using tarn::Failing;
using tarn::Limited;
using tarn::Locked;
using tarn::Operation;
using tarn::Pool;
using tarn::StaticBuffer;
using tarn::Traced;
using tarn::TraceEvent;

struct Log {
  std::vector<TraceEvent>* events;
  void operator()(const TraceEvent& event) const { events->push_back(event); }
};
struct Ignore {
  void operator()(const TraceEvent&) const {}
};

// What an adaptor wraps, it is; also around itself and the others, and no more than that.
template <template <class...> class A, class... More>
constexpr bool models_what_it_wraps() {
  return tarn::Source<A<BufferSource, More...>> && tarn::Source<A<BufferSource&, More...>> &&
         !tarn::BlockAllocator<A<BufferSource, More...>> &&
         tarn::BlockAllocator<A<Pool, More...>> && tarn::BlockAllocator<A<Pool&, More...>> &&
         !tarn::Source<A<Pool, More...>> && tarn::Source<A<tarn::Arena, More...>> &&
         tarn::BlockAllocator<A<tarn::Arena, More...>> &&
         tarn::Source<A<A<BufferSource, More...>&, More...>> &&
         tarn::BlockAllocator<A<A<Pool, More...>, More...>> &&
         tarn::Source<A<Counted<Limited<BufferSource>>, More...>> &&
         tarn::BlockAllocator<A<Locked<Failing<Pool>>, More...>>;
}
static_assert(models_what_it_wraps<Counted>());
static_assert(models_what_it_wraps<Limited>());
static_assert(models_what_it_wraps<Locked>());
static_assert(models_what_it_wraps<Locked, std::mutex>());
static_assert(models_what_it_wraps<Traced, Ignore>());
static_assert(models_what_it_wraps<Traced, Ignore&>());
static_assert(models_what_it_wraps<Failing>());
static_assert(tarn::Source<Counted<tarn::HeapSource>>);

TEST(Counted, NumbersOfASource) {
  StaticBuffer<4096> buffer;
  Counted<BufferSource&> counted(buffer);
  const Chunk a = counted.acquire(100, 16);
  const Chunk b = counted.acquire(1000, 16);
  EXPECT_EQ(counted.acquire(4000, 16).data, nullptr);
  counted.release(a);
  counted.release({});
  const tarn::Counts& counts = counted.counts();
  EXPECT_EQ(counts.taken, 2u);
  EXPECT_EQ(counts.given, 1u);
  EXPECT_EQ(counts.refused, 1u);
  EXPECT_EQ(counts.live, 1u);
  EXPECT_EQ(counts.live_peak, 2u);
  EXPECT_EQ(counts.bytes, b.bytes);
  EXPECT_EQ(counts.bytes_peak, a.bytes + b.bytes);
  EXPECT_EQ(counts.bytes_taken, a.bytes + b.bytes);
  EXPECT_EQ(buffer.stats().free_bytes, 4096 - b.bytes);
  EXPECT_TRUE(counted.check());
  counted.release(b);
  EXPECT_EQ(counted.chunk_bytes(), buffer.chunk_bytes());
}

TEST(Counted, NumbersOfAPool) {
  Counted<Pool> pool(std::size_t{64});
  void* const p = pool.allocate(10, 8);
  EXPECT_EQ(pool.try_allocate(65, 8), nullptr);
  EXPECT_THROW(static_cast<void>(pool.allocate(65, 8)), std::bad_alloc);
  pool.deallocate(nullptr, 10, 8);
  EXPECT_EQ(pool.counts().bytes, 10u);
  EXPECT_EQ(pool.counts().refused, 2u);
  EXPECT_EQ(pool.inner().stats().live_blocks, 1u);
  EXPECT_TRUE(pool.owns(p));
  pool.deallocate(p, 10, 8);
  EXPECT_EQ(pool.counts().live, 0u);
  EXPECT_TRUE(pool.check());
}

TEST(Limited, CeilingsNest) {
  StaticBuffer<65536> buffer;
  Limited<BufferSource&> all(10'000, buffer);
  Limited<Limited<BufferSource&>&> a(8'000, all);
  Limited<Limited<BufferSource&>&> b(8'000, all);
  const Chunk of_a = a.acquire(7'000, 16);
  ASSERT_NE(of_a.data, nullptr);
  EXPECT_EQ(a.acquire(2'000, 16).data, nullptr);
  EXPECT_EQ(b.acquire(4'000, 16).data, nullptr) << "there is room in b, but not in both";
  const Chunk of_b = b.acquire(2'000, 16);
  ASSERT_NE(of_b.data, nullptr);
  EXPECT_EQ(all.bytes(), of_a.bytes + of_b.bytes);
  a.release(of_a);
  EXPECT_EQ(a.bytes(), 0u);
  EXPECT_NE(b.acquire(4'000, 16).data, nullptr);
  EXPECT_EQ(b.acquire(SIZE_MAX, 16).data, nullptr);
}

TEST(Limited, IsExactToTheByte) {
  StaticBuffer<4096> buffer;
  Limited<BufferSource&> limited(64, buffer);
  EXPECT_EQ(limited.acquire(65, 1).data, nullptr);
  const Chunk chunk = limited.acquire(64, 1);
  EXPECT_NE(chunk.data, nullptr);
  EXPECT_EQ(limited.acquire(0, 1).data, nullptr) << "what is granted counts";
  EXPECT_EQ(buffer.stats().chunks, 1u);
  limited.set_limit_bytes(10);
  EXPECT_EQ(limited.acquire(1, 1).data, nullptr);
  limited.release(chunk);
  EXPECT_EQ(limited.bytes(), 0u);
  limited.set_limit_bytes(SIZE_MAX);
  EXPECT_NE(limited.acquire(4096, 1).data, nullptr);

  Limited<Pool> pool(100, std::size_t{50});
  void* const a = pool.try_allocate(50, 8);
  void* const b = pool.try_allocate(50, 8);
  EXPECT_NE(b, nullptr);
  EXPECT_EQ(pool.try_allocate(1, 1), nullptr);
  pool.deallocate(a, 50, 8);
  EXPECT_NE(pool.try_allocate(50, 8), nullptr);
}

// What a pool holds stays below the limit of its source, and the pool goes on with what it has.
TEST(Limited, HoldsForAPoolAndAnArena) {
  StaticBuffer<1 << 20> buffer;
  Limited<BufferSource&> limited(50'000, buffer);
  Pool pool(64, limited);
  std::size_t blocks = 0;
  while (pool.try_allocate() != nullptr) ++blocks;
  EXPECT_GT(blocks, 200u);
  EXPECT_LE(limited.bytes(), 50'000u);
  EXPECT_EQ(limited.bytes(), pool.stats().held_bytes);
  pool.clear();
  pool.trim();
  EXPECT_EQ(limited.bytes(), 0u);
  tarn::Arena arena(limited);
  std::size_t bytes = 0;
  while (arena.try_allocate(100) != nullptr) bytes += 100;
  EXPECT_GT(bytes, 30'000u);
  EXPECT_LE(limited.bytes(), 50'000u);
}

TEST(Traced, TellsOfEachCall) {
  StaticBuffer<4096> buffer;
  std::vector<TraceEvent> events;
  Traced<BufferSource&, Log> traced(Log{&events}, buffer);
  const Chunk chunk = traced.acquire(100, 64);
  static_cast<void>(traced.acquire(5000, 16));
  traced.release(chunk);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].operation, Operation::acquire);
  EXPECT_EQ(events[0].p, chunk.data);
  EXPECT_EQ(events[0].bytes, 112u);
  EXPECT_EQ(events[0].alignment, 64u);
  EXPECT_EQ(events[1].p, nullptr);
  EXPECT_EQ(events[1].bytes, 5000u);
  EXPECT_EQ(events[2].operation, Operation::release);
  EXPECT_EQ(events[2].p, chunk.data);
  EXPECT_EQ(events[2].bytes, 112u);

  events.clear();
  Log log{&events};
  Traced<Pool, Log&> pool(log, std::size_t{32});
  void* const p = pool.allocate(8, 4);
  pool.deallocate(p, 8, 4);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].operation, Operation::allocate);
  EXPECT_EQ(events[0].p, p);
  EXPECT_EQ(events[1].operation, Operation::deallocate);
  EXPECT_EQ(events[1].bytes, 8u);
}

TEST(Failing, TheNthOrAllFromItOn) {
  StaticBuffer<4096> buffer;
  Failing<BufferSource&> source(buffer);
  const auto come = [&](int count) {
    std::vector<bool> came;
    for (int i = 0; i < count; ++i) {
      const Chunk chunk = source.acquire(16, 16);
      came.push_back(chunk.data != nullptr);
      source.release(chunk);
    }
    return came;
  };
  EXPECT_EQ(come(3), (std::vector<bool>{true, true, true}));
  source.fail_at(2);
  EXPECT_EQ(come(4), (std::vector<bool>{true, false, true, true}));
  EXPECT_EQ(source.calls(), 4u);
  EXPECT_EQ(source.failures(), 1u);
  source.fail_from(2);
  EXPECT_EQ(come(4), (std::vector<bool>{true, false, false, false}));
  source.fail_at(0);
  EXPECT_EQ(come(2), (std::vector<bool>{true, true}));
  EXPECT_EQ(buffer.stats().chunks, 0u);
}

// Whichever chunk of a pool does not come: no block is lost, none comes twice.
TEST(Failing, APoolSurvivesEachFailure) {
  for (std::uint64_t n = 1; n <= 12; ++n) {
    StaticBuffer<65536> buffer;
    Counted<Failing<BufferSource&>> source(buffer);
    source.inner().fail_at(n);
    {
      Pool pool(100, source);
      std::vector<void*> blocks;
      for (int i = 0; i < 400; ++i) {
        if (void* const p = pool.try_allocate()) blocks.push_back(std::memset(p, i, 100));
      }
      EXPECT_GT(blocks.size(), 300u);
      EXPECT_TRUE(pool.check());
      for (void* const p : blocks) pool.deallocate(p);
    }
    EXPECT_EQ(source.counts().live, 0u);
    EXPECT_EQ(buffer.stats().free_bytes, 65536u);
  }
}

// `Lock` by lock: each block is one thread's, and the numbers are exact at the end.
template <class Shared>
void use_from_threads(Shared& shared) {
  support::in_threads(4, [&shared](int number) {
    const auto mark = static_cast<unsigned char>(number + 1);
    std::vector<unsigned char*> blocks;
    for (int i = 0; i < 5'000; ++i) {
      auto* const p = static_cast<unsigned char*>(shared.allocate(48, 8));
      std::memset(p, mark, 48);
      blocks.push_back(p);
      if (i % 3 == 0) {
        EXPECT_EQ(blocks.front()[47], mark);
        shared.deallocate(blocks.back(), 48, 8);
        blocks.pop_back();
      }
    }
    for (unsigned char* const p : blocks) {
      EXPECT_EQ(p[0], mark);
      shared.deallocate(p, 48, 8);
    }
  });
  EXPECT_TRUE(shared.check());
}

TEST(LockedPool, FourThreads) {
  Locked<Counted<Pool>> pool(std::size_t{48});
  use_from_threads(pool);
  EXPECT_EQ(pool.with([](Counted<Pool>& inner) { return inner.counts().taken; }), 20'000u);
  EXPECT_EQ(pool.with([](Counted<Pool>& inner) { return inner.inner().stats().live_blocks; }), 0u);
}

TEST(LockedPool, FourThreadsWithAMutex) {
  Locked<Counted<Pool>, std::mutex> pool(std::size_t{48});
  use_from_threads(pool);
  EXPECT_EQ(pool.inner().counts().live, 0u);
}

TEST(LockedSource, APoolPerThread) {
  StaticBuffer<1 << 20> buffer;
  Locked<Counted<BufferSource&>> source(buffer);
  support::in_threads(4, [&source] {
    tarn::PoolOptions options;
    options.chunk_bytes = 4096;
    for (int round = 0; round < 100; ++round) {
      Pool pool(64, source, options);
      for (int i = 0; i < 200; ++i) std::memset(pool.allocate(), round, 64);
    }
  });
  EXPECT_EQ(source.inner().counts().live, 0u);
  EXPECT_TRUE(source.check());
}

TEST(SmallLock, IsHeldOnce) {
  tarn::SmallLock lock;
  lock.lock();
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

// Fixtures of the conformance suites: each adaptor around a source, and around allocators.
StaticBuffer<2 << 20, 4096>& cleared() {
  static StaticBuffer<2 << 20, 4096> buffer;
  EXPECT_EQ(buffer.stats().chunks, 0u);
  return buffer;
}

template <class S>
struct SourceFixture {
  static constexpr std::size_t bytes_max = 20'000;
  static constexpr std::size_t alignment_max = 4096;
  static constexpr std::size_t chunks = 20;
  S source;
  template <class... Args>
  explicit SourceFixture(Args&&... args) : source(std::forward<Args>(args)...) {}
  bool nothing_lost() const { return cleared().check() && cleared().stats().chunks == 0; }
};
using Whole = BufferSource&;
struct OfCounted : SourceFixture<Counted<Whole>> {
  OfCounted() : SourceFixture(cleared()) {}
};
struct OfLimited : SourceFixture<Limited<Whole>> {
  OfLimited() : SourceFixture(std::size_t{1} << 20, cleared()) {}
};
struct OfLocked : SourceFixture<Locked<Whole>> {
  OfLocked() : SourceFixture(cleared()) {}
};
struct OfTraced : SourceFixture<Traced<Whole, Ignore>> {
  OfTraced() : SourceFixture(Ignore{}, cleared()) {}
};
struct OfFailing : SourceFixture<Failing<Whole>> {
  OfFailing() : SourceFixture(cleared()) {}
};
struct OfAll : SourceFixture<Locked<Counted<Limited<Failing<Counted<Whole>>>>>> {
  OfAll() : SourceFixture(std::size_t{1} << 20, cleared()) {}
};
struct OfAHeap {
  static constexpr std::size_t bytes_max = 50'000;
  static constexpr std::size_t alignment_max = std::size_t{1} << 21;
  static constexpr std::size_t chunks = 20;
  tarn::Heap heap;
  Counted<tarn::HeapSource> source{heap};
  bool nothing_lost() const { return source.counts().live == 0 && heap.stats().live_blocks == 0; }
};

template <class A>
struct AllocatorFixture {
  static constexpr std::size_t bytes_max = 200;
  static constexpr std::size_t alignment_max = 64;
  static constexpr std::size_t blocks = 300;
  static constexpr bool frees = true;
  A allocator;
  template <class... Args>
  explicit AllocatorFixture(Args&&... args)
      : allocator(std::forward<Args>(args)..., std::size_t{200}, aligned()) {}
  static tarn::PoolOptions aligned() {
    tarn::PoolOptions options;
    options.alignment = 64;
    return options;
  }
};
struct CountedPool : AllocatorFixture<Counted<Pool>> {};
struct LockedPoolOf : AllocatorFixture<Locked<Pool>> {};
struct FailingPool : AllocatorFixture<Failing<Pool>> {};
struct LimitedPool : AllocatorFixture<Limited<Pool>> {
  LimitedPool() : AllocatorFixture(std::size_t{60'000}) {}
};
struct TracedPool : AllocatorFixture<Traced<Pool, Ignore>> {
  TracedPool() : AllocatorFixture(Ignore{}) {}
};
struct NestedPool : AllocatorFixture<Locked<Limited<Counted<Failing<Pool>>>>> {
  NestedPool() : AllocatorFixture(std::size_t{60'000}) {}
};
using SourceAdaptors =
    testing::Types<OfCounted, OfLimited, OfLocked, OfTraced, OfFailing, OfAll, OfAHeap>;
using AllocatorAdaptors =
    testing::Types<CountedPool, LockedPoolOf, FailingPool, LimitedPool, TracedPool, NestedPool>;

}  // namespace
}  // namespace sources

namespace conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(Adaptors, Sources, sources::SourceAdaptors);
INSTANTIATE_TYPED_TEST_SUITE_P(Adaptors, BlockAllocators, sources::AllocatorAdaptors);
}  // namespace conformance
