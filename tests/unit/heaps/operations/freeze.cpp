// Freezing and thawing where the system refuses to change the rights of memory: a heap is frozen
// or it is not, whichever call is refused, and it goes on when the system gives again.
//
// SPDX-License-Identifier: MIT
#include <atomic>
#include <cerrno>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "engine/records/record.hpp"
#include "engine/records/thread.hpp"
#include "platform/os/fake/fake.hpp"
#include "tarn/heap/heap.h"
#include "tarn/heap/malloc.h"

namespace tarn {
namespace {

// A heap with pages of several classes and with large blocks.
class RefusedRights : public testing::Test {
 protected:
  RefusedRights() {
    const tarn_heap_options options = TARN_HEAP_OPTIONS();
    heap_ = tarn_heap_create(&options);
    for (std::size_t i = 0; i < 300; ++i) add(i + 1);
    add(200'000);
    add(300'000);
  }
  ~RefusedRights() override {
    allow();
    EXPECT_EQ(tarn_heap_destroy(heap_), 0);
  }
  void add(std::size_t bytes) {
    void* const p = tarn_heap_allocate(heap_, bytes);
    ASSERT_NE(p, nullptr);
    blocks_.push_back(static_cast<char*>(p));
  }
  static void allow() { os::fake::fail_at(0, false); }

  bool is_frozen() const { return tarn::is_frozen(*static_cast<HeapRecord*>(heap_.record)); }
  // Whatever was refused, no block of the heap has lost its rights.
  void expect_in_use() {
    EXPECT_FALSE(is_frozen());
    for (char* const p : blocks_) *p = 'x';
    void* const more = tarn_heap_allocate(heap_, 100);
    EXPECT_NE(more, nullptr);
    tarn_free(more);
  }

  tarn_heap heap_{};
  std::vector<char*> blocks_;
};

TEST_F(RefusedRights, OneRefusalUndoesAFreeze) {
  std::uint64_t calls = 0;
  for (std::uint64_t n = 1; calls == 0; ++n) {
    os::fake::fail_at(n, false);
    errno = 0;
    const int result = tarn_heap_freeze(heap_);
    if (os::fake::calls() < n) {
      calls = n - 1;
      EXPECT_EQ(result, 0);
      break;
    }
    EXPECT_EQ(result, -1) << n;
    EXPECT_EQ(errno, ENOMEM) << n;
    expect_in_use();
  }
  EXPECT_GE(calls, 5u) << "a call for each page and large block";
  EXPECT_TRUE(is_frozen());
  allow();
  EXPECT_EQ(tarn_heap_thaw(heap_), 0);
  expect_in_use();
}

TEST_F(RefusedRights, WhatCannotBeUndoneIsFrozen) {
  for (const std::uint64_t n : {1u, 2u, 4u}) {
    os::fake::fail_at(n, true);
    EXPECT_EQ(tarn_heap_freeze(heap_), 0) << n;
    allow();
    EXPECT_TRUE(is_frozen());
    EXPECT_EQ(tarn_heap_allocate(heap_, 10), nullptr);
    EXPECT_EQ(tarn_heap_thaw(heap_), 0);
    expect_in_use();
  }
}

TEST_F(RefusedRights, AThawThatIsRefusedLeavesItFrozen) {
  for (std::uint64_t n = 1;; ++n) {
    ASSERT_EQ(tarn_heap_freeze(heap_), 0);
    os::fake::fail_at(n, false);
    errno = 0;
    const int result = tarn_heap_thaw(heap_);
    const bool is_refused = os::fake::calls() >= n;
    allow();
    EXPECT_EQ(result, is_refused ? -1 : 0) << n;
    EXPECT_EQ(is_frozen(), is_refused) << n;
    if (!is_refused) break;
    EXPECT_EQ(errno, ENOMEM) << n;
    EXPECT_EQ(tarn_heap_thaw(heap_), 0) << n;
    expect_in_use();
  }
  expect_in_use();
}

// In the child of a fork: the lists of a thread that vanished at its work are not to be trusted,
// but its pages are thawed like the others.
TEST_F(RefusedRights, PagesOfAThreadThatVanishedAtItsWorkAreThawed) {
  std::atomic<int> stage{0};
  const auto await = [&stage](int wanted) {
    while (stage.load() != wanted) std::this_thread::yield();
  };
  char* of_other = nullptr;
  std::thread other([&] {
    of_other = static_cast<char*>(tarn_heap_allocate(heap_, 700));
    stage = 1;
    await(2);
    Busy::begin(*current_thread);
    stage = 3;
    await(4);
    Busy::end(*current_thread);
  });
  await(1);
  ASSERT_EQ(tarn_heap_freeze(heap_), 0);
  stage = 2;
  await(3);
  const pid_t child = fork();
  if (child == 0) {
    EXPECT_EQ(tarn_heap_thaw(heap_), 0);
    *of_other = 'y';
    tarn_free(of_other);
    expect_in_use();
    _exit(HasFailure() ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "see the child's messages";
  stage = 4;
  other.join();
  EXPECT_EQ(tarn_heap_thaw(heap_), 0);
  expect_in_use();
}

}  // namespace
}  // namespace tarn
