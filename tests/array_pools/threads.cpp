// Pools for threads: no block is handed out twice, what is written before a free is ordered before
// what is written after, the capacity is strict, and the child of a fork can go on.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <list>
#include <map>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "../support/child.hpp"
#include "../support/threads.hpp"
#include "churn.hpp"
#include "tarn/standard/array_allocator.hpp"

namespace array_pools {
namespace {

using tarn::ArrayChecks;
using tarn::ArrayPool;
using tarn::LockFree;
using tarn::OverflowNull;
using tarn::ThreadSafe;

constexpr int steps = 100000 / TARN_TEST_DIVISOR;
constexpr unsigned threads = 4;

template <class Pool>
class ThreadsPool : public testing::Test {
 public:
  static inline Pool pool;
};
template <std::size_t count, ArrayChecks checks, class Lock>
using Of = ArrayPool<count, sizeof(Message), alignof(Message), OverflowNull, checks, Lock>;
using Pools =
    testing::Types<Of<20, ArrayChecks::cheap, ThreadSafe>, Of<300, ArrayChecks::exact, ThreadSafe>,
                   Of<3000, ArrayChecks::exact, LockFree>,
                   Of<20, ArrayChecks::exact, tarn::SpinLock>>;
TYPED_TEST_SUITE(ThreadsPool, Pools);
// While the last free blocks are on their way from one thread to another.
template <class Pool>
constexpr bool may_refuse = std::is_same_v<Pool, Of<3000, ArrayChecks::exact, LockFree>>;

TYPED_TEST(ThreadsPool, ABlockIsOneThreadsAtATime) {
  auto& pool = this->pool;
  for (const std::size_t most : {pool.capacity() / threads, pool.capacity()}) {
    std::atomic<bool> is_sound{true};
    support::in_threads(threads, [&](unsigned t) { churn(pool, t, most, steps, &is_sound); });
    EXPECT_TRUE(is_sound);
    EXPECT_TRUE(pool.check());
    EXPECT_EQ(pool.in_use(), 0u);
  }
}

// As many as there are, and no more, whichever thread freed them.
TYPED_TEST(ThreadsPool, TheCapacityIsStrict) {
  auto& pool = this->pool;
  std::vector<std::vector<void*>> taken(threads);
  for (int round = 0; round != 20; ++round) {
    support::in_threads(threads, [&](unsigned t) {
      while (void* p = pool.try_allocate()) taken[t].push_back(p);
    });
    if (may_refuse<TypeParam>) {
      while (void* p = pool.try_allocate()) taken[0].push_back(p);
    }
    std::size_t n = 0;
    for (const auto& some : taken) n += some.size();
    EXPECT_EQ(n, pool.capacity());
    EXPECT_EQ(pool.peak(), pool.capacity());
    support::in_threads(threads, [&](unsigned t) {
      auto& others = taken[(t + 1) % threads];
      for (void* p : others) pool.deallocate(p);
      others.clear();
    });
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.check());
  }
}

// Blocks change hands near the capacity: a thread that may have one more gets it.
TYPED_TEST(ThreadsPool, NoAllocationFailsWhileABlockIsFree) {
  if (may_refuse<TypeParam>) GTEST_SKIP();
  auto& pool = this->pool;
  constexpr int places = 3;
  std::vector<void*> rest;
  for (std::size_t n = 0; n != pool.capacity() - places; ++n) rest.push_back(pool.try_allocate());
  std::atomic<int> permits{places};
  std::atomic<void*> held[places] = {};
  std::atomic<int> refused{0};
  const auto give = [&](void* p) {
    if (p == nullptr) return;
    pool.deallocate(p);
    ++permits;
  };
  support::in_threads(2u, [&](unsigned t) {
    std::minstd_rand random(t + 1);
    for (int step = 0; step != 10 * steps; ++step) {
      give(held[random() % places].exchange(nullptr));
      if (permits.fetch_sub(1) <= 0) {
        ++permits;
        continue;
      }
      void* const p = pool.try_allocate();
      if (p == nullptr) ++refused, ++permits;
      give(held[random() % places].exchange(p));
    }
  });
  EXPECT_EQ(refused, 0);
  for (auto& p : held) pool.deallocate(p);
  for (void* p : rest) pool.deallocate(p);
  EXPECT_EQ(pool.in_use(), 0u);
}

// Whoever asks how many there are meanwhile gets a number.
TYPED_TEST(ThreadsPool, ItCanBeAskedMeanwhile) {
  auto& pool = this->pool;
  std::atomic<bool> is_sound{true};
  std::atomic<bool> is_over{false};
  support::Threads busy(2u, [&](unsigned t) {
    while (!is_over) churn(pool, t, pool.capacity() / 2, steps, &is_sound);
  });
  for (int n = 0; n != steps; ++n) ASSERT_LE(pool.in_use(), pool.capacity());
  is_over = true;
  busy.join();
}

// One thread allocates what another frees.
TYPED_TEST(ThreadsPool, BlocksAreHandedOver) {
  auto& pool = this->pool;
  std::atomic<Message*> ring[16] = {};
  std::thread consumer([&] {
    for (int i = 0; i != steps; ++i) {
      Message* message = nullptr;
      while ((message = ring[i % 16].exchange(nullptr, std::memory_order_acq_rel)) == nullptr) {
        std::this_thread::yield();
      }
      EXPECT_EQ(message->owner, static_cast<unsigned>(i));
      pool.deallocate(message);
    }
  });
  for (int i = 0; i != steps; ++i) {
    Message* message = nullptr;
    while ((message = static_cast<Message*>(pool.try_allocate())) == nullptr) {
      std::this_thread::yield();
    }
    message->owner = static_cast<unsigned>(i);
    while (ring[i % 16].load(std::memory_order_acquire) != nullptr) std::this_thread::yield();
    ring[i % 16].store(message, std::memory_order_release);
  }
  consumer.join();
  EXPECT_EQ(pool.in_use(), 0u);
  EXPECT_TRUE(pool.check());
}

// The block that a thread has freed last, which costs nothing to see.
TEST(ThreadsPoolMisuseDeathTest, ACheapOneSeesTheLastFreeAgain) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  static Of<300, ArrayChecks::cheap, ThreadSafe> pool;
  const auto free_twice = [] {
    support::in_threads(1u, [&](unsigned) {
      void* const p = pool.try_allocate();
      pool.deallocate(p);
      pool.deallocate(p);
    });
  };
  EXPECT_EXIT(free_twice(), testing::KilledBySignal(SIGABRT),
              "tarn: double free: tarn::ArrayPool::deallocate");
}

