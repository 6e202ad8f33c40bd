// What a program is told that uses a heap after its end, or frees what is no block of a heap: by
// each function one crime, and the report is matched.
//
// SPDX-License-Identifier: MIT
#include <csignal>
#include <string>
#include <thread>

#include "heap.hpp"

namespace heaps {
namespace {

void drop(void*) {}

void* moved(void* p, std::size_t by) { return static_cast<char*>(p) + opaque(by); }

class MisuseDeathTest : public EachMode {
 protected:
  MisuseDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
INSTANTIATE_TEST_SUITE_P(Modes, MisuseDeathTest, every_mode);

// The report names the function and the heap.
std::string report(const char* function) {
  return std::string("^tarn: use after destroy: ") + function + ".*the heap \"gone\" ";
}

// A heap that has served both young and grown up, from the hit path too, and has ended.
tarn_heap ended(int threads) {
  Heap heap(options(threads, "gone"));
  for (int i = 0; i < 200; ++i) EXPECT_NE(tarn_heap_allocate(heap, 40), nullptr);
  EXPECT_NE(tarn_heap_allocate(heap, 2 * mib), nullptr);
  return heap.destroy();
}

#define EXPECT_REPORT(statement, pattern) \
  EXPECT_EXIT(statement, testing::KilledBySignal(SIGABRT), pattern)

TEST_P(MisuseDeathTest, UseAfterDestroy) {
  const tarn_heap heap = ended(GetParam());
  tarn_heap_stats stats = TARN_HEAP_STATS();
  void* const p = tarn_malloc(10);
  EXPECT_REPORT(drop(tarn_heap_allocate(heap, 40)), report("tarn_heap_allocate"));
  EXPECT_REPORT(drop(tarn_heap_allocate(heap, mib)), report("tarn_heap_allocate"));
  EXPECT_REPORT(drop(tarn_heap_allocate_zeroed(heap, 1, 8)), report("tarn_heap_allocate_zeroed"));
  EXPECT_REPORT(drop(tarn_heap_allocate_aligned(heap, 64, 8)),
                report("tarn_heap_allocate_aligned"));
  EXPECT_REPORT(tarn_heap_reallocate(heap, nullptr, 8), report("tarn_heap_reallocate"));
  EXPECT_REPORT(tarn_heap_reallocate(heap, p, 80), report("tarn_heap_reallocate"));
  EXPECT_REPORT(tarn_heap_clear(heap), report("tarn_heap_clear"));
  EXPECT_REPORT(tarn_heap_destroy(heap), report("tarn_heap_destroy"));
  EXPECT_REPORT(tarn_heap_get_stats(heap, &stats), report("tarn_heap_get_stats"));
  EXPECT_REPORT(tarn_heap_name(heap), report("tarn_heap_name"));
  EXPECT_REPORT(tarn_heap_context(heap), report("tarn_heap_context"));
  tarn_heap_options wanted = options();
  wanted.parent = heap;
  EXPECT_REPORT(tarn_heap_create(&wanted), report("tarn_heap_create"));
  // That one is only a question about the block.
  EXPECT_EQ(tarn_heap_owns(heap, p), 0);
  tarn_free(p);
}

// Other heaps have taken everything that the old one had: its record, its pages, its bins.
TEST_P(MisuseDeathTest, AnOldHandleReachesNoNewHeap) {
  const tarn_heap heap = ended(GetParam());
  std::vector<tarn_heap> others;
  for (int i = 0; i < 8; ++i) {
    const tarn_heap_options wanted = options(GetParam());
    others.push_back(tarn_heap_create(&wanted));
    for (int b = 0; b < 200; ++b) ASSERT_NE(tarn_heap_allocate(others.back(), 40), nullptr);
  }
  EXPECT_REPORT(drop(tarn_heap_allocate(heap, 40)), report("tarn_heap_allocate"));
  EXPECT_REPORT(tarn_heap_clear(heap), report("tarn_heap_clear"));
  for (const tarn_heap other : others) EXPECT_EQ(tarn_heap_destroy(other), 0);
}

TEST_P(MisuseDeathTest, AHeapWithoutANameHasItsNumber) {
  Heap heap(GetParam());
  const tarn_heap gone = heap.destroy();
  EXPECT_REPORT(tarn_heap_clear(gone),
                "^tarn: use after destroy: tarn_heap_clear: the heap \\(number [0-9]+\\)");
}

TEST_P(MisuseDeathTest, BlocksOfTheMixedPage) {
  const Heap heap(GetParam());
  void* const p = tarn_heap_allocate(heap, 100);
  void* const freed = tarn_heap_allocate(heap, 100);
  tarn_heap_deallocate(freed);
  EXPECT_REPORT(tarn_free(freed), "^tarn: (double|invalid) free: free\\(0x");
  EXPECT_REPORT(tarn_heap_deallocate(freed), "^tarn: (double|invalid) free: free\\(0x");
  EXPECT_REPORT(tarn_realloc(freed, 10), "^tarn: (double|invalid) .*: realloc\\(0x");
  for (const std::size_t offset : {1u, 8u, 16u, 96u}) {
    EXPECT_REPORT(tarn_free(moved(p, offset)), "^tarn: invalid free: free\\(0x");
    EXPECT_REPORT(tarn_heap_reallocate(heap, moved(p, offset), 500), "^tarn: invalid .*\\(0x");
    EXPECT_REPORT(tarn_heap_try_expand(moved(p, offset), 500),
                  "^tarn: invalid .*: tarn_heap_try_expand\\(0x");
    EXPECT_REPORT(static_cast<void>(tarn_malloc_usable_size(moved(p, offset))),
                  "^tarn: invalid .*: malloc_usable_size\\(0x");
  }
}

// The heap is named. In a mixed page blocks that were freed can be told.
TEST_P(MisuseDeathTest, NamesTheHeapOfAMixedPage) {
  const Heap heap(options(GetParam(), "mine"));
  auto* const first = static_cast<char*>(tarn_heap_allocate(heap, 40));
  void* const freed = tarn_heap_allocate(heap, 40);
  tarn_heap_deallocate(freed);
  EXPECT_REPORT(tarn_free(freed),
                "^tarn: double free: free\\(0x[0-9a-f]+\\): the memory was freed before; the heap "
                "\"mine\" \\(number [0-9]+\\)\n");
  EXPECT_REPORT(tarn_free(moved(first, 16)),
                "^tarn: invalid free: free\\(0x[0-9a-f]+\\): not the start of a block; the heap "
                "\"mine\" ");
  EXPECT_REPORT(tarn_free(moved(first, 8)), "not the start of a block; the heap \"mine\" ");
}
TEST_P(MisuseDeathTest, NamesTheHeapOfAPage) {
  const Heap heap(options(GetParam(), "mine"));
  void* last = nullptr;
  for (int i = 0; i < 300; ++i) last = tarn_heap_allocate(heap, 40);
  EXPECT_REPORT(drop(tarn_heap_reallocate(heap, moved(last, 16), 10)),
                "^tarn: invalid free: .*not the start of a block; the heap \"mine\" ");
}

TEST_P(MisuseDeathTest, LargeBlocks) {
  const Heap heap(GetParam());
  void* const p = tarn_heap_allocate(heap, mib);
  for (const std::size_t offset : {std::size_t{16}, slice, mib - slice}) {
    EXPECT_REPORT(tarn_free(moved(p, offset)), "^tarn: invalid free: free\\(0x");
  }
  void* const freed = tarn_heap_allocate(heap, mib);
  tarn_heap_deallocate(freed);
  EXPECT_REPORT(tarn_free(freed), "^tarn: (double|invalid) free: free\\(0x");
}

// Blocks of a mixed page, of pages, and a large one.
std::vector<void*> blocks_of_all_kinds(tarn_heap heap) {
  std::vector<void*> blocks;
  for (int i = 0; i < 300; ++i) blocks.push_back(tarn_heap_allocate(heap, 40));
  blocks.push_back(tarn_heap_allocate(heap, 20 * kib));
  blocks.push_back(tarn_heap_allocate(heap, mib));
  return {blocks.front(), blocks[299], blocks[300], blocks[301]};
}

TEST_P(MisuseDeathTest, BlocksOfHeapsThatWereCleared) {
  Heap heap(GetParam());
  const std::vector<void*> blocks = blocks_of_all_kinds(heap);
  EXPECT_EQ(tarn_heap_clear(heap), 0);
  for (void* const p : blocks) {
    EXPECT_REPORT(tarn_free(p), "^tarn: (double|invalid) free: free\\(0x");
  }
}

TEST_P(MisuseDeathTest, BlocksOfHeapsThatEnded) {
  for (const unsigned flags : {0u, unsigned{TARN_HEAP_SEPARATE}}) {
    tarn_heap_options wanted = options(GetParam(), "gone");
    wanted.flags = flags;
    Heap heap(wanted);
    const std::vector<void*> blocks = blocks_of_all_kinds(heap);
    heap.destroy();
    tarn_heap_options later = options(GetParam(), "later");
    const Heap other(later);
    for (void* const p : blocks) {
      EXPECT_REPORT(tarn_free(p),
                    "^tarn: double free: free\\(0x[0-9a-f]+\\): the memory was freed when the heap "
                    "\"gone\" \\(number [0-9]+\\) was destroyed");
      EXPECT_REPORT(static_cast<void>(tarn_realloc(p, 10)),
                    "^tarn: double free: realloc\\(0x.*the heap \"gone\" ");
    }
  }
}

// No address of a program's: no page map has an entry for it.
TEST(AddressDeathTest, NoAddressAtAll) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Heap heap(options(TARN_HEAP_SHARED, "mine"));
  for (const unsigned shift : {48u, 60u, 63u}) {
    void* const p = reinterpret_cast<void*>((opaque(1) << shift) + 0x1000);
    EXPECT_REPORT(static_cast<void>(tarn_heap_usable_bytes(p)),
                  "^tarn: invalid free: tarn_heap_usable_bytes");
    EXPECT_REPORT(static_cast<void>(tarn_heap_try_expand(p, 10)), "^tarn: invalid free");
    EXPECT_REPORT(drop(tarn_heap_reallocate(heap, p, 10)), "^tarn: invalid free");
    EXPECT_EQ(tarn_heap_owns(heap, p), 0);
    EXPECT_EQ(tarn_heap_of(p).record, nullptr);
  }
}

#ifdef TARN_DEBUG
TEST(ConfinedDeathTest, AnotherThreadIsToldInDebugBuilds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Heap heap(options(TARN_HEAP_CONFINED, "mine"));
  EXPECT_NE(tarn_heap_allocate(heap, 10), nullptr);
  const auto use_elsewhere = [&] {
    std::thread([&] { drop(tarn_heap_allocate(heap, 10)); }).join();
  };
  EXPECT_REPORT(use_elsewhere(), "^tarn: wrong thread: the heap \"mine\" ");
}
#endif

}  // namespace
}  // namespace heaps
