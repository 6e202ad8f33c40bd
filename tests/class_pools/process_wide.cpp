// process_wide: the family of xmalloc while memory is asked for: a source, or an owner whom malloc
// asks to give some back, frees blocks of the family and takes some.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "../support/child.hpp"
#include "../support/threads.hpp"
#include "tarn/heap/recover.h"
#include "tarn/pool/xalloc.h"

namespace {

// Memory of malloc's, after `during` has run. In a source of a thread's call there is no other one.
struct Source {
  void (*during)(Source& source) = nullptr;
  std::atomic<bool> is_dry{false};
  std::atomic<std::int64_t> bytes{0};
  std::vector<void*> cache;
  static inline thread_local bool is_asked = false;

  void call() {
    if (during == nullptr || is_asked) return;
    is_asked = true;
    during(*this);
    is_asked = false;
  }
  static tarn_chunk acquire(void* context, std::size_t bytes, std::size_t alignment) {
    Source& self = *static_cast<Source*>(context);
    self.call();
    if (self.is_dry) return {nullptr, 0};
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* const data = std::aligned_alloc(alignment, rounded);
    if (data != nullptr) self.bytes += static_cast<std::int64_t>(bytes);
    return {data, data == nullptr ? 0 : bytes};
  }
  static void release(void* context, tarn_chunk chunk) {
    Source& self = *static_cast<Source*>(context);
    self.bytes -= static_cast<std::int64_t>(chunk.bytes);
    self.call();
    std::free(chunk.data);
  }
  void give_cache() {
    for (void* const block : cache) tarn_xfree(block);
    cache.clear();
  }
};

int init(Source& source) {
  tarn_source given = TARN_SOURCE();
  given.context = &source;
  given.acquire = Source::acquire;
  given.release = Source::release;
  tarn_class_pools_options options = TARN_CLASS_POOLS_OPTIONS();
  options.source = &given;
  return tarn_xalloc_init(&options);
}

std::uint64_t blocks_in_use() {
  tarn_class_pools_stats stats = TARN_CLASS_POOLS_STATS();
  EXPECT_EQ(tarn_xalloc_get_stats(&stats), 0);
  return stats.in_use;
}

TEST(ProcessWide, MayFreeAndAllocate) {
  Source source;
  ASSERT_EQ(init(source), 0);
  for (int i = 0; i < 50; ++i) source.cache.push_back(tarn_xmalloc(100000));
  source.during = [](Source& self) {
    EXPECT_EQ(tarn_xalloc_check(), 1);
    self.give_cache();
    self.cache.push_back(tarn_xmalloc(40));
  };
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < 2000; ++i) {
    blocks.push_back(tarn_xmalloc(i * 50));
    ASSERT_NE(blocks.back(), nullptr);
  }
  EXPECT_EQ(source.cache.size(), 1u);
  EXPECT_EQ(blocks_in_use(), 2001u);
  EXPECT_EQ(tarn_xalloc_check(), 1);
  void* const moved = tarn_xrealloc(blocks[0], 300000);
  ASSERT_NE(moved, nullptr);
  blocks[0] = moved;
  for (void* const block : blocks) tarn_xfree(block);
  EXPECT_EQ(blocks_in_use(), 1u);
  tarn_xalloc_trim();
  source.during = nullptr;
  source.give_cache();
  tarn_xalloc_destroy();
  EXPECT_EQ(source.bytes, 0);
}

TEST(ProcessWide, WithoutMemoryWhatItFreesServes) {
  Source source;
  ASSERT_EQ(init(source), 0);
  for (int i = 0; i < 3; ++i) source.cache.push_back(tarn_xmalloc(1 << 20));
  source.is_dry = true;
  source.during = [](Source& self) { self.give_cache(); };
  void* const block = tarn_xmalloc(1 << 20);
  EXPECT_NE(block, nullptr);
  EXPECT_EQ(tarn_xmalloc(1 << 20), nullptr);
  EXPECT_EQ(blocks_in_use(), 1u);
  EXPECT_EQ(tarn_xalloc_check(), 1);
  source.during = nullptr;
  tarn_xfree(block);
  tarn_xalloc_destroy();
  EXPECT_EQ(source.bytes, 0);
}

