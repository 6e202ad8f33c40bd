// The lock: exclusion, trying, and recovery in the child of a fork.
//
// SPDX-License-Identifier: MIT
#include "os/thread.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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
  {
    LockedUnlessHeld again(lock);
  }
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

}  // namespace
}  // namespace tarn::os
