// Threads on LockFree pools and on pools with a lock: no block has two owners, what a block's last
// owner wrote is seen by the next, exhaustion is exact when all have come to rest. No handler for
// misuse here: see the last test.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "../support/threads.hpp"
#include "tarn/pool/static_heap.hpp"

namespace {

using tarn::LockFree;
using tarn::StaticPool;

constexpr int threads = 4;

// Plain members: the pool must order them, and the thread sanitizer sees it if it does not.
struct Item {
  int owner;
  int written;
};

template <class Pool>
void churn(Pool& pool, int self, std::vector<Item*>& mine) {
  std::mt19937 random(static_cast<unsigned>(self));
  for (int i = 0; i < 200000 / TARN_TEST_DIVISOR; ++i) {
    if (random() % 2 == 0) {
      auto* const item = static_cast<Item*>(pool.try_allocate());
      if (item == nullptr) continue;
      ASSERT_EQ(item->owner, 0);
      ASSERT_GE(item->written, 0);
      item->owner = self;
      ++item->written;
      mine.push_back(item);
    } else if (!mine.empty()) {
      std::swap(mine[random() % mine.size()], mine.back());
      ASSERT_EQ(mine.back()->owner, self);
      mine.back()->owner = 0;
      pool.deallocate(mine.back());
      mine.pop_back();
    }
  }
}

template <class Pool>
void try_threads() {
  static Pool pool;  // Zero at first: owner 0.
  for (int round = 0; round < 3; ++round) {
    std::vector<Item*> mine[threads];
    support::in_threads(threads, [&](int t) { churn(pool, t + 1, mine[t]); });
    std::size_t live = 0;
    for (const auto& items : mine) live += items.size();
    ASSERT_EQ(pool.in_use(), live);
    ASSERT_TRUE(pool.check());
    // No block was lost: all that is left can be had, and no more.
    std::vector<Item*> rest;
    while (void* const p = pool.try_allocate()) rest.push_back(static_cast<Item*>(p));
    ASSERT_EQ(rest.size() + live, pool.blocks);
    for (Item* item : rest) pool.deallocate(item);
    for (const auto& items : mine) {
      for (Item* item : items) item->owner = 0, pool.deallocate(item);
    }
    ASSERT_TRUE(pool.in_use() == 0 && pool.check());
  }
}

TEST(StaticThreads, LockFreeOfOneWord) { try_threads<StaticPool<8, 20, 8, LockFree>>(); }
TEST(StaticThreads, LockFreeOfTwoWords) { try_threads<StaticPool<8, 70, 8, LockFree>>(); }
TEST(StaticThreads, LockFreeOfManyWords) { try_threads<StaticPool<8, 5000, 8, LockFree>>(); }
TEST(StaticThreads, UnderAMutex) { try_threads<StaticPool<8, 70, 8, std::mutex>>(); }

// Many threads take what one word has, again and again, so that words fill and empty all the time:
// hints that are set late must not hide a free block.
TEST(StaticThreads, HintsDoNotHideBlocks) {
  static StaticPool<8, 130, 8, LockFree> pool;
  std::atomic<int> failed{0};
  support::in_threads(threads, [&] {
    void* blocks[32];  // Four times 32 are at most 128 blocks: none may be refused.
    for (int i = 0; i < 20000 / TARN_TEST_DIVISOR; ++i) {
      for (void*& block : blocks) {
        block = pool.try_allocate();
        if (block == nullptr) failed.fetch_add(1, std::memory_order_relaxed);
      }
      for (void* block : blocks) pool.deallocate(block);
    }
  });
  EXPECT_EQ(failed.load(), 0);
  EXPECT_TRUE(pool.in_use() == 0 && pool.check() && pool.stats().failures == 0);
}

StaticPool<8, 70, 8, LockFree> of_handler;
std::atomic<int> handled{0};

// A signal handler is an interrupt handler of the host.
TEST(StaticThreads, LockFreeInASignalHandler) {
  struct sigaction action = {};
  action.sa_handler = [](int) {
    void* blocks[8];
    for (void*& block : blocks) block = of_handler.try_allocate();
    for (void* block : blocks) of_handler.deallocate(block);
    handled.fetch_add(1, std::memory_order_relaxed);
  };
  struct sigaction before;
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  std::atomic<bool> ready{false};
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    void* blocks[60];
    ready.store(true, std::memory_order_release);
    while (!stop.load(std::memory_order_acquire)) {
      for (void*& block : blocks) block = of_handler.try_allocate();
      for (void* block : blocks) of_handler.deallocate(block);
    }
  });
  while (!ready.load(std::memory_order_acquire)) std::this_thread::yield();
  for (int sent = 1; sent <= 2000 / TARN_TEST_DIVISOR; ++sent) {
    ASSERT_EQ(pthread_kill(worker.native_handle(), SIGUSR1), 0);
    while (handled.load(std::memory_order_relaxed) < sent) std::this_thread::yield();
  }
  stop.store(true, std::memory_order_release);
  worker.join();
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_TRUE(of_handler.in_use() == 0 && of_handler.check());
  EXPECT_EQ(of_handler.stats().failures, 0U);
}

TEST(StaticTrapDeathTest, MisuseWithoutAHandlerTraps) {
  static StaticPool<16, 10> pool;
  void* const p = pool.try_allocate();
  pool.deallocate(p);
  EXPECT_DEATH(pool.deallocate(p), "");
}

}  // namespace
