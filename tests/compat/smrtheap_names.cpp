// smrtheap_names: every name of smrtheap.h as a program in C++ uses them.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "smrtheap.hpp"

namespace {

// Ends its pool with the scope.
struct EndsPool {
  void operator()(MEM_POOL pool) const { EXPECT_EQ(MemPoolFree(pool), 1); }
};
using OwnedPool = std::unique_ptr<tarn_mem_pool, EndsPool>;

TEST(SmrtHeapNames, NewWithFlags) {
  const MEM_POOL pool = MemPoolInit(MEM_POOL_DEFAULT);
  auto* const numbers = new (pool, MEM_POOL_ZEROINIT) int[100];
  for (int i = 0; i < 100; ++i) EXPECT_EQ(numbers[i], 0);
  auto* const one = new (pool, MEM_POOL_SERIALIZE) int(5);
  EXPECT_TRUE(MemCheckPtr(pool, one));
  EXPECT_EQ(*one, 5);
  EXPECT_EQ(MemPoolFree(pool), 1);
}

TEST(SmrtHeapNames, BlocksOfAnySize) {
  const OwnedPool pool(MemPoolInit(MEM_SERIALIZE));
  ASSERT_NE(pool, nullptr);
  auto* text = static_cast<char*>(MemAllocPtr(pool.get(), 100, MEM_ZEROINIT));
  ASSERT_NE(text, nullptr);
  EXPECT_GE(MemSizePtr(text), 100u);
  for (std::size_t i = 0; i < MemSizePtr(text); ++i) ASSERT_EQ(text[i], 0);
  std::strcpy(text, "kept");
  text = static_cast<char*>(MemReAllocPtr(text, 20'000, MEM_ZEROINIT));
  ASSERT_NE(text, nullptr);
  EXPECT_STREQ(text, "kept");
  EXPECT_EQ(text[19'999], 0);
  EXPECT_EQ(MemReAllocPtr(text, std::size_t{1} << 40, MEM_RESIZE_IN_PLACE), nullptr);
  EXPECT_EQ(MemReAllocPtr(text, 19'990, MEM_RESIZE_IN_PLACE), text);

  EXPECT_EQ(MemCheckPtr(pool.get(), text), MEM_POINTER_OK);
  EXPECT_EQ(MemCheckPtr(pool.get(), text + 16), MEM_POINTER_WILD);
  auto* const other = MemAllocPtr(pool.get(), 40, 0);
  EXPECT_EQ(MemFreePtr(other), 1);
  EXPECT_EQ(MemCheckPtr(pool.get(), other), MEM_POINTER_FREE);
  EXPECT_EQ(MemPoolCheck(pool.get()), 1);
}

TEST(SmrtHeapNames, BlocksOfOneSize) {
  struct Link {
    Link* next;
    int value;
  };
  const OwnedPool pool(MemPoolInitFS(sizeof(Link), 1000, 0));
  ASSERT_NE(pool, nullptr);
  EXPECT_EQ(MemPoolPreAllocate(pool.get(), 1000 * sizeof(Link)), 1000 * sizeof(Link));
  EXPECT_EQ(MemPoolCount(pool.get()), 0u);
  EXPECT_GE(MemPoolSize(pool.get()), 1000 * sizeof(Link));
  EXPECT_EQ(MemPoolSetCeiling(pool.get(), MemPoolSize(pool.get())), 1);
  Link* first = nullptr;
  for (int i = 0; i < 1000; ++i) {
    void* const place = MemAllocFS(pool.get());
    ASSERT_NE(place, nullptr) << i;
    first = ::new (place) Link{first, i};
  }
  EXPECT_EQ(MemPoolCount(pool.get()), 1000u);
  int value = 1000;
  while (first != nullptr) {
    Link* const next = first->next;
    EXPECT_EQ(first->value, --value);
    EXPECT_EQ(MemFreeFS(first), 1);
    first = next;
  }
  EXPECT_EQ(MemPoolSetFloor(pool.get(), 0), 1);
  EXPECT_GT(MemPoolShrink(pool.get()), 0u);
  EXPECT_LT(MemPoolSize(pool.get()), 1000 * sizeof(Link));
}

TEST(SmrtHeapNames, WhatAPoolHas) {
  const OwnedPool pool(MemPoolInitFS(48, 10, MEM_ZEROINIT));
  std::set<void*> blocks = {MemAllocFS(pool.get()), MemAllocPtr(pool.get(), 300'000, 0),
                            new (pool.get()) std::size_t[10]};
  EXPECT_EQ(MemPoolSetCeiling(pool.get(), std::size_t{1} << 20), 1);
  EXPECT_EQ(MemPoolSetFloor(pool.get(), 4096), 1);
  MEM_POOL_INFO info;
  ASSERT_EQ(MemPoolInfo(pool.get(), &info), 1);
  EXPECT_EQ(info.pool, pool.get());
  EXPECT_EQ(info.flags, unsigned{MEM_ZEROINIT});
  EXPECT_EQ(info.block_size, 48u);
  EXPECT_EQ(info.count, 3u);
  EXPECT_GE(info.used, 300'000u);
  EXPECT_GE(info.size, info.used);
  EXPECT_GE(info.peak, info.size);
  EXPECT_EQ(info.ceiling, std::size_t{1} << 20);
  EXPECT_EQ(info.floor, 4096u);

  // Each block is shown once; the pool is this thread's meanwhile, and before and after.
  EXPECT_EQ(MemPoolLock(pool.get()), 1);
  const auto visit = [](const MEM_POOL_ENTRY* entry, void* context) {
    EXPECT_GE(entry->size, 48u);
    return static_cast<std::set<void*>*>(context)->erase(entry->entry) == 1 ? 0 : 1;
  };
  EXPECT_EQ(MemPoolVisit(pool.get(), visit, &blocks), 0);
  EXPECT_TRUE(blocks.empty());
  EXPECT_EQ(MemPoolUnlock(pool.get()), 1);
}

TEST(SmrtHeapNames, AllPoolsOnceEach) {
  const OwnedPool pools[3] = {OwnedPool(MemPoolInit(0)), OwnedPool(MemPoolInit(0)),
                              OwnedPool(MemPoolInitFS(8, 1, 0))};
  std::multiset<MEM_POOL> seen;
  MEM_POOL_INFO info;
  for (int more = MemPoolFirst(&info); more != 0; more = MemPoolNext(&info)) seen.insert(info.pool);
  for (const OwnedPool& pool : pools) EXPECT_EQ(seen.count(pool.get()), 1u);
  EXPECT_EQ(seen.size(), 3u);
}

TEST(SmrtHeapNames, InARegion) {
  const auto region = std::make_unique<char[]>(100'000);
  const OwnedPool pool(MemPoolInitRegion(region.get(), 100'000, 0));
  ASSERT_NE(pool, nullptr);
  const char* const text = new (pool.get()) char[100];
  EXPECT_TRUE(text >= region.get() && text + 100 <= region.get() + 100'000);
  EXPECT_THROW((void)new (pool.get()) char[100'000], std::bad_alloc);
  MEM_POOL_INFO info;
  EXPECT_TRUE(MemPoolInfo(pool.get(), &info) == 1 && (info.flags & MEM_POOL_REGION) != 0);
}

// The error handler makes room, also for new, and for a block that grows.
void* reserve = nullptr;
std::vector<std::size_t> asked;
int free_reserve(MEM_ERROR_INFO* info) {
  asked.push_back(info->size);
  return MemFreePtr(std::exchange(reserve, nullptr));
}

TEST(SmrtHeapNames, TheErrorHandlerMayMakeRoom) {
  const OwnedPool pool(MemPoolInit(0));
  ASSERT_EQ(MemPoolSetCeiling(pool.get(), std::size_t{1} << 20), 1);
  const MEM_ERROR_FN before = MemSetErrorHandler(free_reserve);
  reserve = MemAllocPtr(pool.get(), 900'000, 0);
  char* const text = new (pool.get()) char[500'000];
  EXPECT_EQ(reserve, nullptr);
  MemFreePtr(text);
  struct alignas(64) Wide {
    char bytes[500'032];
  };
  reserve = MemAllocPtr(pool.get(), 900'000, 0);
  auto* const wide = MemNew<Wide>(pool.get());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(wide) % 64, 0u);
  MemDelete(wide);
  void* block = MemAllocPtr(pool.get(), 200'000, 0);
  reserve = MemAllocPtr(pool.get(), 700'000, 0);
  block = MemReAllocPtr(block, 800'000, 0);
  EXPECT_NE(block, nullptr);
  EXPECT_EQ(asked, (std::vector<std::size_t>{500'000, sizeof(Wide), 800'000}));
  EXPECT_THROW((void)new (pool.get()) char[500'000], std::bad_alloc);
  EXPECT_EQ(asked.size(), 4u);
  EXPECT_EQ(MemSetErrorHandler(before), free_reserve);
}

}  // namespace
