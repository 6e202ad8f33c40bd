// What checked, guarded and passthrough heaps say of misuse: one crime each, and the report is
// matched: its kind, the heap, the block, and where it was allocated and freed.
//
// SPDX-License-Identifier: MIT
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "modes.hpp"
#include "tarn/diagnose/misuse.hpp"

namespace heaps {
namespace {

class ModesDeathTest : public testing::TestWithParam<int> {
 protected:
  ModesDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  static tarn_heap_options wanted() { return in_mode(GetParam(), TARN_HEAP_SHARED, "watched"); }
};
INSTANTIATE_TEST_SUITE_P(All, ModesDeathTest, checking_modes);

class CheckedDeathTest : public ModesDeathTest {};
INSTANTIATE_TEST_SUITE_P(All, CheckedDeathTest,
                         testing::Values(TARN_MODE_CHECKED, TARN_MODE_GUARDED));

#define EXPECT_REPORT(statement, pattern) \
  EXPECT_EXIT(statement, testing::KilledBySignal(SIGABRT), pattern)

const std::string heap_words = ".*heap \"watched\" \\(number [0-9]+\\)\n";
const std::string site =
    "[^\n]*heaps_modes_misuse\\+0x[0-9a-f]+ \\(0x[0-9a-f]+\\)[^\n]*\n(tarn: +by [^\n]*\n)*";
const std::string born = heap_words + "tarn:   allocated at " + site;
const std::string dead = born + "tarn:   freed at " + site;

unsigned char* moved(void* p, std::size_t by) {
  return static_cast<unsigned char*>(p) + opaque(by);
}

// Not inlined, so that the compiler does not see what is done to a block that was freed.
[[gnu::noinline]] void put(void* p, std::size_t at, unsigned char value) {
  *const_cast<volatile unsigned char*>(moved(p, at)) = value;
}

TEST_P(CheckedDeathTest, ASecondFree) {
  const Heap heap(wanted());
  for (const std::size_t size : {0u, 24u, 3000u, 200'000u}) {
    void* const p = tarn_heap_allocate(heap, size);
    tarn_heap_deallocate(p);
    const std::string report = "^tarn: double free: free\\(0x[0-9a-f]+\\): the block of " +
                               std::to_string(size) + " bytes was freed before; " + dead +
                               "tarn:   now at " + site;
    EXPECT_REPORT(tarn_heap_deallocate(p), report);
    EXPECT_REPORT(tarn_free(p), report);
    EXPECT_REPORT(tarn_free_sized(p, size), report);
    EXPECT_REPORT(static_cast<void>(tarn_realloc(p, 10)), "^tarn: double free: realloc\\(0x");
    EXPECT_REPORT(static_cast<void>(tarn_malloc_usable_size(p)), "^tarn: double free: malloc_us");
    EXPECT_REPORT(tarn_heap_try_expand(p, 5000), "^tarn: double free: tarn_heap_try_expand");
    EXPECT_EQ(tarn_heap_owns(heap, p), 0);
  }
}

TEST_P(CheckedDeathTest, ASecondFreeLongAfter) {
  const Heap heap(wanted());
  void* const keeper = tarn_heap_allocate(heap, 24);  // Its span stays.
  void* const p = tarn_heap_allocate(heap, 24);
  tarn_heap_deallocate(p);
  tarn_heap_trim(heap, 0);
  EXPECT_REPORT(tarn_heap_deallocate(p), "^tarn: (double|invalid) free: free\\(0x");
  tarn_heap_deallocate(keeper);
}

TEST_P(ModesDeathTest, NotTheStartOfABlock) {
  const Heap heap(wanted());
  for (const std::size_t size : {24u, 3000u, 200'000u}) {
    void* const p = tarn_heap_allocate(heap, size);
    for (const std::size_t by : {std::size_t{1}, std::size_t{8}, std::size_t{16}, size}) {
      EXPECT_REPORT(tarn_free(moved(p, by)), "^tarn: invalid free: free\\(0x");
      EXPECT_REPORT(static_cast<void>(tarn_realloc(moved(p, by), 5)), "^tarn: invalid ");
      EXPECT_EQ(tarn_heap_owns(heap, moved(p, by)), 0);
    }
    tarn_free(p);
  }
}

TEST_P(CheckedDeathTest, InsideABlock) {
  const Heap heap(wanted());
  void* const p = tarn_heap_allocate(heap, 100);
  EXPECT_REPORT(tarn_free(moved(p, 48)),
                "^tarn: invalid free: free\\(0x[0-9a-f]+\\): 48 bytes into a block of 100 bytes; " +
                    born + "tarn:   now at " + site);
}

TEST_P(ModesDeathTest, AnotherSize) {
  const Heap heap(wanted());
  for (const std::size_t size : {24u, 3000u, 200'000u}) {
    void* const p = tarn_heap_allocate(heap, size);
    const std::string report = "^tarn: size mismatch: free\\(0x[0-9a-f]+\\): freed with " +
                               std::to_string(size + 1) + " bytes, allocated with " +
                               std::to_string(size) + "; " + born + "tarn:   now at " + site;
    EXPECT_REPORT(tarn_free_sized(p, size + 1), report);
    EXPECT_REPORT(tarn_free_aligned_sized(p, 16, size + 1), report);
    EXPECT_REPORT(tarn_free_sized(p, size - 1), "^tarn: size mismatch: ");
    EXPECT_REPORT(tarn_free_sized(p, 0), "^tarn: size mismatch: ");
    EXPECT_REPORT(tarn_free_sized(p, SIZE_MAX), "^tarn: size mismatch: ");
    tarn_free_sized(p, size);
  }
  const tarn_fixed fixed = tarn_heap_fixed(heap, 20, 4);
  void* const p = tarn_fixed_allocate(fixed);
  EXPECT_REPORT(tarn_free_sized(p, 24), "^tarn: size mismatch: ");
  EXPECT_REPORT(tarn_free_sized(p, 16), "^tarn: size mismatch: ");
  tarn_free_sized(p, 20);
}

TEST_P(CheckedDeathTest, AnOverrun) {
  const Heap heap(wanted());
  for (const std::size_t size : {20u, 100u, 3001u, 200'001u}) {
    void* const p = tarn_heap_allocate(heap, size);
    const auto overrun = [&](const char* function, std::size_t by) {
      return std::string("^tarn: overrun: ") + function + ": the block of " + std::to_string(size) +
             " bytes at 0x[0-9a-f]+ was written beyond its end, byte " + std::to_string(size + by) +
             "; " + born;
    };
    EXPECT_REPORT((put(p, size, 0), tarn_free(p)), overrun("free", 0));
    EXPECT_REPORT((put(p, size + 3, 1), tarn_free(p)), overrun("free", 3));
    EXPECT_REPORT((put(p, size, 0), tarn_heap_reallocate(heap, p, size + 1)),
                  overrun("tarn_heap_reallocate", 0));
    EXPECT_REPORT((put(p, size, 0), static_cast<void>(tarn_realloc(p, size * 2))),
                  overrun("realloc", 0));
    EXPECT_REPORT((put(p, size, 0), tarn_heap_try_expand(p, size + 1)),
                  overrun("tarn_heap_try_expand", 0));
    EXPECT_REPORT((put(p, size, 0), walked(heap)), overrun("tarn_heap_walk", 0));
    EXPECT_REPORT((put(p, size, 0), tarn_heap_clear(heap)), overrun("tarn_heap_clear", 0));
    EXPECT_REPORT((put(p, size, 0), tarn_heap_destroy(heap)), overrun("tarn_heap_destroy", 0));
    tarn_free(p);
  }
}

TEST(CheckedHeapDeathTest, AWriteAfterTheEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Heap heap(in_mode(TARN_MODE_CHECKED, TARN_HEAP_SHARED, "watched"));
  for (const std::size_t size : {20u, 3000u, 200'000u}) {
    void* const p = tarn_heap_allocate(heap, size);
    tarn_free(p);
    const std::string report = "^tarn: use after free: the block of " + std::to_string(size) +
                               " bytes at 0x[0-9a-f]+ was written after it was freed, byte 7; " +
                               dead;
    EXPECT_REPORT((put(p, 7, 1), tarn_heap_trim(heap, 0)), report);
    EXPECT_REPORT((put(p, 7, 1), walked(heap)), report);
    EXPECT_REPORT((put(p, 7, 1), tarn_heap_clear(heap)), report);
    EXPECT_REPORT((put(p, 7, 1), tarn_heap_destroy(heap)), report);
    const auto go_on = [&] {
      put(p, 7, 1);
      for (int i = 0; i < 3000; ++i) tarn_free(tarn_heap_allocate(heap, 300));
    };
    EXPECT_REPORT(go_on(), report);
  }
}

// What a heap serves to malloc, and frees by name: the sites are those of the program.
TEST_P(CheckedDeathTest, BlocksOfMalloc) {
  const Heap heap(wanted());
  const tarn_heap before = tarn_heap_set_default(heap);
  void* const p = tarn_malloc(100);
  tarn_heap_set_default(before);
  tarn_free(p);
  EXPECT_REPORT(tarn_free(p), "^tarn: double free: .*" + dead + "tarn:   now at " + site);
}

TEST_P(ModesDeathTest, BlocksOfADeletedHeap) {
  tarn_heap_options made = wanted();
  const tarn_heap heap = tarn_heap_create(&made);
  void* const p = tarn_heap_allocate(heap, 100);
  void* const other = tarn_heap_allocate(heap, 100);
  EXPECT_EQ(tarn_heap_delete(heap), 0);
  EXPECT_REPORT(tarn_free_sized(p, 99), "^tarn: size mismatch: .*heap \"watched\" \\(deleted\\)");
  tarn_free(p);
  EXPECT_REPORT(tarn_free(p), "^tarn: (double|invalid) free: free\\(0x");
  tarn_free(other);
}

TEST_P(ModesDeathTest, BlocksOfHeapsThatEnded) {
  Heap heap(wanted());
  std::vector<void*> blocks;
  for (const std::size_t size : {20u, 200'000u}) blocks.push_back(tarn_heap_allocate(heap, size));
  heap.destroy();
  const Heap next(wanted());  // Has the record of the other.
  for (void* const p : blocks) {
    EXPECT_REPORT(tarn_free(p), "^tarn: (double|invalid) free: free\\(0x");
  }
}

// In releases too; debug builds see it before they know who asks.
TEST_P(ModesDeathTest, ConfinedToAThread) {
  const Heap heap(in_mode(GetParam(), TARN_HEAP_CONFINED, "mine"));
  void* const p = tarn_heap_allocate(heap, 10);
  const auto allocate = [&] {
    std::thread([&] { static_cast<void>(usable(tarn_heap_allocate(heap, 10))); }).join();
  };
  const auto free = [&] { std::thread([&] { tarn_free(p); }).join(); };
  const auto resize = [&] {
    std::thread([&] { static_cast<void>(usable(tarn_heap_reallocate(heap, p, 12))); }).join();
  };
  EXPECT_REPORT(allocate(), "^tarn: wrong thread: (tarn_heap_allocate: )?the heap \"mine\" ");
  EXPECT_REPORT(free(), "^tarn: wrong thread: (free: )?the heap \"mine\" ");
  EXPECT_REPORT(resize(), "^tarn: wrong thread: (tarn_heap_reallocate: )?the heap \"mine\" ");
#ifndef TARN_DEBUG
  EXPECT_REPORT(allocate(), "make it shared or serialised\ntarn:   now at ");
#endif
  tarn_free(p);
}

void tell(const tarn_misuse& misuse) noexcept { std::fprintf(stderr, "told of %s\n", misuse.kind); }

struct Listener {
  std::string name;

  void misuse(const tarn_misuse& misuse) noexcept {
    std::fprintf(stderr, "%s: told of %s in %s\n", name.c_str(), misuse.kind, misuse.owner_name);
  }
};

TEST_P(CheckedDeathTest, TheProgramIsTold) {
  const Heap heap(wanted());
  void* const p = tarn_heap_allocate(heap, 24);
  tarn_heap_deallocate(p);
  tarn::on_misuse<tell>();
  EXPECT_REPORT(tarn_free(p), "\ntold of double free\n");
  Listener listener{"listener"};
  tarn::on_misuse<&Listener::misuse>(listener);
  EXPECT_REPORT(tarn_free(p), "\nlistener: told of double free in watched\n");
  tarn::on_no_misuse();
  EXPECT_REPORT(tarn_free(p), "^tarn: double free: .*");
}

}  // namespace
}  // namespace heaps
