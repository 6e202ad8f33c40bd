// The call at a thread's end.
//
// SPDX-License-Identifier: MIT
#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <pthread.h>

#include "engine/records/totals.hpp"
#include "engine/threads/ending_threads.hpp"
#include "engine/threads/orphans.hpp"
#include "platform/os/thread.hpp"
#include "tarn/tarn.h"

namespace tarn {
namespace {

Thread* record_of_a_thread() {
  Thread* record = nullptr;
  std::thread([&] {
    tarn_free(tarn_malloc(10));
    record = current_thread;
    EXPECT_EQ(record->state.load(), ThreadState::live);
  }).join();
  return record;
}

TEST(ThreadEnd, LeavesAnOrphanThatTheNextThreadTakesOver) {
  Thread* const first = record_of_a_thread();
  ASSERT_NE(first, no_thread());
  EXPECT_EQ(first->state.load(), ThreadState::orphan);
  EXPECT_EQ(record_of_a_thread(), first);
}

TEST(ThreadEnd, AThreadThatDoesNotAllocateHasNoRecord) {
  const std::uint64_t before = totals.threads_started();
  std::thread([] { EXPECT_EQ(current_thread, no_thread()); }).join();
  EXPECT_EQ(totals.threads_started(), before);
}

// A destructor of another thread_local runs after the library's call or before; both must do.
TEST(ThreadEnd, AllocationInALateDestructor) {
  // The record that all ending threads share stays live: an earlier test may have made it.
  const Thread* const of_ending_threads = ending_threads.begin();
  ending_threads.end();
  struct Late {
    void* p = nullptr;
    ~Late() {
      tarn_free(p);
      tarn_free(tarn_malloc(100));
    }
  };
  std::thread([] {
    thread_local Late late;
    late.p = tarn_malloc(50);
  }).join();
  for (const Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) {
    if (t == current_thread || t == of_ending_threads) continue;
    EXPECT_EQ(t->state.load(), ThreadState::orphan);
  }
}

// Keys made later than the library's have their destructors called after its own.
struct AfterTheEnd {
  pthread_key_t key;
  void* small = nullptr;
  void* large = nullptr;
  void* aligned = nullptr;
  std::atomic<int> rounds{0};  // Written last: TSan knows no other order after its own end.
  Thread* record = nullptr;
};

void allocate_after_the_end(void* value) {
  auto* const after = static_cast<AfterTheEnd*>(value);
  after->record = current_thread;
  tarn_free(after->small);
  tarn_free(after->large);
  tarn_free(after->aligned);
  after->small = tarn_calloc(1, 100);
  after->large = tarn_malloc(1 << 20);
  after->aligned = tarn_aligned_alloc(4096, 300);
  after->rounds.fetch_add(1, std::memory_order_release);
  pthread_setspecific(after->key, after);  // Once more, as often as libc goes round.
}

TEST(ThreadEnd, AllocationWhenTheRecordIsGone) {
  tarn_free(tarn_malloc(1));  // The library's key is made.
  AfterTheEnd after;
  ASSERT_EQ(pthread_key_create(&after.key, allocate_after_the_end), 0);
  const std::uint64_t started = totals.threads_started();
  std::thread([&] {
    after.small = tarn_malloc(10);
    pthread_setspecific(after.key, &after);
  }).join();
  EXPECT_GT(after.rounds.load(std::memory_order_acquire), 1);
  EXPECT_EQ(after.record, no_thread());
  EXPECT_EQ(totals.threads_started(), started + 1) << "it counts once";
  ASSERT_NE(after.small, nullptr);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(static_cast<char*>(after.small)[i], 0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(after.aligned) % 4096, 0u);
  EXPECT_GE(tarn_malloc_usable_size(after.large), std::size_t{1} << 20);
  tarn_free(after.small);
  tarn_free(after.large);
  tarn_free(after.aligned);
  pthread_key_delete(after.key);
}

}  // namespace
}  // namespace tarn
