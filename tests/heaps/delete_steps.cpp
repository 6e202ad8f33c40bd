// What tarn_heap_delete takes, and the thread's next refill, in instructions: as many whether the
// thread has few other heaps or many, and few or many that were deleted and live on as blocks. Not
// in builds with sanitizers, whose instructions are others.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "heap.hpp"

#if defined(__x86_64__) && TARN_TEST_DIVISOR == 1
#include <algorithm>
#include <csignal>

#include "../support/trap_flag.hpp"

namespace heaps {
namespace {

volatile std::sig_atomic_t steps = 0;

void on_step(int /*signal*/) { steps = steps + 1; }

// Of a size that has a page of its own, and no block of it at hand in malloc's heap.
constexpr std::size_t block_bytes = 3'000;

// The median of some deletions, each with blocks of malloc's until it has refilled.
long steps_of_a_deletion(std::vector<tarn_heap>& heaps) {
  std::vector<long> all;
  std::vector<void*> blocks(3 * 12);
  std::size_t taken = 0;
  for (int i = 0; i < 3; ++i) {
    const tarn_heap heap = heaps.back();
    heaps.pop_back();
    steps = 0;
    support::in_steps([&] {
      tarn_heap_delete(heap);
      for (int k = 0; k < 12; ++k) blocks[taken++] = tarn_malloc(block_bytes);
    });
    all.push_back(steps);
  }
  for (void* const p : blocks) tarn_free(p);
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

std::vector<tarn_heap> heaps_with_a_block(int count, std::vector<void*>& blocks) {
  std::vector<tarn_heap> heaps;
  for (int i = 0; i < count; ++i) {
    heaps.push_back(tarn_heap_create(nullptr));
    blocks.push_back(tarn_heap_allocate(heaps.back(), 2'000));
  }
  return heaps;
}

TEST(DeleteSteps, AreAsManyWhateverElseTheThreadHas) {
  ASSERT_NE(std::signal(SIGTRAP, on_step), SIG_ERR);
  std::vector<void*> blocks;
  std::vector<tarn_heap> heaps = heaps_with_a_block(20, blocks);
  const long of_few = steps_of_a_deletion(heaps);
  for (const tarn_heap heap : heaps) ASSERT_EQ(tarn_heap_delete(heap), 0);

  heaps = heaps_with_a_block(4'000, blocks);
  const long among_live_ones = steps_of_a_deletion(heaps);
  while (heaps.size() > 20) {
    ASSERT_EQ(tarn_heap_delete(heaps.back()), 0);
    heaps.pop_back();
  }
  tarn_thread_idle();  // Which flushes what the deleted heaps have left.
  const long among_deleted_ones = steps_of_a_deletion(heaps);

  EXPECT_GT(of_few, 100) << "not stepped through";
  EXPECT_LT(among_live_ones, 2 * of_few);
  EXPECT_LT(among_deleted_ones, 2 * of_few);
  for (void* const p : blocks) tarn_free(p);
  for (const tarn_heap heap : heaps) EXPECT_EQ(tarn_heap_delete(heap), 0);
}

}  // namespace
}  // namespace heaps
#endif
