// The call at a thread's end.
//
// SPDX-License-Identifier: MIT
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "heap/orphans.hpp"
#include "os/thread.hpp"
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
  const std::uint64_t before = orphans.threads_started();
  std::thread([] { EXPECT_EQ(current_thread, no_thread()); }).join();
  EXPECT_EQ(orphans.threads_started(), before);
}

// A destructor of another thread_local runs after the library's call or before; both must do.
TEST(ThreadEnd, AllocationInALateDestructor) {
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
    EXPECT_TRUE(t == current_thread || t->state.load() == ThreadState::orphan);
  }
}

}  // namespace
}  // namespace tarn
