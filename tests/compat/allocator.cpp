// compat/Allocator.h: its names, its three modes, and what the source did wrong.
//
// SPDX-License-Identifier: MIT
#include "Allocator.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

class FromHeap {
  DECLARE_ALLOCATOR
 public:
  explicit FromHeap(int value = 0) : value(value) {
    if (value < 0) throw std::runtime_error("negative");
  }
  virtual ~FromHeap() = default;
  static Allocator& allocator() { return _allocator; }
  int value;
  int hidden() const { return value; }
};
class Larger : public FromHeap {
 public:
  char more[100] = {};
};

class FromPool {
  DECLARE_ALLOCATOR
 public:
  static Allocator& allocator() { return _allocator; }
  char text[24] = {};
};

class alignas(64) FromMemory {
  DECLARE_ALLOCATOR
  char own_[8] = {};  // Private, as what follows the name of a class.

 public:
  static Allocator& allocator() { return _allocator; }
  char text[56] = {};
};

// (S4: the macro leaks `public:` into the class.)
template <class T, class = void>
struct ShowsItsOwn : std::false_type {};
template <class T>
struct ShowsItsOwn<T, std::void_t<decltype(std::declval<T&>().own_)>> : std::true_type {};
static_assert(!ShowsItsOwn<FromMemory>::value);

// Before the allocators of their classes, as far as order counts.
FromHeap* const early = new FromHeap(7);
FromPool* const early_of_pool = new FromPool;

alignas(64) char memory[sizeof(FromMemory) * 3];
IMPLEMENT_ALLOCATOR(FromHeap, 0, nullptr)
IMPLEMENT_ALLOCATOR(FromPool, 3, nullptr)
IMPLEMENT_ALLOCATOR(FromMemory, 3, memory)

template <class Class>
void fill_and_empty(std::size_t objects) {
  Allocator& own = Class::allocator();
  const std::size_t before = own.GetBlocksInUse();
  std::vector<Class*> all;
  while (all.size() + before < objects) {
    all.push_back(new Class);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(all.back()) % alignof(Class), 0u);
  }
  EXPECT_EQ(own.GetBlocksInUse(), objects);
  for (Class* const one : all) delete one;
  EXPECT_EQ(own.GetBlocksInUse(), before);
  EXPECT_TRUE(own.Check());
}

TEST(CompatAllocator, ClassesHaveTheirBlocks) {
  EXPECT_EQ(early->value, 7);
  EXPECT_STREQ(FromHeap::allocator().GetName(), "FromHeap");
  EXPECT_EQ(FromHeap::allocator().GetBlockSize(), sizeof(FromHeap));
  fill_and_empty<FromHeap>(1000);
  EXPECT_EQ(FromHeap::allocator().GetBlockCount(), 1000u);
  fill_and_empty<FromPool>(3);
  EXPECT_EQ(FromPool::allocator().GetBlockCount(), 3u);
  fill_and_empty<FromMemory>(3);
  auto* const one = new FromMemory;
  EXPECT_GE(reinterpret_cast<char*>(one), memory);
  EXPECT_LT(reinterpret_cast<char*>(one), memory + sizeof memory);
  delete one;
}

// (S4: an exhausted pool counts wrong.)
TEST(CompatAllocator, AnExhaustedPoolCountsRight) {
  Allocator& own = FromMemory::allocator();
  FromMemory* const all[] = {new FromMemory, new FromMemory, new FromMemory};
  const std::size_t allocations = own.GetAllocations();
  const std::size_t deallocations = own.GetDeallocations();
  EXPECT_THROW(delete new FromMemory, std::bad_alloc);
  EXPECT_EQ(new (std::nothrow) FromMemory, nullptr);
  EXPECT_EQ(own.GetAllocations(), allocations);
  EXPECT_EQ(own.GetBlocksInUse(), 3u);
  EXPECT_EQ(own.GetBlockCount(), 3u);
  for (FromMemory* const one : all) delete one;
  EXPECT_EQ(own.GetDeallocations(), deallocations + 3);
  EXPECT_EQ(own.GetAllocations(), own.GetDeallocations());
}

TEST(CompatAllocator, OtherForms) {
  Allocator& own = FromHeap::allocator();
  const std::size_t before = own.GetBlocksInUse();
  auto* const plain = new (std::nothrow) FromHeap(1);
  EXPECT_EQ(own.GetBlocksInUse(), before + 1);
  delete plain;
  FromHeap* const larger = new Larger;  // None of the allocator's: it would not fit.
  FromHeap* const many = new FromHeap[5];
  FromHeap* const more = new (std::nothrow) FromHeap[5];
  FromMemory* const wide = new FromMemory[5];
  EXPECT_EQ(own.GetBlocksInUse(), before);
  delete larger;
  delete[] many;
  delete[] more;
  delete[] wide;
  EXPECT_THROW(delete new FromHeap(-1), std::runtime_error);
  EXPECT_THROW(delete new (std::nothrow) FromHeap(-1), std::runtime_error);
  EXPECT_EQ(own.GetBlocksInUse(), before);
  alignas(FromHeap) char place[sizeof(FromHeap)];
  auto* const placed = new (place) FromHeap(3);
  placed->~FromHeap();
}

