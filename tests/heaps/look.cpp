// What an address is to a heap (tarn_heap_look), whether a heap is sound (tarn_heap_check), sized
// frees and usable bytes: in every thread mode, and in the modes that check.
//
// SPDX-License-Identifier: MIT
#include <random>
#include <set>
#include <thread>

#include "modes.hpp"

namespace heaps {
namespace {

class Look : public EachMode {};
INSTANTIATE_TEST_SUITE_P(Modes, Look, every_mode);

constexpr std::size_t sizes[] = {0, 1, 16, 48, 400, 1024, 5000, 40000, 128 * kib, 3 * mib};

TEST_P(Look, TellsLiveBlocksFromFreeOnesAndTheRest) {
  const Heap heap(GetParam());
  const Heap other(GetParam());
  std::mt19937 random(7);
  std::set<char*> live;
  std::set<char*> freed;
  for (int i = 0; i < scaled(20000) + 500; ++i) {
    if (random() % 3 != 0 || live.empty()) {
      const std::size_t bytes = sizes[random() % (random() % 50 == 0 ? 10 : 7)];
      auto* const p = static_cast<char*>(tarn_heap_allocate(heap, bytes));
      ASSERT_NE(p, nullptr);
      live.insert(p);
      freed.erase(p);
    } else {
      const std::size_t skip = random() % std::min<std::size_t>(live.size(), 50);
      const auto at = std::next(live.begin(), static_cast<std::ptrdiff_t>(skip));
      tarn_heap_deallocate(*at);
      freed.insert(*at);
      live.erase(at);
    }
  }
  std::size_t checked = 0;
  for (char* const p : live) {
    EXPECT_EQ(tarn_heap_look(heap, p), TARN_HEAP_LIVE);
    EXPECT_EQ(tarn_heap_look(other, p), TARN_HEAP_NOTHING);
    EXPECT_EQ(tarn_heap_look(heap, p + 1), TARN_HEAP_NOTHING);
    if (++checked == 300) break;
  }
  checked = 0;
  for (char* const p : freed) {
    EXPECT_NE(tarn_heap_look(heap, p), TARN_HEAP_LIVE) << static_cast<void*>(p);
    if (++checked == 300) break;
  }
  // What is in a page of the heap is known to be free; whole pages go back.
  auto* const kept = static_cast<char*>(tarn_heap_allocate(heap, 100));
  auto* const gone = static_cast<char*>(tarn_heap_allocate(heap, 100));
  tarn_heap_deallocate(gone);
  EXPECT_EQ(tarn_heap_look(heap, kept), TARN_HEAP_LIVE);
  EXPECT_EQ(tarn_heap_look(heap, gone), TARN_HEAP_FREE);
  EXPECT_EQ(tarn_heap_check(heap), 1);
}

TEST_P(Look, AnyPointer) {
  const Heap heap(GetParam());
  (void)!tarn_heap_allocate(heap, 100);
  int local = 0;
  for (const void* const p : {static_cast<const void*>(nullptr), static_cast<const void*>(&local),
                              static_cast<const void*>(&heap), reinterpret_cast<const void*>(16),
                              reinterpret_cast<const void*>(UINTPTR_MAX)}) {
    EXPECT_EQ(tarn_heap_look(heap, p), TARN_HEAP_NOTHING);
  }
}

TEST_P(Look, SeesWhatOtherThreadsHaveFreed) {
  if (GetParam() == TARN_HEAP_CONFINED) GTEST_SKIP() << "one thread's alone";
  const Heap heap(GetParam());
  std::vector<void*> blocks(scaled(3000) + 100);
  for (void*& p : blocks) p = tarn_heap_allocate(heap, 64);
  std::thread([&] {
    for (std::size_t i = 0; i < blocks.size(); i += 2) tarn_heap_deallocate(blocks[i]);
  }).join();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const int wanted = i % 2 == 0 ? TARN_HEAP_FREE : TARN_HEAP_LIVE;
    EXPECT_EQ(tarn_heap_look(heap, blocks[i]), wanted) << i;
  }
  EXPECT_EQ(tarn_heap_check(heap), 1);
}

// What is free is kept back, or wiped, or gone: never live.
class LookChecked : public Modes {};
INSTANTIATE_TEST_SUITE_P(Modes, LookChecked,
                         testing::Combine(checking_modes, testing::Values(TARN_HEAP_SHARED)));

TEST_P(LookChecked, TellsLiveBlocksFromFreeOnes) {
  const tarn_heap_options wanted = in_mode(mode(), threads());
  const Heap heap(wanted);
  std::vector<char*> blocks;
  for (const std::size_t bytes : sizes) {
    blocks.push_back(static_cast<char*>(tarn_heap_allocate(heap, bytes)));
    ASSERT_NE(blocks.back(), nullptr);
    EXPECT_EQ(tarn_heap_usable_bytes(blocks.back()), bytes);
  }
  for (std::size_t i = 0; i < blocks.size(); i += 2) {
    tarn_heap_deallocate_sized(blocks[i], sizes[i]);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(tarn_heap_look(heap, blocks[i]) == TARN_HEAP_LIVE, i % 2 == 1) << i;
    EXPECT_EQ(tarn_heap_look(heap, blocks[i] + 1), TARN_HEAP_NOTHING);
  }
  EXPECT_EQ(tarn_heap_check(heap), 1);
  for (std::size_t i = 1; i < blocks.size(); i += 2) tarn_heap_deallocate(blocks[i]);
}

TEST(LookErrors, NoHeapAndMallocs) {
  for (const tarn_heap heap : {tarn_heap{}, tarn_heap_main()}) {
    errno = 0;
    EXPECT_EQ(tarn_heap_look(heap, &errno), -1);
    EXPECT_EQ(errno, EINVAL);
    errno = 0;
    EXPECT_EQ(tarn_heap_check(heap), -1);
    EXPECT_EQ(errno, EINVAL);
  }
  EXPECT_EQ(tarn_heap_usable_bytes(nullptr), 0u);
  int local = 0;
  for (const void* const p :
       {static_cast<const void*>(&local), reinterpret_cast<const void*>(std::uintptr_t{1} << 48),
        reinterpret_cast<const void*>(UINTPTR_MAX)}) {
    EXPECT_DEATH((void)tarn_heap_usable_bytes(p), "tarn: invalid free: tarn_heap_usable_bytes");
  }
  EXPECT_TRUE(tarn::HeapRef::main().check());
  EXPECT_EQ(tarn::HeapRef::main().look(&errno), tarn::BlockState::nothing);
  tarn_heap_deallocate_sized(nullptr, 100);
}

TEST(Check, FindsAListThatWasWrittenOver) {
  const Heap heap;
  std::vector<void*> blocks(1000);
  for (void*& p : blocks) p = tarn_heap_allocate(heap, 64);
  for (std::size_t i = 0; i < blocks.size(); i += 3) tarn_heap_deallocate(blocks[i]);
  ASSERT_EQ(tarn_heap_check(heap), 1);
  // The link of a block that was freed in the middle, as a late write has it.
  void* const before = *static_cast<void**>(blocks[300]);
  *static_cast<void**>(blocks[300]) = &errno;
  EXPECT_EQ(tarn_heap_check(heap), 0);
  *static_cast<void**>(blocks[300]) = before;
  EXPECT_EQ(tarn_heap_check(heap), 1);
}

TEST(SizedFree, IsTheSameInFastHeapsAndComparedInCheckedOnes) {
  const Heap heap;
  void* const p = tarn_heap_allocate(heap, 100);
  EXPECT_GE(tarn_heap_usable_bytes(p), 100u);
  tarn_heap_deallocate_sized(p, 100);
  const tarn_heap_options wanted = in_mode(TARN_MODE_CHECKED);
  const Heap checked(wanted);
  void* const q = tarn_heap_allocate(checked, 100);
  EXPECT_DEATH(tarn_heap_deallocate_sized(q, 101), "tarn: size mismatch: ");
  tarn_heap_deallocate_sized(q, 100);
}

}  // namespace
}  // namespace heaps
