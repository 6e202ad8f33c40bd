// Misuse of static pools: every free of what is no live block is told to tarn_static_misuse, names
// it, and changes nothing. (Without a handler: compat/xallocator_static.sh.)
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tarn/pool/static_heap.hpp"

namespace {

struct Told {
  std::string kind;
  const void* pool;
  const void* p;
  friend bool operator==(const Told&, const Told&) = default;
};
std::vector<Told> told;
bool prints = false;

}  // namespace

// As a program on Linux would have it: the house's line, and the end.
extern "C" void tarn_static_misuse(const char* kind, const void* pool, const void* p) {
  if (prints) {
    std::fprintf(stderr, "tarn: %s: %p\n", kind, p);
    std::abort();
  }
  told.push_back({kind, pool, p});
}

namespace {

using tarn::Class;
using tarn::LockFree;
using tarn::StaticPool;

template <class Pool>
void try_misuse() {
  static Pool pool;
  static Pool other;
  told.clear();
  std::vector<char*> blocks;
  for (std::size_t i = 0; i < pool.blocks; ++i) {
    blocks.push_back(static_cast<char*>(pool.try_allocate()));
  }
  char* const foreign = static_cast<char*>(other.try_allocate());
  int local = 0;
  std::vector<Told> expected;
  const auto wrong = [&](void* p) {
    expected.push_back({"invalid free", &pool, p});
    pool.deallocate(p);
  };
  for (std::size_t i = 1; i < static_cast<std::size_t>(blocks[1] - blocks[0]); ++i) {
    wrong(blocks[0] + i);
    wrong(blocks.back() + i);
  }
  wrong(blocks[0] - 1);
  wrong(blocks.back() + (blocks[1] - blocks[0]));
  wrong(blocks[0] - (blocks[1] - blocks[0]));
  wrong(foreign);
  wrong(&pool);
  wrong(&local);
  wrong(reinterpret_cast<void*>(UINTPTR_MAX));
  wrong(reinterpret_cast<void*>(std::uintptr_t{1}));
  EXPECT_EQ(told, expected);
  EXPECT_TRUE(pool.check() && pool.in_use() == pool.blocks);

  expected.clear();
  told.clear();
  for (std::size_t i = 0; i < pool.blocks; i += 7) {
    pool.deallocate(blocks[i]);
    pool.deallocate(blocks[i]);
    expected.push_back({"double free", &pool, blocks[i]});
  }
  EXPECT_EQ(told, expected);
  EXPECT_TRUE(pool.check());
}

TEST(StaticMisuse, IsToldExactlyAndChangesNothing) {
  try_misuse<StaticPool<1, 10>>();
  try_misuse<StaticPool<24, 100>>();
  try_misuse<StaticPool<7, 64>>();
  try_misuse<StaticPool<32, 300, 64>>();
  try_misuse<StaticPool<1000, 9>>();
  try_misuse<StaticPool<24, 100, 8, LockFree>>();
}

// What was handed out never, though it is the start of a block.
TEST(StaticMisuse, OfFreshBlocks) {
  static StaticPool<16, 10> pool;
  char* const p = static_cast<char*>(pool.try_allocate());
  told.clear();
  pool.deallocate(p + 16);
  EXPECT_EQ(told, (std::vector<Told>{{"double free", &pool, p + 16}}));
}

TEST(StaticMisuse, OfHeapsAndObjects) {
  struct Item {
    int* ended;
    ~Item() { ++*ended; }
  };
  static tarn::StaticHeap<Class<16, 3>, Class<64, 3>> heap;
  static tarn::StaticObjectPool<Item, 3> items;
  told.clear();
  int ended = 0;
  Item* const item = items.create(Item{&ended});
  ended = 0;
  items.destroy(item);
  items.destroy(item);
  EXPECT_EQ(ended, 1);
  char* const p = static_cast<char*>(heap.try_allocate(30));
  heap.deallocate(p + 8);
  heap.deallocate(&ended);
  heap.deallocate(p);
  heap.deallocate(p);
  ASSERT_EQ(told.size(), 4U);
  EXPECT_EQ(told[0].kind, "double free");
  EXPECT_EQ(told[1].kind, "invalid free");
  EXPECT_EQ(told[2], (Told{"invalid free", &heap, &ended}));
  EXPECT_EQ(told[3].kind, "double free");
}

TEST(StaticMisuseDeathTest, AHandlerMayEndTheProgram) {
  static StaticPool<16, 10> pool;
  void* const p = pool.try_allocate();
  pool.deallocate(p);
  EXPECT_DEATH((prints = true, pool.deallocate(p)), "^tarn: double free: 0x");
}

}  // namespace
