// The lock: exclusion, trying, and recovery in the child of a fork.
//
// SPDX-License-Identifier: MIT
#include "platform/os/thread.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.hpp"

namespace tarn::os {
namespace {

TEST(Lock, ExcludesOthers) {
  Lock lock;
  std::uint64_t counter = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        Locked locked(lock);
        counter = counter + 1;
        // With the lock held, so that others sleep on it.
        if (i % 500 == 0) std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, 20000u);
}

TEST(Lock, TryLockFailsWhileItIsHeld) {
  Lock lock;
  ASSERT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  std::thread([&] { EXPECT_FALSE(lock.try_lock()); }).join();
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

#ifdef TARN_DEBUG
TEST(LockDeathTest, IsTakenOnceAndGivenUpByItsHolder) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Lock lock;
  EXPECT_DEATH(lock.unlock(), "held_by_this_thread");
  lock.lock();
  EXPECT_DEATH(lock.lock(), "held_by_this_thread");
  lock.unlock();
}
#endif

TEST(Lock, RecoveryTellsAVanishedHolder) {
  Lock lock;
  EXPECT_FALSE(lock.recover_after_fork()) << "free";
  lock.lock();
  EXPECT_FALSE(lock.recover_after_fork()) << "held by the survivor";
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();

  std::atomic<int> stage{0};
  std::thread holder([&] {
    lock.lock();
    stage.store(1);
    while (stage.load() != 2) std::this_thread::yield();
    lock.unlock();
  });
  while (stage.load() != 1) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    const bool recovered = lock.recover_after_fork();
    _exit(recovered && lock.try_lock() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  stage.store(2);
  holder.join();
  EXPECT_EQ(status, 0) << "in the child the lock should have been recovered";
}

TEST(Lock, KnowsItsHolder) {
  Lock lock;
  EXPECT_FALSE(lock.held_by_this_thread());
  lock.lock();
  EXPECT_TRUE(lock.held_by_this_thread());
  std::thread([&] { EXPECT_FALSE(lock.held_by_this_thread()); }).join();
  { LockedUnlessHeld again(lock); }
  EXPECT_TRUE(lock.held_by_this_thread()) << "what did not take it does not give it up";
  lock.unlock();
  {
    LockedUnlessHeld locked(lock);
    EXPECT_TRUE(lock.held_by_this_thread());
  }
  EXPECT_FALSE(lock.held_by_this_thread());
}

TEST(ThreadId, TellsThreadsApart) {
  const ThreadId mine = thread_id();
  EXPECT_NE(mine, 0u);
  EXPECT_EQ(thread_id(), mine);
  std::thread([&] { EXPECT_NE(thread_id(), mine); }).join();
}

TEST(ThreadId, IsKeptByTheSurvivorOfAFork) {
  const ThreadId mine = thread_id();
  const pid_t child = fork();
  if (child == 0) _exit(thread_id() == mine ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// The kernel gives a number again when its thread has ended and all others have been used; a parent
// that has ended takes with it what the survivor goes by. Planted here: the survivor has what it
// would have if its number had been that of a thread of the child.
void expect_two_numbers(ThreadId generation_of_parent) {
  std::atomic<pid_t> kernel_number{0};
  std::atomic<bool> planted{false};
  Lock lock;
  std::thread other([&] {
    kernel_number.store(gettid());
    while (!planted.load()) std::this_thread::yield();
    EXPECT_FALSE(lock.held_by_this_thread());
    EXPECT_FALSE(lock.try_lock());
  });
  while (kernel_number.load() == 0) std::this_thread::yield();
  known_thread_id = generation_of_parent + static_cast<ThreadId>(kernel_number.load());
  lock.lock();
  planted.store(true);
  other.join();
  EXPECT_TRUE(lock.held_by_this_thread());
}

void nothing() {}

// Once for all tests: what fork and the bare system call are told apart by.
void watch_forks() {
  static const bool once = (process_on_fork(nothing), true);
  static_cast<void>(once);
}

TEST(ThreadId, OfASurvivorIsNoNewThreads) {
  watch_forks();
  const ThreadId generation = thread_id() - static_cast<ThreadId>(gettid());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    expect_two_numbers(generation);
    _exit(HasFailure() ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "see the child's messages";
}

TEST(ThreadId, OfASurvivorIsNoNewThreadsBeforeTheRepair) {
  watch_forks();
  const ThreadId generation = thread_id() - static_cast<ThreadId>(gettid());
  in_unrepaired_child([&] { expect_two_numbers(generation); });
}

// More often than there are generations; each parent ends at once, as a daemon's does.
TEST(ThreadId, OfASurvivorOfManyForksIsNoNewThreads) {
  constexpr int generations = 512;
  watch_forks();
  const ThreadId generation = thread_id() - static_cast<ThreadId>(gettid());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (int forks = 1; forks < generations + 4; ++forks) {
      const pid_t next = fork();
      if (next != 0) _exit(next < 0 ? 1 : 0);
      if (forks > generations - 4) expect_two_numbers(generation);
    }
    const char result = HasFailure() ? 'n' : 'y';
    _exit(write(ends[1], &result, 1) == 1 ? 0 : 1);
  }
  close(ends[1]);
  waitpid(child, nullptr, 0);
  char result = 0;
  EXPECT_EQ(read(ends[0], &result, 1), 1);
  EXPECT_EQ(result, 'y') << "see the children's messages";
  close(ends[0]);
}

}  // namespace
}  // namespace tarn::os
