// Ceilings that several threads meet at once: kept to the byte, and free pages of others are found.
//
// SPDX-License-Identifier: MIT
#include <atomic>
#include <latch>
#include <thread>

#include "../support/threads.hpp"
#include "heap.hpp"

namespace heaps {
namespace {

tarn_heap_options limited(int threads, std::size_t ceiling) {
  tarn_heap_options wanted = options(threads);
  wanted.ceiling_bytes = ceiling;
  return wanted;
}

class Ceilings : public EachMode {};
INSTANTIATE_TEST_SUITE_P(Modes, Ceilings, every_mode);
class SharedCeilings : public EachMode {};
INSTANTIATE_TEST_SUITE_P(Modes, SharedCeilings,
                         testing::Values(TARN_HEAP_SHARED, TARN_HEAP_SERIALISED));

// Fills up, until it is refused, and frees all of it, again and again. Counts what went wrong.
unsigned work_at_ceiling(tarn_heap heap, unsigned id, int rounds) {
  unsigned wrong = 0;
  std::vector<void*> blocks;
  for (int i = 0; i < rounds; ++i) {
    const std::size_t bytes = 40 + static_cast<std::size_t>(i) % 13 * 150;
    for (int b = 0; b < 500; ++b) {
      void* const p = tarn_heap_allocate(heap, bytes);
      if (p == nullptr) break;
      fill(p, 40, id);
      blocks.push_back(p);
    }
    for (void* const p : blocks) {
      wrong += !is_filled(p, 40, id);
      tarn_free(p);
    }
    blocks.clear();
  }
  return wrong;
}

// Each child's empty pages are what the others want.
TEST_P(Ceilings, OfAParentWhoseChildrenHaveAThreadEach) {
  constexpr std::size_t ceiling = 256 * kib;
  const Heap parent(limited(TARN_HEAP_SHARED, ceiling));
  std::atomic<unsigned> wrong{0};
  support::in_threads(4u, [&](unsigned id) {
    tarn_heap_options wanted = options(GetParam());
    wanted.parent = parent;
    const Heap child(wanted);
    wrong += work_at_ceiling(child, id, scaled(1'000));
    wrong += stats_of(child).live_blocks != 0;
    wrong += stats_of(child).committed_bytes_peak > ceiling;
  });
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(committed(parent), 0u);
  EXPECT_LE(stats_of(parent).committed_bytes_peak, ceiling);
  EXPECT_NE(tarn_heap_allocate(parent, ceiling), nullptr);
}

// Whoever is refused looks for empty pages in all children, whose threads take and free one block
// after the other: their pages are empty, and in use, all the time.
TEST_P(Ceilings, SearchedWhileTheChildrenWork) {
  const Heap parent(limited(TARN_HEAP_SHARED, mib));
  std::atomic<unsigned> wrong{0};
  std::atomic<bool> stop{false};
  std::latch at_work(2);
  support::Threads threads(2u, [&](unsigned id) {
    tarn_heap_options wanted = options(GetParam());
    wanted.parent = parent;
    const Heap child(wanted);
    make_grown_up(child);
    at_work.count_down();
    for (unsigned i = 0; !stop; ++i) {
      void* const a = tarn_heap_allocate(child, 40);
      void* const b = tarn_heap_allocate(child, 40);
      if (a == nullptr || b == nullptr || a == b) {
        ++wrong;
        continue;
      }
      fill(a, 40, i);
      fill(b, 40, i + id);
      wrong += !is_filled(a, 40, i);
      tarn_free(a);
      tarn_free(b);
    }
    wrong += stats_of(child).live_blocks != 0;
  });
  at_work.wait();
  for (int i = 0; i < scaled(30'000); ++i) wrong += tarn_heap_allocate(parent, 2 * mib) != nullptr;
  stop = true;
  threads.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(committed(parent), 0u);
}

TEST_P(SharedCeilings, OfAHeapThatFourThreadsUse) {
  constexpr std::size_t ceiling = 256 * kib;
  const Heap heap(limited(GetParam(), ceiling));
  std::atomic<unsigned> wrong{0};
  support::in_threads(4u, [&](unsigned id) { wrong += work_at_ceiling(heap, id, scaled(1'000)); });
  EXPECT_EQ(wrong, 0u);
  expect_empty(heap);
  EXPECT_LE(stats_of(heap).committed_bytes_peak, ceiling);
  EXPECT_NE(tarn_heap_allocate(heap, ceiling), nullptr);
}

// A thread that has blocks of the heap and does nothing more.
class Idle {
 public:
  Idle(tarn_heap heap, std::vector<void*>& blocks, std::size_t bytes, bool free_them)
      : thread_([this, heap, bytes, free_them, &blocks] {
          for (void* p; (p = tarn_heap_allocate(heap, bytes)) != nullptr;) blocks.push_back(p);
          while (free_them && !blocks.empty()) {
            tarn_free(blocks.back());
            blocks.pop_back();
          }
          ready_.count_down();
          done_.wait();
        }) {
    ready_.wait();
  }
  ~Idle() {
    done_.count_down();
    thread_.join();
  }

 private:
  std::latch ready_{1};
  std::latch done_{1};
  std::thread thread_;
};

TEST_P(SharedCeilings, EmptyPagesOfAnIdleThreadMakeRoom) {
  const Heap heap(limited(GetParam(), mib));
  std::vector<void*> blocks;
  const Idle idle(heap, blocks, 200, true);
  EXPECT_NE(tarn_heap_allocate(heap, mib), nullptr);
}

TEST_P(SharedCeilings, PagesOfAnIdleThreadThatAnotherHasEmptiedMakeRoom) {
  const Heap heap(limited(GetParam(), mib));
  std::vector<void*> blocks;
  const Idle idle(heap, blocks, 200, false);
  ASSERT_GE(blocks.size(), 3'000u);
  for (void* const p : blocks) tarn_free(p);
  EXPECT_NE(tarn_heap_allocate(heap, mib), nullptr);
}

std::size_t free_all(tarn_heap, std::size_t, void* context) {
  auto* const blocks = static_cast<std::vector<void*>*>(context);
  const std::size_t given = blocks->size();
  for (void* const p : *blocks) tarn_free(p);
  blocks->clear();
  return given;
}

TEST_P(SharedCeilings, PagesOfAnIdleThreadThatReclaimHasEmptiedMakeRoom) {
  std::vector<void*> blocks;
  std::vector<void*> given_up;  // None, while the thread fills the heap.
  tarn_heap_options wanted = limited(GetParam(), mib);
  wanted.reclaim = free_all;
  wanted.context = &given_up;
  const Heap heap(wanted);
  const Idle idle(heap, blocks, 200, false);
  ASSERT_GE(blocks.size(), 3'000u);
  given_up.swap(blocks);
  EXPECT_NE(tarn_heap_allocate(heap, mib), nullptr);
  EXPECT_EQ(given_up.size(), 0u);
}

}  // namespace
}  // namespace heaps
