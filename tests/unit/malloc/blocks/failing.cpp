// Every call of the OS that a program's allocations come to, failed: each alone, and each with all
// that follow. An allocation then gives null and ENOMEM or a good block, no contents are lost, and
// when the OS gives again, so does the library.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/store/store.hpp"
#include "engine/threads/orphans.hpp"
#include "engine/threads/thread_heap.hpp"
#include "platform/os/fake/fake.hpp"
#include "tarn/tarn.h"

namespace tarn {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

struct Live {
  unsigned char* start;
  std::size_t bytes;
  unsigned char mark;
  bool is_aligned;  // By its request: its size alone does not free it.
};

class Scenario {
 public:
  void run(bool in_threads);
  std::uint64_t nulls() const { return nulls_; }

 private:
  void add(void* p, std::size_t bytes, std::size_t alignment, bool zero, bool is_aligned = false);
  void verify(const Live& live, std::size_t bytes);
  void grow(std::size_t i, std::size_t bytes);
  void small();
  void large();
  void threads();

  std::vector<Live> live_;
  std::uint64_t nulls_ = 0;
};

void Scenario::add(void* p, std::size_t bytes, std::size_t alignment, bool zero, bool is_aligned) {
  if (p == nullptr) {
    ASSERT_EQ(errno, ENOMEM);
    ++nulls_;
    return;
  }
  auto* const start = static_cast<unsigned char*>(p);
  ASSERT_EQ(address_of(p) % alignment, 0u);
  ASSERT_GE(tarn_malloc_usable_size(p), bytes);
  for (std::size_t i = 0; zero && i < bytes; i += 61) ASSERT_EQ(start[i], 0);
  const auto mark = static_cast<unsigned char>(live_.size() + 1);
  std::memset(start, mark, bytes);
  live_.push_back({start, bytes, mark, is_aligned});
}

void Scenario::verify(const Live& live, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 61) ASSERT_EQ(live.start[i], live.mark);
  if (bytes != 0) {
    ASSERT_EQ(live.start[bytes - 1], live.mark);
  }
}

void Scenario::grow(std::size_t i, std::size_t bytes) {
  if (i >= live_.size()) return;
  errno = 0;
  void* const p = tarn_realloc(live_[i].start, bytes);
  if (p == nullptr) {
    ASSERT_EQ(errno, ENOMEM);
    ++nulls_;
    return verify(live_[i], live_[i].bytes);
  }
  live_[i].start = static_cast<unsigned char*>(p);
  verify(live_[i], std::min(bytes, live_[i].bytes));
  live_[i].bytes = bytes;
  live_[i].is_aligned = false;
  std::memset(p, live_[i].mark, bytes);
}

void Scenario::small() {
  for (std::size_t bytes = 0; bytes < 20000; bytes += bytes / 3 + 16) {
    for (int i = 0; i < 12; ++i) {
      errno = 0;
      add(tarn_malloc(bytes), bytes, block_align, false);
    }
    errno = 0;
    add(tarn_calloc(bytes, 2), 2 * bytes, block_align, true);
    errno = 0;
    add(tarn_aligned_alloc(4096, bytes), bytes, 4096, false, true);
  }
}

void Scenario::large() {
  for (const std::size_t bytes : {200000u, 1500000u}) {
    errno = 0;
    add(tarn_malloc(bytes), bytes, slice_bytes, false);
    errno = 0;
    add(tarn_calloc(1, bytes), bytes, slice_bytes, true);
  }
  void* p = nullptr;
  errno = 0;
  const int error = tarn_posix_memalign(&p, 8 * mib, 100);
  ASSERT_EQ(errno, error);
  add(p, 100, 8 * mib, false, true);
  for (std::size_t i = 0; i < live_.size(); i += 17) grow(i, live_[i].bytes * 2 + 100);
  for (std::size_t i = 5; i < live_.size(); i += 29) grow(i, live_[i].bytes / 3 + 1);
  if (!live_.empty()) grow(live_.size() - 1, 9 * mib);
  errno = 0;
  add(tarn_malloc(3 * mib), 3 * mib, slice_bytes, false);
  grow(live_.size() - 1, 25000);  // Stays a large block when there is no page for a smaller one.
  for (std::size_t i = 0; i < live_.size(); i += 83) grow(i, 2 * mib);
}

// Blocks cross threads, and a thread that has no record yet may fail to get one.
void Scenario::threads() {
  std::thread([&] { small(); }).join();
  std::thread([&] {
    for (std::size_t i = 0; i < live_.size(); i += 2) {
      verify(live_[i], live_[i].bytes);
      tarn_free(live_[i].start);
      live_[i] = live_.back();
      live_.pop_back();
    }
    small();
  }).join();
}

void Scenario::run(bool in_threads) {
  small();
  if (in_threads) threads();
  large();
  tarn_malloc_trim(0);
  for (const Live& live : live_) {
    verify(live, live.bytes);
    if (live.is_aligned) {
      tarn_free(live.start);
    } else {
      tarn_free_sized(live.start, live.bytes);
    }
  }
  tarn_malloc_trim(0);
}

void check_everything() {
  ASSERT_TRUE(store.check());
  for (const Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) {
    ASSERT_TRUE(thread_heap_check(t->heap));
  }
}

// Gives all free memory back, addresses too, so that the next run asks for it again.
void empty_the_store() {
  tarn_malloc_trim(0);
  const std::size_t slices = 300 * mib >> slice_shift;
  os::fake::fail_at(1, false);
  Span* const span = store.take(slices, 1);  // Null when there was nothing to give back.
  os::fake::fail_at(0, false);
  if (span != nullptr) store.give(span);
  tarn_malloc_trim(0);
}

void fail_every_call(bool onwards, bool in_threads) {
  std::uint64_t failed_runs = 0;
  for (std::uint64_t n = 1;; ++n) {
    ASSERT_LT(n, 3000u);
    empty_the_store();
    os::fake::fail_at(n, onwards);
    Scenario scenario;
    scenario.run(in_threads);
    const bool reached = os::fake::calls() >= n;
    check_everything();
    os::fake::fail_at(0, false);
    failed_runs += scenario.nulls() != 0;
    if (testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << "with call " << n << (onwards ? " and all later ones" : "");
      return;
    }
    // The OS gives again.
    Scenario after;
    after.run(false);
    check_everything();
    ASSERT_EQ(after.nulls(), 0u) << "after call " << n;
    ASSERT_EQ(store.totals().committed_bytes, 0u) << "after call " << n;
    if (reached) continue;
    EXPECT_EQ(scenario.nulls(), 0u) << "nothing failed";
    EXPECT_GT(n, 10u) << "the scenario should come to more calls";
    if (onwards) {
      EXPECT_GT(failed_runs, 0u);
    }
    return;
  }
}

TEST(EveryCall, FailsOnce) { fail_every_call(false, false); }
TEST(EveryCall, FailsForGood) { fail_every_call(true, false); }
TEST(EveryCall, FailsOnceWithThreads) { fail_every_call(false, true); }
TEST(EveryCall, FailsForGoodWithThreads) { fail_every_call(true, true); }

}  // namespace
}  // namespace tarn
