// xallocator_stacks: blocks above a kilobyte that were freed are kept for the thread that freed
// them, until somebody needs their memory.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "../heap/heap.h"
#include "../heap/malloc.h"
#include "../heap/recover.h"
#include "../heap/unalloc.h"
#include "../pool/xalloc.h"
#include "../support/child.hpp"
#include "../support/threads.hpp"
#if defined(__x86_64__)
#include "../support/trap_flag.hpp"
#endif
#include "xallocator.h"

namespace {

constexpr std::size_t block_bytes = 4096;
constexpr std::size_t many = 8192;  // 32 MiB.
constexpr std::size_t most_of_it = 24 << 20;

void use_and_free(std::size_t count, std::size_t bytes = block_bytes) {
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < count; ++i) blocks.push_back(memset(xmalloc(bytes), 1, bytes));
  for (void* const p : blocks) xfree(p);
}

// The same in a thread that does nothing else from then on, as long as this lives.
class Sleeper {
 public:
  explicit Sleeper(std::size_t count) {
    thread_ = std::thread([this, count] {
      use_and_free(count);
      has_freed_ = true;
      while (!is_over_) std::this_thread::yield();
    });
    while (!has_freed_) std::this_thread::yield();
  }
  ~Sleeper() {
    is_over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> has_freed_{false};
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

TEST(XallocatorStacks, AThreadThatSaysThatItIsIdleGivesItsOwn) {
  std::thread([] {
    const auto live_blocks = [] {
      tarn_heap_stats stats = TARN_HEAP_STATS();
      EXPECT_EQ(tarn_heap_get_stats(tarn_heap_main(), &stats), 0);
      return stats.live_blocks;
    };
    const std::size_t before = live_blocks();
    use_and_free(many);
    ASSERT_GT(live_blocks(), before + many / 2);  // Kept blocks are live ones to malloc's heap.
    tarn_thread_idle();
    EXPECT_LT(live_blocks(), before + many / 8);
  }).join();
}

#if !defined(TARN_SANITIZED)  // Which keep memory of their own, and need more addresses.
// Of the process: what is mapped, and what is resident.
struct Memory {
  std::size_t mapped = 0;
  std::size_t resident = 0;
};
Memory memory() {
  Memory pages;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  EXPECT_NE(file, nullptr);
  EXPECT_EQ(std::fscanf(file, "%zu %zu", &pages.mapped, &pages.resident), 2);
  std::fclose(file);
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return {pages.mapped * page_bytes, pages.resident * page_bytes};
}

TEST(XallocatorStacks, ATrimGivesWhatOthersHaveFreed) {
  tarn_malloc_trim(0);
  const std::size_t before = memory().resident;
  const Sleeper sleeper(many);
  ASSERT_GT(memory().resident, before + most_of_it);
  EXPECT_EQ(tarn_malloc_trim(0), 1);
  EXPECT_LT(memory().resident, before + (many * block_bytes - most_of_it));
}

// Nobody trims; others only work.
TEST(XallocatorStacks, AnIdleThreadsBlocksGoInTime) {
  tarn_malloc_trim(0);
  const std::size_t before = memory().resident;
  const Sleeper sleeper(many);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::size_t now = memory().resident;
  ASSERT_GT(now, before + most_of_it);
  while (now >= before + (many * block_bytes - most_of_it)) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "still " << now - before;
    use_and_free(2000, 100);
    now = memory().resident;
  }
}

void limit_more(std::size_t bytes) {
  struct rlimit limit;
  support::require(getrlimit(RLIMIT_AS, &limit) == 0, "getrlimit");
  limit.rlim_cur = memory().mapped + bytes;
  support::require(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
}

// As many blocks as there is memory for, freed.
void free_all_that_there_is() {
  std::vector<void*> blocks;
  blocks.reserve(1 << 20);
  while (void* const p = xmalloc(block_bytes)) blocks.push_back(p);
  support::require(blocks.size() > 4 * many, "some blocks");
  errno = 0;
  for (void* const p : blocks) xfree(p);
  support::require(errno == 0, "errno is kept");
}

TEST(XallocatorStacks, OtherRequestsFindTheMemory) {
  const std::function<void*(std::size_t)> requests[] = {tarn_malloc, tarn_xmalloc, tarn_unalloc};
  for (const auto& request : requests) {
    for (const std::size_t bytes : {std::size_t{5000}, std::size_t{100} << 20}) {
      const int status = support::status_of_child([&] {
        limit_more(256 << 20);
        free_all_that_there_is();
        void* const p = request(bytes);
        support::require(p != nullptr, "the memory is there");
        memset(p, 1, bytes);
      });
      EXPECT_EQ(status, 0) << bytes;
    }
  }
}

// A free is no place for the program's callbacks.
std::size_t asked = 0;
TEST(XallocatorStacks, AFreeAsksNobodyForMemory) {
  const int status = support::status_of_child([] {
    tarn_reclaimer reclaimer;
    tarn_reclaimer_options options = TARN_RECLAIMER_OPTIONS();
    options.reclaim = [](std::size_t, void*) -> std::size_t { return ++asked, 0; };
    support::require(tarn_reclaimer_register(&reclaimer, &options) == 0, "registered");
    limit_more(256 << 20);
    std::vector<void*> blocks;
    blocks.reserve(1 << 20);
    while (void* const p = xmalloc(block_bytes)) blocks.push_back(p);
    while (tarn_malloc(16) != nullptr) {
    }
    support::require(asked != 0, "asked for blocks");
    asked = 0;
    for (void* const p : blocks) xfree(p);
    support::require(asked == 0, "asked for a free");
  });
  EXPECT_EQ(status, 0);
}
#endif

// Registered before anything of the family's: such a handler runs first in a child.
std::atomic<bool> trims_in_children{false};
const int registered = pthread_atfork(nullptr, nullptr, [] {
  if (trims_in_children) tarn_malloc_trim(0);
});

// Threads work at their stacks while others empty these, and while some fork. They call the
// program's own malloc for nothing: AddressSanitizer's has locks that a child may find held.
TEST(XallocatorStacks, AreEmptiedWhileTheyAreUsed) {
  std::atomic<int> working{2};
  std::atomic<int> wrong{0};
  support::Threads threads(2u, [&](unsigned number) {
    const auto value = static_cast<unsigned char>(number + 1);
    std::array<unsigned char*, 200> blocks;
    std::size_t count = 0;
    unsigned draw = number;
    for (int i = 0; i < 100000; ++i) {
      draw = draw * 1664525 + 1013904223;
      const std::size_t bytes = 1100 + (draw >> 8) % 6000;
      auto* const p = static_cast<unsigned char*>(xmalloc(bytes));
      p[0] = p[bytes - 1] = value;
      blocks[count++] = p;
      if (count < blocks.size()) continue;
      for (unsigned char* const block : blocks) {
        if (block[0] != value) ++wrong;
        block[0] = 0;
        xfree(block);
      }
      count = 0;
    }
    while (count != 0) xfree(blocks[--count]);
    --working;
  });
  trims_in_children = registered == 0;
  while (working != 0) {
    tarn_malloc_trim(0);
    const int status = support::status_of_child([] {
      ::alarm(20);
      use_and_free(100);
      tarn_malloc_trim(0);
    });
    EXPECT_EQ(status, 0);
  }
  threads.join();
  trims_in_children = false;
  EXPECT_EQ(wrong, 0);
}

#if defined(__x86_64__) && !defined(TARN_SANITIZED)
constexpr std::size_t taken_most = 40;
bool are_distinct(std::vector<void*> blocks) {
  std::sort(blocks.begin(), blocks.end());
  return blocks.front() != nullptr &&
         std::adjacent_find(blocks.begin(), blocks.end()) == blocks.end();
}
// No block is there twice, wherever the freed ones are.
bool serves_each_block_once(std::vector<void*> blocks) {
  const std::size_t before = blocks.size();
  while (blocks.size() != before + taken_most) blocks.push_back(xmalloc(block_bytes));
  const bool distinct = are_distinct(blocks);
  for (std::size_t i = before; i != blocks.size(); ++i) xfree(blocks[i]);
  return distinct;
}

// A thread of the child takes over what a thread that has vanished had stacked.
void live_as_child() {
  ::alarm(20);
  std::thread([] {
    xfree(xmalloc(block_bytes));
    support::require(serves_each_block_once({}), "each block once");
  }).join();
  tarn_malloc_trim(0);
  support::require(serves_each_block_once({}), "each block once after a trim");
}

// What is done in steps, by a thread that has stacked five blocks.
enum class Step { take, put, grow };
void take_or_put(Step step, bool* good) {
  std::vector<void*> blocks(step == Step::grow ? 59 : 6);
  blocks.reserve(100);
  for (void*& p : blocks) p = xmalloc(block_bytes);
  void* const last = blocks.back();
  blocks.pop_back();
  for (void* const p : blocks) xfree(p);
  blocks.clear();
  if (step == Step::take) {
    support::in_steps([&blocks] { blocks.push_back(xmalloc(block_bytes)); });
  } else {
    support::in_steps([last] { xfree(last); });
  }
  support::end_steps();
  if (step == Step::take) blocks.push_back(last);
  *good = serves_each_block_once(blocks);
  for (void* const p : blocks) xfree(p);
}

class XallocatorSteps : public testing::TestWithParam<Step> {};

// At each instruction of an operation another thread takes all that is stacked, or forks.
TEST_P(XallocatorSteps, OthersMayDoAnything) {
  xfree(xmalloc(block_bytes));
  bool good = true;
  const auto work = [&good] { take_or_put(GetParam(), &good); };
  const long all = support::steps_of(0, work, [] {});
  if (all == 0) GTEST_SKIP() << "no single steps here";
  const long stride = all / 300 + 1;
  for (long step = 1; step <= all && !HasFailure(); step += stride) {
    const auto once = [step](const auto& act) {
      return [step, act] {
        if (support::steps == step) act();
      };
    };
    support::steps_of(step, work, once([] { tarn_malloc_trim(0); }));
    EXPECT_TRUE(good) << "emptied after instruction " << step << " of " << all;
    support::steps_of(
        step, work, once([step, all] {
          const int status = support::status_of_child([] {
            ::alarm(20);
            xfree(xmalloc(block_bytes));
            support::require(serves_each_block_once({}), "each block once");
            tarn_malloc_trim(0);
            support::require(serves_each_block_once({}), "each block once after a trim");
          });
          EXPECT_EQ(status, 0) << "forked after instruction " << step << " of " << all;
        }));
    EXPECT_TRUE(good) << "forked after instruction " << step << " of " << all;
  }
}

// A thread that takes a block and frees another one whenever it is told to. It may have to wait for
// a lock of whoever tells.
class Worker {
 public:
  ~Worker() { ends_well(); }
  void tell() {
    if (done_ == told_) ++told_;
    for (int i = 0; i < 100 && done_ != told_; ++i) std::this_thread::yield();
  }
  bool ends_well() {
    told_ = -1;
    if (thread_.joinable()) thread_.join();
    return is_good_;
  }

 private:
  void work() {
    use_and_free(taken_most);
    std::vector<void*> in_use(3);
    for (void*& p : in_use) p = xmalloc(block_bytes);
    for (int told = 0; (told = told_) != -1;) {
      if (done_ == told) continue;
      in_use.push_back(xmalloc(block_bytes));
      xfree(in_use.front());
      in_use.erase(in_use.begin());
      done_ = told;
    }
    is_good_ = serves_each_block_once(in_use);
    for (void* const p : in_use) xfree(p);
  }

  std::atomic<int> told_{0};
  std::atomic<int> done_{0};
  std::atomic<bool> is_good_{false};
  std::thread thread_{[this] { work(); }};
};

// And the other way round.
TEST(XallocatorTrimSteps, TheThreadThatIsHelpedMayDoAnything) {
  const auto trim = [] {
    support::in_steps([] { tarn_malloc_trim(0); });
    support::end_steps();
  };
  Worker worker;
  if (support::steps_of(1, trim, [&worker] { worker.tell(); }) == 0) {
    GTEST_SKIP() << "no single steps here";
  }
  EXPECT_TRUE(worker.ends_well());
  const Sleeper sleeper(taken_most);
  support::steps_of(61, trim, [] {
    if (HasFailure()) return;
    EXPECT_EQ(support::status_of_child(live_as_child), 0) << "after instruction " << support::steps;
  });
}

INSTANTIATE_TEST_SUITE_P(Operations, XallocatorSteps,
                         testing::Values(Step::take, Step::put, Step::grow));
#endif

// Last in, first out, each in a process of its own, in which unalloc has made its heap.
tarn_heap heap_in_order() {
  ::alarm(60);
  support::require(tarn_unalloc_use_lifo(1) == 0, "in order");
  void* const p = tarn_unalloc(100);
  const tarn_heap heap = tarn_heap_of(p);
  tarn_unfree(p);
  return heap;
}
std::size_t committed_bytes(tarn_heap heap) {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  support::require(tarn_heap_get_stats(heap, &stats) == 0, "statistics");
  return stats.committed_bytes;
}
void unalloc_and_free(std::size_t count) {
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < count; ++i) blocks.push_back(tarn_unalloc(block_bytes));
  for (void* const p : blocks) tarn_unfree(p);
}

// A block that shrinks into a class takes one that was freed.
TEST(UnallocStacks, BlocksThatShrinkAreTakenFromThem) {
  const int status = support::status_of_child([] {
    const tarn_heap heap = heap_in_order();
    std::size_t before = 0;
    for (int i = 0; i < 2000; ++i) {
      auto* p = static_cast<char*>(tarn_unalloc(200000));
      support::require(p != nullptr, "a large block");
      memset(p, 7, 3000);
      p = static_cast<char*>(tarn_unrealloc(p, 3000));
      support::require(p != nullptr && p[0] == 7 && p[2999] == 7, "its contents");
      tarn_unfree(p);
      if (i == 100) before = committed_bytes(heap);
    }
    support::require(committed_bytes(heap) < before + (2 << 20), "no growth");
  });
  EXPECT_EQ(status, 0);
}

TEST(UnallocStacks, ATrimOfTheHeapGivesThem) {
  const int status = support::status_of_child([] {
    const tarn_heap heap = heap_in_order();
    unalloc_and_free(many);
    support::require(committed_bytes(heap) > most_of_it, "kept");
    tarn_heap_trim(heap, 0);
    support::require(committed_bytes(heap) < (1 << 20), "given");
  });
  EXPECT_EQ(status, 0);
}

TEST(UnallocStacks, ACeilingIsNoHigherThanWhatIsInUse) {
  const int status = support::status_of_child([] {
    const tarn_heap heap = heap_in_order();
    support::require(tarn_heap_set_ceiling(heap, 32 << 20) == 0, "a ceiling");
    unalloc_and_free(many - 512);
    for (int i = 0; i < 100; ++i) support::require(tarn_unalloc(8192) != nullptr, "served");
  });
  EXPECT_EQ(status, 0);
}

TEST(UnallocStacks, AFrozenHeapKeepsThem) {
  const int status = support::status_of_child([] {
    const tarn_heap heap = heap_in_order();
    unalloc_and_free(2000);
    support::require(tarn_heap_freeze(heap) == 0, "frozen");
    tarn_malloc_trim(0);
    support::require(tarn_unalloc(block_bytes) == nullptr && errno == EPERM, "none while frozen");
    support::require(tarn_heap_thaw(heap) == 0, "thawed");
    unalloc_and_free(2000);
    tarn_malloc_trim(0);
    support::require(tarn_heap_check(heap) == 1, "in order");
  });
  EXPECT_EQ(status, 0);
}

// Nobody waits for a heap that another thread holds, in order to give back what is kept of it.
TEST(UnallocStacks, ALockedHeapKeepsThem) {
  const int status = support::status_of_child([] {
    const tarn_heap heap = heap_in_order();
    std::atomic<int> step{0};
    std::thread keeper([&step] {
      unalloc_and_free(2000);
      for (step = 1; step != 2;) std::this_thread::yield();
      tarn_malloc_trim(0);
      step = 3;
    });
    while (step != 1) std::this_thread::yield();
    support::require(tarn_heap_lock(heap) == 0, "locked");
    for (step = 2; step != 3;) std::this_thread::yield();
    tarn_malloc_trim(0);
    support::require(tarn_heap_unlock(heap) == 0, "unlocked");
    keeper.join();
  });
  EXPECT_EQ(status, 0);
}

TEST(UnallocStacks, TheHeapIsNotTheProgramsToEnd) {
  const int status = support::status_of_child([] {
    const tarn_heap heap = heap_in_order();
    for (const auto end : {tarn_heap_destroy, tarn_heap_clear, tarn_heap_delete}) {
      errno = 0;
      support::require(end(heap) == -1 && errno == EINVAL, "refused");
    }
    unalloc_and_free(10);
  });
  EXPECT_EQ(status, 0);
}

#if !defined(TARN_SANITIZED)
TEST(XallocatorStacksDeathTest, BlocksFreedTwiceAreReported) {
  GTEST_FLAG_SET(death_test_style, "fast");
  for (const std::size_t bytes : {std::size_t{2000}, std::size_t{40000}}) {
    void* const a = xmalloc(bytes);
    void* const b = xmalloc(bytes);
    EXPECT_DEATH(
        {
          xfree(a);
          xfree(a);
        },
        "tarn: double free: xfree");
    EXPECT_DEATH(
        {
          xfree(a);
          xfree(b);
          xfree(a);
        },
        "tarn: double free: xfree");
    xfree(b);
    xfree(a);
  }
}
#endif

}  // namespace