// Two threads free each block at the same time: one of the two is always told.
TEST(ThreadsPoolMisuseDeathTest, OfTwoFreesAtOnceOneIsReported) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  static Of<300, ArrayChecks::exact, ThreadSafe> pool;
  const auto free_twice = [] {
    std::atomic<void*> shared{nullptr};
    std::atomic<int> turn{0};
    support::in_threads(2u, [&](unsigned t) {
      for (int round = 0; round != 1000; ++round) {
        if (t == 0) shared = pool.try_allocate();
        turn.fetch_add(1);
        while (turn.load() < 2 * round + 2) {
        }
        pool.deallocate(shared);
      }
    });
  };
  EXPECT_EXIT(free_twice(), testing::KilledBySignal(SIGABRT),
              "tarn: double free: tarn::ArrayPool::deallocate");
}

#ifndef __SANITIZE_THREAD__
// The threads that vanish may be anywhere.
TEST(ThreadsPoolForks, TheChildGoesOn) {
  static Of<3000, ArrayChecks::exact, ThreadSafe> pool;
  std::atomic<bool> is_over{false};
  std::atomic<bool> is_sound{true};
  support::Threads busy(2u, [&](unsigned t) {
    while (!is_over) churn(pool, t, 40, steps, &is_sound);
  });
  for (int round = 0; round != 100 / TARN_TEST_DIVISOR + 3; ++round) {
    const int status = support::status_of_child([&] {
      const std::size_t before = pool.in_use();
      support::require(before <= 80 + 2 * 32, "vanished threads had more blocks than they took");
      std::vector<void*> taken;
      while (void* p = pool.try_allocate()) taken.push_back(p);
      support::require(taken.size() + before + 2 * 32 >= pool.capacity(), "blocks are lost");
      for (void* p : taken) pool.deallocate(p);
      return 0;
    });
    EXPECT_EQ(status, 0);
  }
  is_over = true;
  busy.join();
  EXPECT_TRUE(is_sound);
}
#endif

// Containers of one type in several threads need no word of the user's.
TEST(ArrayAllocatorThreads, EachHasItsOwnContainers) {
  struct Own {};
  using Allocator = tarn::ArrayAllocator<int, 3000, tarn::OverflowThrowNodes, Own>;
  using Pairs = std::allocator_traits<Allocator>::rebind_alloc<std::pair<const int, int>>;
  std::vector<int> sums(threads);
  support::in_threads(threads, [&sums](unsigned t) {
    for (int round = 0; round != 200 / TARN_TEST_DIVISOR + 1; ++round) {
      std::list<int, Allocator> list;
      std::map<int, int, std::less<int>, Pairs> map;
      std::vector<int, Allocator> vector;
      for (int i = 0; i != 100; ++i) {
        list.push_back(i);
        map[i] = i;
        vector.push_back(i);
      }
      sums[t] = std::accumulate(list.begin(), list.end(), map.at(99) + vector.back());
    }
  });
  for (const int sum : sums) EXPECT_EQ(sum, 4950 + 198);
}

}  // namespace
}  // namespace array_pools
