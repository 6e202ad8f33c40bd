// Every call of the OS that checked, guarded and passthrough heaps come to, failed: each alone, and
// each with all that follow. An allocation gives null and ENOMEM or a good block, a free succeeds,
// and when the OS gives again, so does the heap, with nothing left behind.
//
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "engine/store/store.hpp"
#include "platform/os/fake/fake.hpp"
#include "tarn/tarn.h"

namespace tarn {
namespace {

struct Live {
  unsigned char* start;
  std::size_t bytes;
};

class Scenario {
 public:
  explicit Scenario(int mode) {
    tarn_heap_options options = TARN_HEAP_OPTIONS();
    options.mode = mode;
    heap_ = tarn_heap_create(&options);
    if (heap_.record == nullptr) ++nulls_;
  }

  void run() {
    if (heap_.record == nullptr) return;
    for (int round = 0; round < 2; ++round) {
      for (std::size_t i = 0; i < 20; ++i) add(i % 10 == 9 ? 150'000 + 4'096 * i : 97 * i);
      for (std::size_t i = 0; i < live_.size(); i += 3) resize(live_[i], live_[i].bytes * 2 + 7);
      for (std::size_t i = 1; i < live_.size(); i += 3) resize(live_[i], live_[i].bytes / 8 + 1);
      for (std::size_t i = 0; i < live_.size(); i += 2) {
        tarn_free_sized(live_[i].start, live_[i].bytes);
        live_[i] = live_.back();
        live_.pop_back();
      }
    }
    tarn_heap_stats stats = TARN_HEAP_STATS();
    ASSERT_EQ(tarn_heap_get_stats(heap_, &stats), 0);
    ASSERT_EQ(stats.live_blocks, live_.size());
    for (const Live& live : live_) verify(live, live.bytes);
    for (std::size_t i = 0; i < live_.size(); i += 2) tarn_free(live_[i].start);
    ASSERT_EQ(tarn_heap_destroy(heap_), 0);
  }

  std::uint64_t nulls() const { return nulls_; }

 private:
  void add(std::size_t bytes) {
    errno = 0;
    void* const p = tarn_heap_allocate(heap_, bytes);
    if (p == nullptr) {
      ASSERT_EQ(errno, ENOMEM);
      ++nulls_;
      return;
    }
    ASSERT_EQ(tarn_malloc_usable_size(p), bytes);
    std::memset(p, 7, bytes);
    live_.push_back({static_cast<unsigned char*>(p), bytes});
  }
  void resize(Live& live, std::size_t bytes) {
    errno = 0;
    void* const p = tarn_heap_reallocate(heap_, live.start, bytes);
    if (p == nullptr) {
      ASSERT_EQ(errno, ENOMEM);
      ++nulls_;
      return verify(live, live.bytes);
    }
    const std::size_t kept = bytes < live.bytes ? bytes : live.bytes;
    live = {static_cast<unsigned char*>(p), bytes};
    verify(live, kept);
    std::memset(p, 7, bytes);
  }
  static void verify(const Live& live, std::size_t bytes) {
    ASSERT_EQ(tarn_malloc_usable_size(live.start), live.bytes);
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(live.start[i], 7);
  }

  tarn_heap heap_{};
  std::vector<Live> live_;
  std::uint64_t nulls_ = 0;
};

void empty_the_store() {
  tarn_malloc_trim(0);
  const std::size_t slices = (std::size_t{300} << 20) >> slice_shift;
  os::fake::fail_at(1, false);
  Span* const span = store.take(slices, 1);
  os::fake::fail_at(0, false);
  if (span != nullptr) store.give(span);
  tarn_malloc_trim(0);
}

std::uint64_t committed_after_a_run(int mode) {
  Scenario scenario(mode);
  scenario.run();
  EXPECT_EQ(scenario.nulls(), 0u);
  tarn_malloc_trim(0);
  return store.totals().committed_bytes;
}

void fail_every_call(int mode, bool onwards) {
  const std::uint64_t committed = committed_after_a_run(mode);
  std::uint64_t failed_runs = 0;
  for (std::uint64_t n = 1;; ++n) {
    ASSERT_LT(n, 5000u);
    empty_the_store();
    os::fake::fail_at(n, onwards);
    Scenario scenario(mode);
    scenario.run();
    const bool reached = os::fake::calls() >= n;
    os::fake::fail_at(0, false);
    ASSERT_TRUE(store.check());
    failed_runs += scenario.nulls() != 0;
    if (testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << "with call " << n << (onwards ? " and all later ones" : "");
      return;
    }
    ASSERT_EQ(committed_after_a_run(mode), committed) << "after call " << n;
    ASSERT_TRUE(store.check());
    if (reached) continue;
    EXPECT_EQ(scenario.nulls(), 0u) << "nothing failed";
    if (onwards && mode != TARN_MODE_PASSTHROUGH) {
      EXPECT_GT(failed_runs, 0u);
    }
    return;
  }
}

TEST(EveryCallOfAMode, FailsOnce) {
  for (int mode = TARN_MODE_CHECKED; mode <= TARN_MODE_PASSTHROUGH; ++mode) {
    fail_every_call(mode, false);
  }
}

TEST(EveryCallOfAMode, FailsForGood) {
  for (int mode = TARN_MODE_CHECKED; mode <= TARN_MODE_PASSTHROUGH; ++mode) {
    fail_every_call(mode, true);
  }
}

}  // namespace
}  // namespace tarn
