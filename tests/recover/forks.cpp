// Forks while other threads lock, refill, recover and register: the child goes on. What vanished
// threads had locked stays, what they were filling has vanished, and all of it can be ended.
//
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <random>
#include <thread>

#include "../support/child.hpp"
#include "recover.hpp"

namespace recovering {
namespace {

using support::require;

template <class Child>
void in_child(Child child) {
  const int status = support::status_of_child([&] {
    alarm(60);  // A child that waits for a vanished thread fails.
    child();
  });
  ASSERT_EQ(status, 0);
}

constexpr std::size_t bytes = 3'000;
constexpr std::size_t block_count = 40;

class RecoverForks : public testing::Test {
 protected:
  void SetUp() override {
    const tarn_heap_options limited = options(64 * kib);
    heap_ = tarn_heap_create(&limited);
    for (std::size_t i = 0; i < block_count; ++i) {
      const tarn_heap heap = i % 3 == 0 ? tarn_heap{} : heap_;
      ASSERT_EQ(tarn_purgeable_begin(&blocks_[i], heap, bytes), 0);
    }
    for (unsigned id = 0; id < 3; ++id) {
      threads_.emplace_back([this, id] { work(id); });
    }
  }
  void TearDown() override {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    for (tarn_purgeable& p : blocks_) EXPECT_EQ(tarn_purgeable_end(&p), 0);
    EXPECT_EQ(tarn_heap_destroy(heap_), 0);
  }
  void work(unsigned id) {
    std::minstd_rand random(id + 1);
    while (!stop_) {
      ++steps_;
      use(random() % block_count);
      if (random() % 8 == 0) tarn_recover(random() % (32 * kib), TARN_RECOVER_PURGEABLES);
      if (random() % 8 == 0) {
        tarn::Reclaimer gives([&](std::size_t) { return std::size_t{random() % 2}; });
        tarn_recover(1, TARN_RECOVER_RECLAIM);
      }
      if (id == 0 && random() % 8 == 0) tarn_purgeable_discard(&blocks_[random() % block_count]);
    }
  }
  // Whether it was there, or could be filled; false is no error while others work.
  bool use(std::size_t at) {
    tarn_purgeable* const p = &blocks_[at];
    const auto mark = static_cast<unsigned char>(at + 1);
    auto* block = static_cast<unsigned char*>(tarn_purgeable_lock(p));
    if (block != nullptr) {
      if (block[0] != mark || block[bytes - 1] != mark) std::abort();
    } else {
      block = static_cast<unsigned char*>(tarn_purgeable_refill(p));
      if (block == nullptr) return false;
      std::memset(block, mark, bytes);
    }
    tarn_purgeable_unlock(p);
    return true;
  }
  void live_as_child() {
    // What a vanished thread was changing of the heap is not used again: there may be no room.
    for (std::size_t i = 0; i < block_count; ++i) {
      errno = 0;
      const bool usable = use(i);
      require(usable || (i % 3 != 0 && errno == ENOMEM), "a purgeable cannot be used");
    }
    tarn_recover(SIZE_MAX, 0);
    std::size_t calls = 0;
    {
      tarn::Reclaimer gives([&](std::size_t) { return ++calls, std::size_t{1}; });
      require(tarn_recover(SIZE_MAX, TARN_RECOVER_RECLAIM) >= 1 && calls == 1,
              "a reclaimer is not asked");
    }
    std::size_t there = 0;
    for (tarn_purgeable& p : blocks_) {
      if (tarn_purgeable_lock(&p) == nullptr) continue;
      ++there;
      tarn_purgeable_unlock(&p);
    }
    require(there <= 3, "more is locked than there were threads");
    for (tarn_purgeable& p : blocks_) require(tarn_purgeable_end(&p) == 0, "end");
    require(tarn_heap_destroy(heap_) == 0, "destroy");
  }