void use(Allocator& own, std::size_t objects) {
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < objects; ++i) {
    blocks.push_back(own.Allocate(40));
    std::memset(blocks.back(), static_cast<int>(i), 40);
    EXPECT_TRUE(own.Owns(blocks.back()));
  }
  void* const again = blocks[1];
  own.Deallocate(again);
  EXPECT_EQ(own.Allocate(8), again);
  EXPECT_THROW(static_cast<void>(own.Allocate(41)), std::bad_alloc);
  EXPECT_EQ(own.GetBlocksInUse(), objects);
  EXPECT_EQ(own.GetBlockCount(), objects);
  EXPECT_EQ(own.GetAllocations(), objects + 1);
  EXPECT_EQ(own.GetDeallocations(), 1u);
  const auto dies = testing::KilledBySignal(SIGABRT);
  int local = 0;
  own.Deallocate(blocks[2]);
  EXPECT_EXIT(own.Deallocate(blocks[2]), dies, "tarn: double free.*\"packets\"");
  EXPECT_EXIT(own.Deallocate(static_cast<char*>(blocks[1]) + 8), dies, "tarn: invalid free");
  EXPECT_EXIT(own.Deallocate(&local), dies, "tarn: invalid free");
  own.Deallocate(nullptr);
  for (void* const p : blocks) {
    if (p != blocks[2]) own.Deallocate(p);
  }
  EXPECT_EQ(own.GetBlocksInUse(), 0u);
  EXPECT_TRUE(own.Check());
}

TEST(CompatAllocatorDeathTest, ThreeModes) {
  Allocator blocks(40, 0, nullptr, "packets");
  EXPECT_STREQ(blocks.GetName(), "packets");
  EXPECT_EQ(blocks.GetBlockSize(), 40u);
  use(blocks, 500);
  Allocator pool(40, 500, nullptr, "packets");
  use(pool, 500);
  EXPECT_EQ(pool.TryAllocate(41), nullptr);
  // Exactly as many bytes as the source wants: the bits lie in the allocator.
  alignas(8) static char bytes[40 * 500];
  Allocator own(40, 500, bytes, "packets");
  use(own, 500);
  static AllocatorPool<char[40], 500> inside("packets");
  Allocator& as_allocator = inside;
  use(as_allocator, 500);
}

std::size_t capacity_of(Allocator& own) {
  EXPECT_EQ(own.GetBlockCount(), 0u);  // None was made yet.
  while (own.TryAllocate(1) != nullptr) {
  }
  return own.GetBlockCount();
}

// As in the source, whatever the size: no block of the program's memory is lost to a rounding up.
TEST(CompatAllocatorDeathTest, MemoryOfOnesOwnHasAllObjects) {
  const auto dies = testing::KilledBySignal(SIGABRT);
  for (const std::size_t size : {8u, 9u, 12u, 20u, 25u, 30u, 52u, 100u, 1001u}) {
    std::vector<std::max_align_t> memory((size * 20 + 15) / 16 + 1);
    auto* const start = reinterpret_cast<char*>(memory.data());
    start[size * 20] = 'x';
    Allocator own(size, 20, start, "packets");
    std::vector<char*> blocks;
    for (std::size_t i = 0; i < 20; ++i) {
      blocks.push_back(static_cast<char*>(own.Allocate(size)));
      EXPECT_EQ(blocks.back(), start + i * size);
      std::memset(blocks.back(), static_cast<int>(i), size);
    }
    EXPECT_EQ(own.GetBlockCount(), 20u);
    EXPECT_EQ(own.TryAllocate(1), nullptr);
    for (char* const p : blocks) own.Deallocate(p);
    EXPECT_TRUE(own.Check());
    EXPECT_EXIT(own.Deallocate(blocks[3]), dies, "tarn: double free.*\"packets\"");
    EXPECT_EXIT(own.Deallocate(blocks[3] + 4), dies, "tarn: invalid free");
    EXPECT_EQ(start[size * 20], 'x');
  }
  // Of a class: its own alignment is enough.
  struct Point {
    float x, y, z;
  };
  alignas(Point) static char memory[sizeof(Point) * 100];
  static Allocator points(sizeof(Point), 100, memory, "points", alignof(Point));
  EXPECT_EQ(capacity_of(points), 100u);
  // Smaller than a pointer: as many as there is room for.
  Allocator small(4, 20, memory);
  EXPECT_EQ(capacity_of(small), 10u);
  EXPECT_EQ(small.GetBlockSize(), sizeof(void*));
  Allocator tiny(3, 20);
  EXPECT_EQ(capacity_of(tiny), 20u);
}

// No objects: there is nothing to put into it, and blocks are the heap's.
TEST(CompatAllocator, MemoryThatIsNotUsedLeaksNothing) {
  alignas(16) static char memory[64];
  Allocator blocks(64, 0, memory);
  void* const p = blocks.Allocate(64);
  EXPECT_NE(p, static_cast<void*>(memory));
  EXPECT_TRUE(blocks.Owns(p));
}

TEST(CompatAllocator, TheNewHandlerIsAsked) {
  static Allocator pool(16, 1);
  static void* held = pool.Allocate(16);
  std::set_new_handler([] {
    pool.Deallocate(held);
    std::set_new_handler(nullptr);
  });
  EXPECT_EQ(pool.Allocate(16), held);
  EXPECT_THROW(static_cast<void>(pool.Allocate(16)), std::bad_alloc);
  pool.Deallocate(held);
}

}  // namespace
