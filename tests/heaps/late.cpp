// Heaps in the destructors of thread-local objects, before and after the library's own end of the
// thread.
//
// SPDX-License-Identifier: MIT
#include <pthread.h>

#include <atomic>
#include <functional>
#include <thread>

#include "../support/threads.hpp"
#include "heap.hpp"

namespace heaps {
namespace {

class Late : public EachMode {};
INSTANTIATE_TEST_SUITE_P(Modes, Late, testing::Values(TARN_HEAP_SHARED, TARN_HEAP_SERIALISED));

struct AtEnd {
  std::function<void()> work;
  ~AtEnd() {
    if (work) work();
  }
};
thread_local AtEnd at_end;

// Runs `first` in a thread and `last` in the destructor of a thread-local object of it.
void run_with_destructor(const std::function<void()>& first, const std::function<void()>& last) {
  std::thread([&] {
    at_end.work = last;
    first();
  }).join();
}

// A key's destructor, which libc calls in rounds: by the second the library has ended the thread.
// By the fourth ThreadSanitizer has, too, and knows no order of what is done then.
#if defined(TARN_TEST_TSAN)
constexpr int rounds_count = 2;
#else
constexpr int rounds_count = 4;
#endif
struct Rounds {
  pthread_key_t key;
  int left = 0;
  std::function<void(int)> work;
};

void next_round(void* value) {
  auto* const rounds = static_cast<Rounds*>(value);
  rounds->work(rounds->left);
  if (rounds->left-- > 0) pthread_setspecific(rounds->key, rounds);
}

void run_with_key(const std::function<void()>& first, const std::function<void(int)>& last) {
  Rounds rounds;
  ASSERT_EQ(pthread_key_create(&rounds.key, next_round), 0);
  rounds.left = rounds_count - 1;
  rounds.work = last;
  std::thread([&] {
    first();
    pthread_setspecific(rounds.key, &rounds);
  }).join();
  EXPECT_EQ(rounds.left, -1);
  pthread_key_delete(rounds.key);
}

void* some_block(tarn_heap heap, std::size_t bytes, unsigned seed) {
  void* const p = tarn_heap_allocate(heap, bytes);
  EXPECT_NE(p, nullptr);
  fill(p, bytes, seed);
  return p;
}

TEST_P(Late, DestroyedByAThreadLocalObject) {
  std::atomic<int> destroyed{0};
  for (int i = 0; i < 100; ++i) {
    const tarn_heap_options wanted = options(GetParam());
    const tarn_heap heap = tarn_heap_create(&wanted);
    run_with_destructor(
        [&] {
          for (unsigned b = 0; b < 300; ++b) some_block(heap, b, b);
        },
        [&] {
          some_block(heap, 40, 1);
          EXPECT_EQ(stats_of(heap).live_blocks, 301u);
          destroyed += tarn_heap_destroy(heap) == 0;
        });
  }
  EXPECT_EQ(destroyed, 100);
}

TEST_P(Late, ASoftMarkIsPassedAfterTheLibrarysEndOfTheThread) {
  std::atomic<int> called{0};
  tarn_heap_options wanted = options(GetParam());
  wanted.soft_mark_bytes = 64 * 1024;
  wanted.soft_mark = [](tarn_heap, std::size_t, void* context) {
    ++*static_cast<std::atomic<int>*>(context);
  };
  wanted.context = &called;
  const tarn_heap heap = tarn_heap_create(&wanted);
  run_with_key([&] { some_block(heap, 40, 1); },
               [&](int left) {
                 if (left != 0) return;
                 EXPECT_EQ(called, 0);
                 for (unsigned b = 0; b < 1'000; ++b) some_block(heap, 200, b);
               });
  EXPECT_EQ(called, 1);
  EXPECT_EQ(tarn_heap_destroy(heap), 0);
}

TEST_P(Late, DestroyedAfterTheLibrarysEndOfTheThread) {
  std::atomic<int> destroyed{0};
  for (int i = 0; i < 50; ++i) {
    const tarn_heap_options wanted = options(GetParam());
    const tarn_heap heap = tarn_heap_create(&wanted);
    const auto in_heap = [&] {
      for (unsigned b = 0; b < 300; ++b) some_block(heap, b, b);
    };
    std::thread(in_heap).join();
    run_with_key(in_heap, [&](int left) {
      if (left != 0) return;
      EXPECT_EQ(stats_of(heap).live_blocks, 600u);
      destroyed += tarn_heap_destroy(heap) == 0;
    });
  }
  EXPECT_EQ(destroyed, 50);
}

TEST_P(Late, AllocatesAfterTheLibrarysEndOfTheThread) {
  const Heap heap(GetParam());
  std::vector<void*> blocks;
  for (unsigned round = 0; round < 20; ++round) {
    run_with_key([&] { blocks.push_back(some_block(heap, 100, 7)); },
                 [&](int) {
                   for (const std::size_t bytes : {100u, 100u, 5'000u, 200'000u}) {
                     void* const p = some_block(heap, bytes, 7);
                     blocks.push_back(tarn_heap_reallocate(heap, p, bytes + 3'000));
                     tarn_free(some_block(heap, bytes, 7));
                   }
                 });
  }
  EXPECT_EQ(stats_of(heap).live_blocks, blocks.size());
  EXPECT_EQ(blocks.size(), 20u * (1 + 4 * rounds_count));
  for (void* const p : blocks) {
    EXPECT_TRUE(is_filled(p, 100, 7));
    tarn_free(p);
  }
  expect_empty(heap);
  tarn_malloc_trim(0);
  EXPECT_EQ(committed(heap), 0u);
}

TEST_P(Late, MadeUsedAndDestroyedAfterTheLibrarysEndOfTheThread) {
  std::atomic<int> good{0};
  for (int i = 0; i < 20; ++i) {
    run_with_key([] { tarn_free(tarn_malloc(10)); },
                 [&](int) {
                   const Heap heap(GetParam());
                   for (unsigned b = 0; b < 300; ++b) some_block(heap, b, b);
                   EXPECT_EQ(tarn_heap_clear(heap), 0);
                   some_block(heap, 2'000, 1);
                   good += stats_of(heap).live_blocks == 1;
                 });
  }
  EXPECT_EQ(good, 20 * rounds_count);
}

TEST_P(Late, ManyThreadsAtOnce) {
  const Heap heap(GetParam());
  std::atomic<std::uint64_t> live{0};
  support::Threads threads(4u, [&](unsigned id) {
    for (int i = 0; i < scaled(100); ++i) {
      run_with_key([&] { tarn_free(some_block(heap, 60, id)); },
                   [&](int) {
                     for (unsigned b = 0; b < 50; ++b) tarn_free(some_block(heap, b * 9, id));
                     some_block(heap, 70, id);
                     ++live;
                   });
    }
  });
  for (int i = 0; i < scaled(200); ++i) stats_of(heap);
  threads.join();
  EXPECT_EQ(stats_of(heap).live_blocks, live);
}

}  // namespace
}  // namespace heaps
