// Searches in programs whose other threads go on: allocating and freeing, beginning and ending,
// forking, blocking signals, on alternate stacks; two searches at once; calls from handlers.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <csignal>
#include <random>
#include <sys/syscall.h>
#include <sys/time.h>
#include <thread>
#include <unistd.h>

#include "../support/child.hpp"
#include "../support/threads.hpp"
#include "hidden.hpp"

namespace tarn {
namespace {

class UnreachableThreads : public CleanStack {};

constexpr int searches = TARN_TEST_DIVISOR == 1 ? 60 : 15;

void* cleared(void* p) {
  if (p != nullptr) std::memset(p, 0, tarn_malloc_usable_size(p));
  return p;
}

// A list in blocks, of which the head alone is on the stack; growing buffers; blocks for others.
class Work {
 public:
  explicit Work(int threads) {
    tarn_heap_options options = TARN_HEAP_OPTIONS();
    for (const int kind : {TARN_HEAP_SHARED, TARN_HEAP_SERIALISED}) {
      options.threads = kind;
      heaps_.push_back(tarn_heap_create(&options));
    }
    options.mode = TARN_MODE_CHECKED;
    heaps_.push_back(tarn_heap_create(&options));
    heaps_.push_back(tarn_heap_main());
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this, i] { run(i); });
    while (begun_.load() != threads) std::this_thread::yield();
  }
  ~Work() {
    over_.store(true);
    for (std::thread& t : threads_) t.join();
    for (const tarn_heap heap : heaps_) {
      if (heap.id != tarn_heap_main().id) destroy(heap);
    }
  }

 private:
  struct Node {
    Node* next;
    char bytes[40];
  };