  tarn_heap heap_{};
  std::array<tarn_purgeable, block_count> blocks_{};
  std::vector<std::thread> threads_;
  std::atomic<bool> stop_{false};
  std::atomic<int> steps_{0};
};

TEST_F(RecoverForks, TheChildGoesOn) {
  for (int turn = 0; turn < 150 / TARN_TEST_DIVISOR; ++turn) {
    const int until = steps_ + 5 + turn % 20;
    while (steps_ < until) std::this_thread::yield();
    in_child([this] { live_as_child(); });
    if (HasFatalFailure()) return;
  }
}

TEST(RecoverForksOfOne, WhatTheThreadItselfHadStays) {
  tarn_purgeable locked{};
  tarn_purgeable filling{};
  ASSERT_EQ(tarn_purgeable_begin(&locked, tarn_heap{}, bytes), 0);
  ASSERT_EQ(tarn_purgeable_begin(&filling, tarn_heap{}, bytes), 0);
  ASSERT_NE(tarn_purgeable_refill(&locked), nullptr);
  tarn_purgeable_unlock(&locked);
  void* const block = tarn_purgeable_lock(&locked);
  void* const filled = tarn_purgeable_refill(&filling);
  std::memset(block, 1, bytes);
  std::memset(filled, 2, bytes);
  in_child([&] {
    require(tarn_recover(SIZE_MAX, TARN_RECOVER_PURGEABLES) == 0, "something went");
    tarn_purgeable_unlock(&locked);
    tarn_purgeable_unlock(&filling);
    require(tarn_purgeable_lock(&filling) == filled, "it was filled");
    tarn_purgeable_unlock(&filling);
    require(tarn_recover(SIZE_MAX, TARN_RECOVER_PURGEABLES) >= 2 * bytes, "they stayed");
    require(tarn_purgeable_end(&locked) == 0 && tarn_purgeable_end(&filling) == 0, "end");
  });
  tarn_purgeable_unlock(&locked);
  tarn_purgeable_unlock(&filling);
  EXPECT_EQ(tarn_purgeable_end(&locked), 0);
  EXPECT_EQ(tarn_purgeable_end(&filling), 0);
}

// A thread that vanishes with all it can have: one locked, one being filled, a callback running.
TEST(RecoverForksOfOne, WhatAVanishedThreadHadCanBeEnded) {
  tarn_purgeable locked{};
  tarn_purgeable filling{};
  ASSERT_EQ(tarn_purgeable_begin(&locked, tarn_heap{}, bytes), 0);
  ASSERT_EQ(tarn_purgeable_begin(&filling, tarn_heap{}, bytes), 0);
  std::latch ready(1);
  std::latch done(1);
  tarn::Reclaimer waits([&](std::size_t) -> std::size_t {
    ready.count_down();
    done.wait();
    return 0;
  });
  std::thread other([&] {
    (void)!tarn_purgeable_refill(&locked);
    tarn_purgeable_unlock(&locked);
    (void)!tarn_purgeable_lock(&locked);
    (void)!tarn_purgeable_refill(&filling);
    tarn_recover(SIZE_MAX, TARN_RECOVER_RECLAIM);
    tarn_purgeable_unlock(&locked);
    tarn_purgeable_unlock(&filling);
  });
  ready.wait();
  in_child([&] {
    errno = 0;
    require(tarn_purgeable_lock(&filling) == nullptr && errno == 0, "it has not vanished");
    require(tarn_recover(SIZE_MAX, TARN_RECOVER_PURGEABLES) == 0, "something went");
    require(tarn_purgeable_refill(&filling) != nullptr, "it cannot be filled");
    tarn_purgeable_unlock(&filling);
    require(tarn_purgeable_lock(&locked) != nullptr, "it is there");
    require(tarn_purgeable_end(&locked) == -1 && errno == EBUSY, "ended while it is locked");
    tarn_purgeable_unlock(&locked);
    require(tarn_purgeable_end(&locked) == 0 && tarn_purgeable_end(&filling) == 0, "end");
    waits.~Reclaimer();  // Does not wait for who is gone.
  });
  done.count_down();
  other.join();
  EXPECT_EQ(tarn_purgeable_end(&locked), 0);
  EXPECT_EQ(tarn_purgeable_end(&filling), 0);
}

// In a callback: the child is in it, and unregisters.
TEST(RecoverForksOfOne, InACallback) {
  int calls = 0;
  bool is_child = false;
  tarn_reclaimer r;
  struct Context {
    tarn_reclaimer* r;
    int* calls;
    bool* is_child;
    pid_t pid;
  } context{&r, &calls, &is_child, -1};
  tarn_reclaimer_options wanted = TARN_RECLAIMER_OPTIONS();
  wanted.context = &context;
  wanted.reclaim = [](std::size_t, void* c) -> std::size_t {
    auto* const in = static_cast<Context*>(c);
    ++*in->calls;
    in->pid = ::fork();
    *in->is_child = in->pid == 0;
    return 1;
  };
  ASSERT_EQ(tarn_reclaimer_register(&r, &wanted), 0);
  EXPECT_EQ(tarn_recover(SIZE_MAX, TARN_RECOVER_RECLAIM), 1u);
  EXPECT_EQ(tarn_reclaimer_unregister(&r), 0);
  if (is_child) std::_Exit(calls == 1 ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(context.pid, &status, 0), context.pid);
  EXPECT_EQ(status, 0);
}

// Forks in a handler of a signal, wherever that finds the thread: the child goes on there.
volatile sig_atomic_t handler_forks = 0;
volatile sig_atomic_t is_handlers_child = 0;
volatile sig_atomic_t failed_children = 0;
volatile sig_atomic_t waits_at_once = 0;
volatile pid_t last_child = -1;

void fork_in_handler(int) {
  if (is_handlers_child != 0) return;
  const int saved = errno;
  last_child = ::fork();
  if (last_child == 0) {
    is_handlers_child = 1;
    alarm(20);
  } else if (waits_at_once != 0) {
    int status = 0;
    waitpid(last_child, &status, 0);
    failed_children = failed_children + (status != 0 ? 1 : 0);
    handler_forks = handler_forks + 1;
  }
  errno = saved;
}

class RecoverForksInHandlers : public testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action {};
    action.sa_handler = fork_in_handler;
    action.sa_flags = SA_RESTART;
    ASSERT_EQ(sigaction(SIGUSR1, &action, &before_), 0);
    handler_forks = 0;
    failed_children = 0;
    waits_at_once = 0;
    last_child = -1;
  }
  void TearDown() override { ASSERT_EQ(sigaction(SIGUSR1, &before_, nullptr), 0); }

