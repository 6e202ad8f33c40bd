// smrtheap: the C++ form of the pools, and the faults of the source.
//
// SPDX-License-Identifier: MIT
#include "smrtheap.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/child.hpp"

namespace {

struct Counted {
  static inline int live = 0;
  static inline std::vector<int> ended;
  explicit Counted(int n = 0) : number(n) {
    if (n < 0) throw std::invalid_argument("not negative");
    ++live;
  }
  Counted(const Counted&) = delete;
  ~Counted() {
    --live;
    ended.push_back(number);
  }
  int number;
};

// Without a destructor of its own.
struct Positive {
  explicit Positive(int n) : number(n) {
    if (n <= 0) throw std::invalid_argument("positive");
  }
  int number;
};

struct alignas(64) Wide {
  explicit Wide(bool fail = false) {
    if (fail) throw std::invalid_argument("told to");
  }
  char c[64] = {};
};

class SmrtHeap : public testing::Test {
 protected:
  ~SmrtHeap() override {
    if (pool != nullptr) {
      EXPECT_EQ(MemPoolFree(pool), 1);
    }
  }
  MEM_POOL pool = MemPoolInit(0);
};

TEST_F(SmrtHeap, NewInAPool) {
  auto* const text = new (pool) char[100];
  std::strcpy(text, "in the pool");
  EXPECT_EQ(MemCheckPtr(pool, text), MEM_POINTER_OK);
  auto* const object = new (pool) Counted(7);
  EXPECT_EQ(MemCheckPtr(pool, object), MEM_POINTER_OK);
  auto* const array = new (pool) int[50]();
  EXPECT_EQ(array[49], 0);
  auto* const wide = new (pool) Wide;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(wide) % 64, 0u);
  auto* const wides = new (pool) Wide[3];
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(wides) % 64, 0u);
  EXPECT_EQ(MemPoolCount(pool), 5u);
  // Other placements of over-aligned types are as ever.
  alignas(64) char room[sizeof(Wide)];
  EXPECT_EQ(static_cast<void*>(::new (static_cast<void*>(room)) Wide), static_cast<void*>(room));
  EXPECT_EQ(std::vector<Wide>(3).size(), 3u);
  object->~Counted();
  MemFreePtr(object);
  MemFreePtr(text);
  EXPECT_EQ(MemPoolCount(pool), 3u);
}

// However a block is aligned, its pool may have it zero. (The first blocks of a pool lie close.)
TEST_F(SmrtHeap, NewInAPoolOfZeros) {
  const MEM_POOL zeros = MemPoolInit(MEM_ZEROINIT);
  void* const used = MemAllocPtr(zeros, 1000, 0);
  std::memset(used, 'x', 1000);
  MemFreePtr(used);
  EXPECT_NE(MemAllocPtr(zeros, 16, 0), nullptr);
  for (int n = 0; n < 4; ++n) {
    char* const block = new (zeros) char[128];
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 128, 0u);
    for (int i = 0; i < 128; ++i) ASSERT_EQ(block[i], 0) << i << " of block " << n;
  }
  EXPECT_EQ(MemPoolFree(zeros), 1);
}

TEST_F(SmrtHeap, AThrowingConstructorLeaksNothing) {
  EXPECT_THROW(new (pool) Counted(-1), std::invalid_argument);
  EXPECT_THROW((new (pool) Counted[3]{Counted(1), Counted(2), Counted(-1)}), std::invalid_argument);
  EXPECT_THROW(new (pool) Wide(true), std::invalid_argument);
  EXPECT_THROW((new (pool) Wide[2]{Wide(), Wide(true)}), std::invalid_argument);
  EXPECT_THROW(MemNew<Counted>(pool, -1), std::invalid_argument);
  EXPECT_THROW(MemNew<Positive>(pool, -1), std::invalid_argument);
  EXPECT_THROW(MemNew<Wide>(pool, true), std::invalid_argument);
  EXPECT_EQ(MemPoolCount(pool), 0u);
  EXPECT_EQ(Counted::live, 0);
}

TEST_F(SmrtHeap, OutOfMemoryThrows) {
  MemPoolSetCeiling(pool, 65536);
  EXPECT_THROW((void)new (pool) char[1 << 20], std::bad_alloc);
  EXPECT_THROW((void)new (pool) Wide[5000], std::bad_alloc);
  struct Large {
    char c[1 << 20];
  };
  EXPECT_THROW(MemNew<Large>(pool), std::bad_alloc);
  const MEM_POOL none = nullptr;
  EXPECT_THROW((void)new (none) int, std::bad_alloc);
}