  void run(int seed) {
    std::minstd_rand random(static_cast<unsigned>(seed) + 1);
    Node* head = nullptr;
    std::size_t count = 0;
    void* buffer = cleared(tarn_malloc(300'000));
    begun_.fetch_add(1);
    while (!over_.load(std::memory_order_relaxed)) {
      const tarn_heap heap = heaps_[random() % heaps_.size()];
      if (count < 500 && random() % 2 == 0) {
        const std::size_t bytes = sizeof(Node) + random() % 600;
        auto* const node = static_cast<Node*>(cleared(tarn_heap_allocate(heap, bytes)));
        node->next = head;
        head = node;
        ++count;
      } else if (head != nullptr) {
        Node* const gone = head;
        head = gone->next;
        tarn_free(gone);
        --count;
      }
      if (random() % 64 == 0) {
        buffer = tarn_realloc(buffer, 200'000 + random() % 2'000'000);
        std::memset(static_cast<char*>(buffer) + 1000, 0, 64);
      }
      if (random() % 4 == 0) exchange(heap, random() % 400);
    }
    while (head != nullptr) {
      Node* const gone = head;
      head = gone->next;
      tarn_free(gone);
    }
    tarn_free(buffer);
    tarn_free(shared_.exchange(nullptr));
  }

  void exchange(tarn_heap heap, std::size_t bytes) {
    tarn_free(shared_.exchange(cleared(tarn_heap_allocate(heap, bytes))));
  }

  std::vector<tarn_heap> heaps_;
  std::vector<std::thread> threads_;
  std::atomic<int> begun_{0};
  std::atomic<bool> over_{false};
  static inline std::atomic<void*> shared_{nullptr};
};

// Allocated before others are at work, in whose frames there may be what they have had before, and
// amid others: where a page begins, the end of what lies before it looks like the first block.
TEST_F(UnreachableThreads, ALeakInARunningProgramIsFoundAndNothingElse) {
  static void* volatile kept[(searches + 2) / 3 + 1];
  std::vector<Hidden> blocks, leaks;
  for (void* volatile& place : kept) {
    blocks.push_back(apart([&place] {
      place = zeroed(tarn_heap_main(), 1000);
      return Hidden(place);
    }));
  }
  Work work(3);
  for (int i = 0; i < searches; ++i) {
    if (i % 3 == 0) {
      kept[i / 3 + 1] = nullptr;
      leaks.push_back(blocks[static_cast<std::size_t>(i) / 3 + 1]);
    }
    const SeenAll seen = search();
    ASSERT_EQ(seen.error, 0);
    ASSERT_GE(seen.result.threads_stopped + seen.result.threads_missed, 3u);
    EXPECT_EQ(seen.blocks.size(), leaks.size()) << "search " << i;
    for (const Seen& other : seen.blocks) {
      if (std::find(leaks.begin(), leaks.end(), other.start) != leaks.end()) continue;
      ADD_FAILURE() << other.bytes << " bytes of heap " << other.heap << ", direct "
                    << other.is_direct << ", site " << other.site << ", missed "
                    << seen.result.threads_missed;
    }
    for (const Hidden leak : leaks) {
      const Seen* const found = seen.find(leak);
      ASSERT_NE(found, nullptr);
      EXPECT_GE(found->bytes, 1000u);
      EXPECT_TRUE(found->is_direct);
    }
  }
  for (const Hidden p : blocks) give(p);
}

TEST_F(UnreachableThreads, ThreadsBeginAndEndMeanwhile) {
  std::atomic<bool> over{false};
  support::Threads makers(2, [&] {
    while (!over.load()) {
      std::thread([] { tarn_free(cleared(tarn_malloc(100))); }).join();
    }
  });
  const FreshHeap heap;
  const Hidden leak = lose(heap, 30'000);
  int times_found = 0;  // A thread that begins or ends may be missed, and keep what looks like it.
  for (int i = 0; i < searches; ++i) {
    const SeenAll seen = search();
    ASSERT_EQ(seen.error, 0);
    times_found += seen.has(leak) ? 1 : 0;
    EXPECT_GE(seen.result.threads_stopped + seen.result.threads_missed, 2u);
  }
  EXPECT_GE(times_found, searches / 2);
  over.store(true);
  makers.join();
}

// Holds a block on its stack until it is let go, with something done before.
template <class Before>
class Holder {
 public:
  Holder(Hidden p, Before before) {
    scrub();
    thread_ = std::thread([this, p, before] {
      before();
      hold(p);
    });
    while (!holds_.load()) std::this_thread::yield();
  }
  ~Holder() {
    over_.store(true);
    thread_.join();
  }

 private:
  void hold(Hidden p) {
    [[maybe_unused]] void* volatile held = p.get();
    holds_.store(true);
    while (!over_.load()) std::this_thread::yield();
    held = nullptr;
  }

  std::thread thread_;
  std::atomic<bool> holds_{false};
  std::atomic<bool> over_{false};
};

void block(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}
void unblock(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

TEST_F(UnreachableThreads, OneThatBlocksTheSignalIsMissedAndItsStackSeen) {
  const FreshHeap heap;
  const Hidden p = lose(heap, 40'000), leak = lose(heap, 50'000);
  std::atomic<bool> unblocks{false};
  {
    Holder holder(p, [] { block(TARN_UNREACHABLE_SIGNAL); });
    std::thread other([&] {
      block(TARN_UNREACHABLE_SIGNAL);
      while (!unblocks.load()) std::this_thread::yield();
      unblock(TARN_UNREACHABLE_SIGNAL);  // What is pending would end the process.
    });
    for (const bool strict : {true, false}) {
      const SeenAll seen = search(UnreachableSearch().strict(strict));
      ASSERT_EQ(seen.error, 0);
      EXPECT_GE(seen.result.threads_missed, 1u);
      EXPECT_FALSE(seen.has(p));
      EXPECT_TRUE(seen.has(leak));
    }
    unblocks.store(true);
    other.join();
    const SeenAll seen = search(UnreachableSearch().signal(SIGRTMAX - 1));
    EXPECT_EQ(seen.result.threads_missed, 0u);
    EXPECT_GE(seen.result.threads_stopped, 1u);
  }
  EXPECT_TRUE(search(UnreachableSearch().strict()).has(p));
}

TEST_F(UnreachableThreads, AlternateStacks) {
  const FreshHeap heap;
  const Hidden p = lose(heap, 60'000), q = lose(heap, 80'000);
  static Hidden on_alternate;
  static std::atomic<int> phase{0};
  on_alternate = q;
  struct sigaction action {};
  action.sa_flags = SA_ONSTACK;
  action.sa_handler = [](int) {
    [[maybe_unused]] void* volatile held = on_alternate.get();
    phase.store(1);
    while (phase.load() == 1) std::this_thread::yield();
    held = nullptr;
  };
  struct sigaction before {};
  sigaction(SIGUSR1, &action, &before);
  Pages alternate(1 << 16);
  {
    Holder holder(p, [&] {
      stack_t stack{};
      stack.ss_sp = alternate.get();
      stack.ss_size = alternate.bytes();
      sigaltstack(&stack, nullptr);
      std::thread([thread = pthread_self()] {
        while (phase.load() != 2) std::this_thread::yield();
        pthread_kill(thread, SIGUSR1);
      }).detach();
    });
    EXPECT_FALSE(search().has(p));  // Our own handler is there.
    phase.store(2);
    while (phase.load() != 1) std::this_thread::yield();
    for (const bool strict : {false, true}) {
      const SeenAll seen = search(UnreachableSearch().strict(strict));
      EXPECT_FALSE(seen.has(p));
      EXPECT_FALSE(seen.has(q));
    }
    phase.store(0);
  }
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(UnreachableThreads, TheActionOfBeforeIsThereAgain) {
  static std::atomic<int> calls{0};
  struct sigaction action {};
  action.sa_handler = [](int) { calls.fetch_add(1); };
  action.sa_flags = SA_NODEFER;
  sigaction(SIGRTMIN + 3, &action, nullptr);
  ASSERT_EQ(search(UnreachableSearch().signal(SIGRTMIN + 3)).error, 0);
  struct sigaction now {};
  sigaction(SIGRTMIN + 3, nullptr, &now);
  EXPECT_EQ(now.sa_handler, action.sa_handler);
  EXPECT_TRUE((now.sa_flags & SA_NODEFER) != 0);
  raise(SIGRTMIN + 3);
  EXPECT_EQ(calls.load(), 1);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGUSR2), 0);
}

TEST_F(UnreachableThreads, TwoAtOnceWaitForEachOther) {
  const FreshHeap heap;
  lose(heap, 70'000);
  std::atomic<int> bad{0}, found_it{0};
  support::in_threads(3, [&] {
    // Another one may just have it in its hands: then they go on for a while.
    for (int i = 0; i < searches / 3 || (found_it < searches / 3 && i < 5 * searches); ++i) {
      UnreachableSearch how;
      if (under_tsan()) how.strict();
      const Unreachable found = apart([&how] { return how.count(); });
      bad += found.ok() && found->blocks <= 1 ? 0 : 1;
      found_it += found->blocks == 1 ? 1 : 0;
    }
  });
  EXPECT_EQ(bad.load(), 0);
  EXPECT_GE(found_it.load(), searches / 3);
}

TEST_F(UnreachableThreads, AnotherThreadForks) {
  if (under_tsan()) GTEST_SKIP() << "children of programs with threads are none of its business";
  std::atomic<bool> over{false};
  std::atomic<int> forks{0}, bad{0};
  std::thread forker([&] {
    while (!over.load()) {
      const int status = support::status_of_child([] {
        const bool ok = find_unreachable({tarn_heap_main()}).ok() && tarn_malloc(100) != nullptr;
        return ok ? 0 : 1;
      });
      bad += status != 0 ? 1 : 0;
      ++forks;
    }
  });
  for (int i = 0; i < searches / 2 || forks.load() < 5; ++i) ASSERT_EQ(search().error, 0);
  over.store(true);
  forker.join();
  EXPECT_EQ(bad.load(), 0);
}

std::atomic<int> handler_calls{0}, handler_found{0}, handler_busy{0};

// In the midst of malloc: found out, or done; never stuck.
TEST_F(UnreachableThreads, FromAHandlerOfASignal) {
  if (under_tsan()) GTEST_SKIP() << "it delays handlers, and forbids what they do here";
  struct sigaction action {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = [](int) {
    const int saved = errno;
    const int outcome = tarn_find_unreachable(nullptr, nullptr, nullptr, nullptr);
    ++handler_calls;
    if (outcome == 0) {
      ++handler_found;
    } else if (errno == EBUSY) {
      ++handler_busy;
    }
    errno = saved;
  };
  sigaction(SIGALRM, &action, nullptr);
  Work work(1);
  std::minstd_rand random(1);
  void* volatile held[64] = {};
  // Each time anew: where searches take longer than an interval of a timer, handlers would leave no
  // time for anything else.
  int calls_before = -1;
  while (handler_calls.load() < searches) {
    if (calls_before != handler_calls.load()) {
      calls_before = handler_calls.load();
      const itimerval once{{0, 0}, {0, 1 + static_cast<suseconds_t>(random() % 3000)}};
      setitimer(ITIMER_REAL, &once, nullptr);
    }
    const std::size_t i = random() % 64;
    tarn_free(held[i]);
    held[i] = tarn_malloc(random() % (i == 0 ? 400'000 : 3'000));
  }
  for (void* p : held) tarn_free(p);
  EXPECT_EQ(handler_found.load() + handler_busy.load(), handler_calls.load());
  EXPECT_GT(handler_found.load(), 0);
}

// Those that are made by one that is missed are missed, too; there is always one more.
TEST_F(UnreachableThreads, ThreadsWithoutEndThatNobodyStops) {
  std::atomic<bool> over{false};
  std::atomic<int> running{0};
  std::thread maker([&] {
    block(TARN_UNREACHABLE_SIGNAL);
    while (!over.load()) {
      if (running.load() == 20) {
        usleep(500);
        continue;
      }
      ++running;
      std::thread([&] {
        usleep(20'000);
        --running;
      }).detach();
    }
    while (running.load() != 0) usleep(500);
  });
  while (running.load() != 20) usleep(500);
  const FreshHeap heap;
  const Hidden leak = lose(heap, 90'000);
  const SeenAll seen = search(UnreachableSearch().wait_ms(60));
  ASSERT_EQ(seen.error, 0);
  EXPECT_GE(seen.result.threads_missed, 1u);
  EXPECT_TRUE(seen.has(leak));
  over.store(true);
  maker.join();
}

// A cancellation waits for the end of the search: those that stand still would do so for ever.
TEST_F(UnreachableThreads, OneThatIsCancelled) {
  Work work(1);
  static std::atomic<int> error{-1};
  pthread_t thread;
  const auto run = [](void*) -> void* {
    pthread_cancel(pthread_self());
    const int outcome = tarn_find_unreachable(nullptr, nullptr, nullptr, nullptr);
    error.store(outcome == 0 ? 0 : errno);
    pthread_testcancel();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, run, nullptr), 0);
  void* result = nullptr;
  pthread_join(thread, &result);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_EQ(error.load(), 0);
  EXPECT_EQ(search().error, 0);
}

TEST_F(UnreachableThreads, FromCallbacksOfHeaps) {
  static int error = -1;
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.ceiling_bytes = 1 << 20;
  options.reclaim = [](tarn_heap heap, std::size_t, void* context) -> std::size_t {
    const Unreachable found = find_unreachable({heap});
    error = found.error();
    *static_cast<std::uint64_t*>(context) = found->blocks;
    return 0;
  };
  std::uint64_t in_reclaim = 0;
  options.context = &in_reclaim;
  const tarn_heap heap = tarn_heap_create(&options);
  for (int i = 0; i < 10; ++i) lose(heap, 1000);
  scrub();
  EXPECT_EQ(tarn_heap_allocate(heap, 2 << 20), nullptr);
  EXPECT_EQ(error, 0);
  EXPECT_GE(in_reclaim, 1u);  // The frames that led there may have some.
  const tarn_heap_visit visit = [](const tarn_heap_item*, void* context) {
    *static_cast<int*>(context) = find_unreachable({tarn_heap_main()}).error();
    return 1;
  };
  int in_walk = -1;
  EXPECT_EQ(tarn_heap_walk(heap, 0, visit, &in_walk), 1);
  EXPECT_EQ(in_walk, 0);
  destroy(heap);
}

}  // namespace
}  // namespace tarn
