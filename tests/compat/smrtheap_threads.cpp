// smrtheap_threads: several threads make and end pools, look for the pool of a block, and change
// and ask what a pool has.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "../support/child.hpp"
#include "../support/threads.hpp"
#include "smrtheap.hpp"

namespace {

class SmrtHeapThreads : public testing::Test {
 protected:
  ~SmrtHeapThreads() override { EXPECT_EQ(MemPoolFree(pool), 1); }
  MEM_POOL pool = MemPoolInitFS(64, 100, MEM_SERIALIZE);
};

TEST_F(SmrtHeapThreads, MakeAndEndPools) {
  support::in_threads(4, [this] {
    for (int i = 0; i < 300; ++i) {
      const MEM_POOL own = MemPoolInit(MEM_SERIALIZE);
      EXPECT_NE(MemAllocPtr(own, 50, 0), nullptr);
      EXPECT_EQ(MemPoolCount(own), 1u);
      EXPECT_EQ(MemPoolFree(own), 1);
      EXPECT_EQ(MemFreePtr(MemAllocPtr(pool, 100, 0)), 1);
    }
  });
  EXPECT_EQ(MemPoolCount(pool), 0u);
}

// Pools come and go, in places that are used again, while others are looked for.
TEST_F(SmrtHeapThreads, ThePoolOfABlock) {
  void* const block = MemAllocPtr(pool, 100, 0);
  std::atomic<int> makers{2};
  support::Threads threads(2, [&] {
    for (int i = 0; i < 500; ++i) {
      const MEM_POOL own = MemPoolInit(0);
      EXPECT_EQ(MemPoolOfPtr(MemAllocPtr(own, 10, 0)), own);
      EXPECT_EQ(MemPoolFree(own), 1);
    }
    --makers;
  });
  while (makers != 0) EXPECT_EQ(MemPoolOfPtr(block), pool);
  threads.join();
}

// A pool is shown when it is complete. None ends meanwhile: what is being freed is not to be asked.
TEST_F(SmrtHeapThreads, AllPoolsAreWhole) {
  std::vector<MEM_POOL> made[2];
  std::atomic<int> makers{2};
  support::Threads threads(std::size_t{2}, [&](std::size_t t) {
    for (int i = 0; i < 500; ++i) made[t].push_back(MemPoolInitFS(64, 0, 0));
    --makers;
  });
  for (unsigned n = 0; makers != 0; n = (n + 1) % 8) {  // The newest ones.
    const unsigned used = __atomic_load_n(&tarn_mem_all.used, __ATOMIC_ACQUIRE);
    if (n >= used) continue;
    const struct tarn_mem_pool* const place = tarn_mem_place(used - 1 - n);
    if (__atomic_load_n(&place->state, __ATOMIC_ACQUIRE) != 1) continue;
    EXPECT_EQ(place->block_size, 64u);
  }
  threads.join();
  for (const std::vector<MEM_POOL>& pools : made) {
    for (MEM_POOL own : pools) EXPECT_EQ(MemPoolFree(own), 1);
  }
}

// In the child of a fork pools that another thread was ending are none.
TEST_F(SmrtHeapThreads, PoolsInTheChildOfAFork) {
  std::atomic<bool> over{false};
  support::Threads threads(2, [&] {
    while (!over) EXPECT_EQ(MemPoolFree(MemPoolInit(0)), 1);
  });
  for (int i = 0; i < 200; ++i) {
    const int status = support::status_of_child([&] {
      MEM_POOL_INFO info;
      bool found = false;
      for (int more = MemPoolFirst(&info); more != 0; more = MemPoolNext(&info)) {
        found = found || info.pool == pool;
      }
      return found && MemPoolFree(MemPoolInit(0)) == 1 ? 0 : 1;
    });
    EXPECT_EQ(status, 0) << i;
  }
  over = true;
  threads.join();
}

// What others do to the pool meanwhile does not show a block twice, or one that is none.
TEST_F(SmrtHeapThreads, WalksOfOnePool) {
  void* kept[100];
  for (void*& block : kept) block = MemAllocPtr(pool, 200, 0);
  support::in_threads(std::size_t{4}, [&](std::size_t t) {
    for (int i = 0; i < 30; ++i) {
      if (t == 0) {
        EXPECT_EQ(MemFreeFS(MemAllocFS(pool)), 1);
        continue;
      }
      MEM_POOL_ENTRY entry;
      entry.entry = nullptr;
      int of_kept = 0;
      while (MemPoolWalk(pool, &entry) == MEM_POOL_OK) {
        for (const void* const block : kept) of_kept += entry.entry == block ? 1 : 0;
      }
      EXPECT_EQ(of_kept, 100);
    }
  });
  for (void* const block : kept) EXPECT_EQ(MemFreePtr(block), 1);
}

TEST_F(SmrtHeapThreads, ThePoolOfMalloc) {
  support::in_threads(4, [] {
    for (int i = 0; i < 100; ++i) {
      void* const block = MemAllocPtr(MemDefaultPool, 100, 0);
      EXPECT_EQ(MemPoolOfPtr(block), MemDefaultPool);
      EXPECT_EQ(MemFreePtr(block), 1);
    }
  });
}

TEST_F(SmrtHeapThreads, Limits) {
  support::in_threads(std::size_t{3}, [this](std::size_t t) {
    for (std::size_t i = 0; i < 200; ++i) {
      EXPECT_EQ(MemPoolSetCeiling(pool, (1 + t) << 20), 1);
      EXPECT_EQ(MemPoolSetFloor(pool, i << 6), 1);
      EXPECT_EQ(MemPoolPreAllocate(pool, i << 8), i << 8);
      MEM_POOL_INFO info;
      EXPECT_EQ(MemPoolInfo(pool, &info), 1);
      EXPECT_GE(info.ceiling, 1u << 20);
      EXPECT_LE(info.ceiling, 3u << 20);
      EXPECT_EQ(MemFreeFS(MemAllocFS(pool)), 1);
      MemPoolShrink(pool);
    }
  });
  EXPECT_EQ(MemPoolCheck(pool), 1);
}

}  // namespace