// Destructors are not skipped: the pool runs those of what MemNew made, the youngest first.
TEST_F(SmrtHeap, ThePoolDestroysItsObjects) {
  Counted::ended.clear();
  Counted* objects[6];
  for (int i = 0; i < 6; ++i) objects[i] = MemNew<Counted>(pool, i);
  auto* const list = MemNew<std::vector<std::string>>(pool, 100u, std::string(100, 'x'));
  EXPECT_EQ((*list)[99].size(), 100u);
  int* const plain = MemNew<int>(pool, 3);
  struct alignas(128) Far {
    std::string text = std::string(200, 'y');
  };
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(MemNew<Far>(pool)) % 128, 0u);
  MemDelete(objects[5]);
  MemDelete(objects[0]);
  MemDelete(objects[3]);
  MemDelete(plain);
  MemDelete(static_cast<Counted*>(nullptr));
  EXPECT_EQ(Counted::live, 3);
  EXPECT_EQ(MemPoolCount(pool), 5u);
  EXPECT_EQ(MemPoolFree(pool), 1);  // The strings, too: a leak checker would see them.
  pool = nullptr;
  EXPECT_EQ(Counted::live, 0);
  EXPECT_EQ(Counted::ended, (std::vector<int>{5, 0, 3, 4, 2, 1}));
}

// A visitor cannot end the pool: its objects live on.
TEST_F(SmrtHeap, AWalkedPoolIsNotFreed) {
  MemNew<Counted>(pool, 1);
  MemNew<Counted>(pool, 2);
  const auto visit = [](const MEM_POOL_ENTRY* entry, void* context) {
    MEM_POOL ours = nullptr;
    std::memcpy(&ours, context, sizeof ours);
    EXPECT_EQ(MemPoolOfPtr(entry->entry), ours);
    EXPECT_EQ(MemPoolFree(ours), 0);
    EXPECT_EQ(Counted::live, 2);
    return 3;
  };
  EXPECT_EQ(MemPoolVisit(pool, visit, &pool), 3);
  EXPECT_EQ(MemPoolCount(pool), 2u);
  EXPECT_EQ(MemPoolFree(pool), 1);
  pool = nullptr;
  EXPECT_EQ(Counted::live, 0);
}

// MemNew is told the type: it aligns as that says.
TEST_F(SmrtHeap, AnyAlignment) {
  struct alignas(16384) Table {
    std::string text = "t";
  };
  struct alignas(32768) Plain {
    char c;
  };
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(MemNew<Table>(pool)) % 16384, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(MemNew<Plain>(pool)) % 32768, 0u);
    EXPECT_NE(MemAllocPtr(pool, 5000, 0), nullptr);
  }
}

// More than one block of places holds.
TEST_F(SmrtHeap, ManyPools) {
  std::vector<MEM_POOL> pools(3 * TARN_MEM_PLACES / 2);
  for (MEM_POOL& each : pools) each = MemPoolInit(0);
  for (const MEM_POOL each : pools) ASSERT_EQ(MemPoolOfPtr(MemAllocPtr(each, 8, 0)), each);
  EXPECT_DEATH(MemFreePtr(pools.back()), "tarn: (invalid|double) free: ");
  for (const MEM_POOL each : pools) ASSERT_EQ(MemPoolFree(each), 1);
}

#if !defined(TARN_SANITIZED)
// Runs in a child that may not have much more address space than it has.
template <class Body>
void without_memory(Body body) {
  const int status = support::status_of_child([&] {
    const rlimit least{64 << 20, 64 << 20};
    return setrlimit(RLIMIT_AS, &least) == 0 ? body() : 2;
  });
  EXPECT_EQ(status, 0);
}

TEST_F(SmrtHeap, NoMemoryForPools) {
  without_memory([] {
    std::size_t made = 0;
    while (MEM_POOL each = MemPoolInitFS(16, 1, 0)) {
      if (MemAllocPtr(each, 8, 0) == nullptr || ++made == 1'000'000) break;
    }
    if (made == 0 || made == 1'000'000) return 1;
    while (MemPoolInit(0) != nullptr) ++made;
    MEM_POOL_INFO info;  // All that there are can be ended, and then there is memory again.
    while (MemPoolFirst(&info)) {
      if (MemPoolFree(info.pool) != 1) return 3;
    }
    return MemPoolFree(MemPoolInit(0)) == 1 ? 0 : 4;
  });
}

TEST_F(SmrtHeap, NoMemoryForAWalk) {
  without_memory([this] {
    while (MemAllocPtr(pool, 32, 0) != nullptr) {
    }
    while (MemAllocPtr(MemDefaultPool, 16, 0) != nullptr) {
    }
    MEM_POOL_ENTRY entry;
    entry.entry = nullptr;
    if (MemPoolWalk(pool, &entry) != MEM_POOL_NO_MEMORY) return 1;
    if (MemPoolPreAllocate(pool, std::size_t{1} << 30) != 0) return 3;
    return MemPoolFree(pool) == 1 && MemPoolFree(MemPoolInit(0)) == 1 ? 0 : 4;
  });
}
#endif

TEST_F(SmrtHeap, AStalePoolIsReported) {
  const MEM_POOL stale = MemPoolInit(0);
  void* const block = MemAllocPtr(stale, 100, 0);
  MemPoolFree(stale);
  EXPECT_DEATH((void)MemAllocPtr(stale, 100, 0), "tarn: use after destroy: .*MemPool");
  EXPECT_DEATH(MemPoolFree(stale), "tarn: use after destroy: ");
  EXPECT_DEATH(MemFreePtr(block), "tarn: ");
  int local = 0;
  EXPECT_DEATH(MemFreePtr(&local), "tarn: invalid free: ");
  EXPECT_DEATH(MemFreePtr(pool), "tarn: invalid free: ");  // Meant as MemPoolFree.
}

}  // namespace