// What is asked goes on with the classes, so the end waits.
TEST(ProcessWide, MayEndTheFamily) {
  Source source;
  ASSERT_EQ(init(source), 0);
  source.during = [](Source&) { tarn_xalloc_destroy(); };
  for (std::size_t bytes = 1; bytes < 300000; bytes *= 3) {
    void* const block = tarn_xmalloc(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(tarn_xalloc_check(), 1);
    tarn_xfree(block);
  }
  source.during = nullptr;
  tarn_xalloc_destroy();
  EXPECT_EQ(source.bytes, 0);
}

TEST(ProcessWide, MayFork) {
  Source source;
  ASSERT_EQ(init(source), 0);
  source.during = [](Source&) {
    const int status = support::status_of_child([&] {
      void* const block = tarn_xmalloc(5000);
      const bool good = block != nullptr && tarn_xalloc_check() == 1;
      tarn_xfree(block);
      return good ? 0 : 1;
    });
    EXPECT_EQ(status, 0);
  };
  void* const block = tarn_xmalloc(100);
  EXPECT_NE(block, nullptr);
  source.during = nullptr;
  tarn_xfree(block);
  tarn_xalloc_destroy();
  EXPECT_EQ(source.bytes, 0);
}

TEST(ProcessWide, ThreadsMeetInIt) {
  Source source;
  ASSERT_EQ(init(source), 0);
  source.during = [](Source&) {
    void* const block = tarn_xmalloc(700);
    std::this_thread::yield();
    tarn_xfree(block);
  };
  support::Threads threads(4u, [](unsigned seed) {
    std::vector<void*> blocks;
    for (unsigned i = seed, step = 0; step < 20000; ++step, i = i * 1664525 + 1013904223) {
      void* const p = tarn_xmalloc((i >> 8) % (step % 50 == 0 ? 300000 : 3000));
      ASSERT_NE(p, nullptr);
      blocks.push_back(p);
      if (blocks.size() < 60) continue;
      for (void* const block : blocks) tarn_xfree(block);
      blocks.clear();
      if (step % 7 == 0) tarn_xalloc_trim();
    }
    for (void* const block : blocks) tarn_xfree(block);
  });
  // Also an end while blocks live, or while somebody is asking.
  for (int i = 0; i < 100; ++i) {
    tarn_xalloc_destroy();
    EXPECT_EQ(tarn_xalloc_check(), 1);
    std::this_thread::yield();
  }
  threads.join();
  EXPECT_EQ(blocks_in_use(), 0u);
  source.during = nullptr;  // Else the end itself has it take memory.
  tarn_xalloc_destroy();
  EXPECT_EQ(source.bytes, 0);
}

#if !defined(TARN_SANITIZED)
std::vector<void*> cached;

std::size_t give_back(std::size_t, void*) {
  std::size_t given = 0;
  for (; !cached.empty(); given += std::size_t{1} << 20) {
    tarn_xfree(cached.back());
    cached.pop_back();
  }
  void* const block = tarn_xmalloc(100);  // Of a class that has room.
  tarn_xfree(block);
  return given;
}

// In a process of its own, which has no more addresses. 1: the owner was not asked, or what it gave
// did not serve.
int run_short_of_memory() {
  alarm(60);
  for (int i = 0; i < 100; ++i) cached.push_back(tarn_xmalloc(1 << 20));
  tarn_xfree(tarn_xmalloc(100));
  const rlimit limit{1 << 20, 1 << 20};
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
  static tarn_reclaimer reclaimer;
  tarn_reclaimer_options options = TARN_RECLAIMER_OPTIONS();
  options.reclaim = give_back;
  if (tarn_reclaimer_register(&reclaimer, &options) != 0) return 3;
  std::uint64_t more = 0;
  while (tarn_xmalloc(1 << 20) != nullptr) ++more;
  if (!cached.empty() || more < 90 || tarn_xalloc_check() != 1) return 1;
  return blocks_in_use() == more ? 0 : 4;
}

TEST(ProcessWide, OwnersThatAreAskedUseTheFamily) {
  EXPECT_EQ(support::status_of_child(run_short_of_memory), 0);
}
#endif

}  // namespace