  struct sigaction before_ {};
};

TEST_F(RecoverForksInHandlers, WhereCallbacksBeginAndEnd) {
  tarn_reclaimer_options wanted = TARN_RECLAIMER_OPTIONS();
  wanted.reclaim = [](std::size_t, void*) -> std::size_t { return 0; };
  tarn_reclaimer r;
  ASSERT_EQ(tarn_reclaimer_register(&r, &wanted), 0);
  waits_at_once = 1;
  timer_t timer;
  struct sigevent event {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
  // Once for each fork: where forks are slow, a period would leave the thread no time in between.
  const itimerspec soon{{0, 0}, {0, 100'000}};
  const int forks = 500 / TARN_TEST_DIVISOR;
  for (int i = 1; i <= forks && failed_children == 0; ++i) {
    ASSERT_EQ(timer_settime(timer, 0, &soon, nullptr), 0);
    while (handler_forks < i && is_handlers_child == 0) tarn_recover(1, TARN_RECOVER_RECLAIM);
    // Waits for a callback that nobody is in, if they are miscounted.
    if (is_handlers_child != 0) std::_Exit(tarn_reclaimer_unregister(&r) == 0 ? 0 : 1);
  }
  ASSERT_EQ(timer_delete(timer), 0);
  EXPECT_EQ(failed_children, 0);
  EXPECT_EQ(tarn_reclaimer_unregister(&r), 0);
}

// The thread waits for another one's callback, which in the child nobody is in.
TEST_F(RecoverForksInHandlers, WhileAThreadWaitsForACallback) {
  struct Slow {
    std::latch begun{1};
    std::latch go{1};
  } slow;
  tarn_reclaimer_options wanted = TARN_RECLAIMER_OPTIONS();
  wanted.context = &slow;
  wanted.reclaim = [](std::size_t, void* context) -> std::size_t {
    auto* const s = static_cast<Slow*>(context);
    s->begun.count_down();
    s->go.wait();
    return 0;
  };
  tarn_reclaimer r;
  ASSERT_EQ(tarn_reclaimer_register(&r, &wanted), 0);
  std::thread recovers([] { tarn_recover(1, TARN_RECOVER_RECLAIM); });
  slow.begun.wait();
  const pthread_t waiting = pthread_self();
  std::thread disturbs([&] {
    usleep(20'000);  // It waits by now, or forks before: the child must not wait either.
    pthread_kill(waiting, SIGUSR1);
    while (last_child <= 0) usleep(100);
    slow.go.count_down();
  });
  const int done = tarn_reclaimer_unregister(&r);
  if (is_handlers_child != 0) std::_Exit(done == 0 ? 0 : 1);
  EXPECT_EQ(done, 0);
  disturbs.join();
  recovers.join();
  int status = -1;
  ASSERT_EQ(waitpid(last_child, &status, 0), last_child);
  EXPECT_EQ(status, 0);
}

TEST(RecoverForksOfOne, WhatLiesInASecretHeapHasVanished) {
  tarn_heap_options secret = options();
  secret.flags = TARN_HEAP_SECRET;
  const tarn_heap heap = tarn_heap_create(&secret);
  if (heap.record == nullptr) GTEST_SKIP() << "nothing may be locked here";
  {
    Marked p(heap, bytes, 4);
    ASSERT_TRUE(p.fill());
    in_child([&] {
      require(!p.look(), "zeros are shown");
      require(p.fill() && p.look() && p.wrong() == 0, "it cannot be filled");
    });
    EXPECT_TRUE(p.look());
    EXPECT_EQ(p.wrong(), 0);
  }
  EXPECT_EQ(tarn_heap_destroy(heap), 0);
}

}  // namespace
}  // namespace recovering
