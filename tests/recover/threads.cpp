// Threads that lock, refill, recover, register and end all at once: contents are whole while they
// are locked, ceilings hold, and nothing is left in the end.
//
// SPDX-License-Identifier: MIT
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>
#include <random>
#include <thread>

#include "../support/threads.hpp"
#include "recover.hpp"

namespace recovering {
namespace {

constexpr unsigned thread_count = 4;

template <class Work>
void in_threads(Work work) {
  std::latch start(thread_count);
  support::in_threads(thread_count, [&](unsigned id) {
    start.arrive_and_wait();
    work(id);
  });
}

// Locks, or fills; whether the contents were the block's own. All words are written by who fills.
struct Word {
  std::size_t value;
};
bool use(tarn::Purgeable<Word>& block, std::size_t value, std::atomic<int>* fills) {
  auto locked = block.lock_or_fill([&](Word* to, std::size_t count) {
    ++*fills;
    for (std::size_t i = 0; i < count; ++i) to[i].value = value;
  });
  for (const Word& word : locked) {
    if (word.value != value) return false;
  }
  return true;
}

class Threads : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Modes, Threads, testing::Values(TARN_HEAP_SHARED, TARN_HEAP_SERIALISED));

TEST_P(Threads, LockAndRefillWhileOthersRecover) {
  const Heap heap(options(256 * kib, GetParam()));
  std::vector<std::unique_ptr<tarn::Purgeable<Word>>> blocks;
  for (int i = 0; i < 60; ++i) {
    blocks.push_back(std::make_unique<tarn::Purgeable<Word>>(
        i % 4 == 0 ? 5'000 : 1'000, i % 5 == 0 ? tarn_heap{} : static_cast<tarn_heap>(heap)));
  }
  std::atomic<int> wrong{0};
  std::atomic<int> fills{0};
  in_threads([&](unsigned id) {
    std::minstd_rand random(id + 1);
    for (int i = 0; i < scaled(20'000); ++i) {
      const std::size_t at = random() % blocks.size();
      wrong += !use(*blocks[at], at + 1, &fills);
      if (i % 1'000 == 7) tarn_recover(random() % (256 * kib), 0);
      if (i % 500 == 3) blocks[random() % blocks.size()]->discard();
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(fills, 60);
  EXPECT_LE(committed(heap), 256 * kib);
  tarn_recover(SIZE_MAX, 0);
  for (auto& block : blocks) EXPECT_FALSE(block->lock());
  EXPECT_EQ(committed(heap), 0u);
}

// A cache that anybody may ask, under a lock for which no callback waits.
class SharedCache {
 public:
  explicit SharedCache(tarn_heap heap) : heap_(heap), asked_(Gives{this}, bound_to(heap)) {}

  bool add(std::size_t bytes) {
    void* const p = tarn_heap_allocate(heap_, bytes);  // Not under the lock.
    if (p == nullptr) return false;
    const std::lock_guard lock(mutex_);
    blocks_.push_back(p);
    return true;
  }
  ~SharedCache() {
    for (void* const p : blocks_) tarn_free(p);
  }

 private:
  struct Gives {
    SharedCache* cache;
    std::size_t operator()(std::size_t wanted) noexcept { return cache->give(wanted); }
  };
  std::size_t give(std::size_t wanted) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return 0;
    std::size_t given = 0;
    while (given < wanted && !blocks_.empty()) {
      given += tarn_malloc_usable_size(blocks_.back());
      tarn_free(blocks_.back());
      blocks_.pop_back();
    }
    return given;
  }

  tarn_heap heap_;
  std::mutex mutex_;
  std::vector<void*> blocks_;
  tarn::Reclaimer<Gives> asked_;
};

TEST_P(Threads, CachesShrinkUnderACeiling) {
  const Heap heap(options(mib, GetParam()));
  std::atomic<int> nulls{0};
  {
    SharedCache cache(heap);
    in_threads([&](unsigned id) {
      for (int i = 0; i < scaled(5'000); ++i) {
        // The cache may be in another thread's hands just now.
        nulls += !cache.add(100 + (static_cast<unsigned>(i) * 37 + id) % 5'000);
      }
    });
    EXPECT_LE(committed(heap), mib);
    EXPECT_LT(nulls, scaled(5'000) * static_cast<int>(thread_count) / 2);
  }
  tarn_heap_stats stats = TARN_HEAP_STATS();
  EXPECT_EQ(tarn_heap_get_stats(heap, &stats), 0);
  EXPECT_EQ(stats.live_blocks, 0u);
}

// Reclaimers come and go while others ask them; none is called after its end.
TEST(ThreadsOfOwners, RegisterAndUnregisterWhileOthersAsk) {
  std::atomic<int> late{0};
  std::atomic<int> calls{0};
  in_threads([&](unsigned id) {
    for (int i = 0; i < scaled(3'000); ++i) {
      std::atomic<bool> ended{false};
      tarn::ReclaimerOptions chosen;
      chosen.priority = static_cast<int>(id + static_cast<unsigned>(i)) % 3;
      {
        tarn::Reclaimer gives(
            [&](std::size_t) {
              late += ended;
              ++calls;
              return std::size_t{8};
            },
            chosen);
        if (i % 3 == 0) tarn_recover(20, TARN_RECOVER_RECLAIM);
        gives.set_estimate(static_cast<std::size_t>(i) % 2);
      }
      ended = true;
    }
  });
  EXPECT_EQ(late, 0);
  EXPECT_GT(calls, 100 / TARN_TEST_DIVISOR);
  EXPECT_EQ(tarn_recover(SIZE_MAX, TARN_RECOVER_RECLAIM), 0u);
}

// Heaps end, are cleared and deleted while others recover.
TEST(ThreadsOfHeaps, EndWhileOthersRecover) {
  std::atomic<bool> stop{false};
  std::thread recovers([&] {
    while (!stop) tarn_recover(SIZE_MAX, TARN_RECOVER_PURGEABLES);
  });
  in_threads([&](unsigned id) {
    for (int i = 0; i < scaled(1'000); ++i) {
      tarn_heap_options wanted = options(0, id % 2 == 0 ? TARN_HEAP_SHARED : TARN_HEAP_CONFINED);
      const tarn_heap heap = tarn_heap_create(&wanted);
      tarn_purgeable p[8] = {};
      for (int b = 0; b < 8; ++b) {
        ASSERT_EQ(tarn_purgeable_begin(&p[b], heap, b % 2 == 0 ? 100 : 200'000), 0);
        void* const block = tarn_purgeable_refill(&p[b]);
        ASSERT_NE(block, nullptr);
        std::memset(block, 1, 100);
        tarn_purgeable_unlock(&p[b]);
      }
      if (i % 4 == 0) {
        ASSERT_EQ(tarn_heap_clear(heap), 0);
      }
      if (i % 4 == 1) {
        ASSERT_EQ(tarn_heap_freeze(heap), 0);
        ASSERT_EQ(tarn_heap_thaw(heap), 0);
      }
      ASSERT_EQ(i % 3 == 0 ? tarn_heap_delete(heap) : tarn_heap_destroy(heap), 0);
      for (tarn_purgeable& one : p) ASSERT_EQ(tarn_purgeable_end(&one), 0);
    }
  });
  stop = true;
  recovers.join();
}

// Who is in need of memory may hold a lock that the other thread waits for: he does not wait in
// turn.
TEST(ThreadsOfHeaps, ThatAnotherThreadKeepsLockedArePassedOver) {
  const Heap heap;
  Marked inside(heap, 100 * kib, 1);
  Marked outside(tarn_heap{}, 100 * kib, 2);
  ASSERT_TRUE(inside.fill());
  ASSERT_TRUE(outside.fill());
  std::latch locked(1);
  std::latch recovered(1);
  std::thread keeps([&] {
    ASSERT_EQ(tarn_heap_lock(heap), 0);
    locked.count_down();
    recovered.wait();
    ASSERT_EQ(tarn_heap_unlock(heap), 0);
  });
  locked.wait();
  EXPECT_GE(tarn_recover(SIZE_MAX, 0), 100 * kib);
  recovered.count_down();
  keeps.join();
  EXPECT_FALSE(outside.look());
  EXPECT_TRUE(inside.look());
  EXPECT_GE(tarn_recover(SIZE_MAX, 0), 100 * kib);
  EXPECT_FALSE(inside.look());
}

// Who names a heap waits for it.
TEST(ThreadsOfHeaps, ThatAreNamedAreWaitedFor) {
  const Heap heap;
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(tarn_heap_allocate(heap, 30'000));
  for (void* const p : blocks) tarn_free(p);
  Marked inside(heap, 100 * kib, 1);
  ASSERT_TRUE(inside.fill());
  for (const unsigned step : {TARN_RECOVER_SPARE, TARN_RECOVER_PURGEABLES}) {
    std::latch locked(1);
    std::atomic<bool> unlocks{false};
    std::thread keeps([&] {
      ASSERT_EQ(tarn_heap_lock(heap), 0);
      locked.count_down();
      std::this_thread::sleep_for(std::chrono::milliseconds(300));  // Far more than a few yields.
      unlocks = true;
      ASSERT_EQ(tarn_heap_unlock(heap), 0);
    });
    locked.wait();
    EXPECT_GT(tarn_recover_heap(heap, SIZE_MAX, step, nullptr), 0u);
    EXPECT_TRUE(unlocks) << step;
    keeps.join();
  }
  EXPECT_FALSE(inside.look());
}

// A thread that is ending calls no owner, but has blocks vanish.
TEST(ThreadsThatEnd, AskNobody) {
  const Heap heap(options(mib));
  std::atomic<int> asked{0};
  const tarn::ReclaimerOptions bound = bound_to(heap);
  tarn::Reclaimer counts([&](std::size_t) { return ++asked, std::size_t{0}; }, bound);
  Marked p(heap, 700 * kib, 3);
  ASSERT_TRUE(p.fill());
  static pthread_key_t key;
  static const Heap* of_key;
  static void* got;
  of_key = &heap;
  // Its destructors run in rounds; in the last one the library has ended the thread's record.
  ASSERT_EQ(pthread_key_create(&key,
                               [](void* value) {
                                 const auto round = reinterpret_cast<std::uintptr_t>(value);
                                 if (round < 3) {
                                   pthread_setspecific(key, reinterpret_cast<void*>(round + 1));
                                 } else {
                                   got = tarn_heap_allocate(*of_key, 700 * kib);
                                 }
                               }),
            0);
  std::thread([] {
    tarn_free(tarn_malloc(10));
    pthread_setspecific(key, reinterpret_cast<void*>(1));
  }).join();
  EXPECT_NE(got, nullptr);
  EXPECT_EQ(asked, 0);
  EXPECT_FALSE(p.look());
  pthread_key_delete(key);
}

}  // namespace
}  // namespace recovering
