// Every call of the OS that a search comes to, failed: it says ENOMEM, or is as it should be; the
// threads run on, nothing is lost, and the next search is good.
//
// SPDX-License-Identifier: MIT
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "platform/os/fake/fake.hpp"
#include "tarn/diagnose/unreachable.h"
#include "tarn/tarn.h"

namespace tarn {
namespace {

constexpr std::size_t lost_blocks = 200;

__attribute__((noinline)) void lose_some(tarn_heap heap) {
  for (std::size_t i = 0; i < lost_blocks; ++i) {
    void* const p = tarn_heap_allocate(heap, 3000);
    ASSERT_NE(p, nullptr);
    std::memset(p, 0, tarn_malloc_usable_size(p));
  }
}

int count(const tarn_unreachable_block*, void* context) {
  ++*static_cast<std::size_t*>(context);
  return 0;
}

void try_all(tarn_heap heap, bool onwards) {
  tarn_unreachable_options options = TARN_UNREACHABLE_OPTIONS();
  options.heaps = &heap;
  options.heap_count = 1;
  bool failed = true;
  int failures = 0;
  for (std::uint64_t n = 1; failed; ++n) {
    const std::size_t before = os::fake::bytes_reserved();
    os::fake::fail_at(n, onwards);
    std::size_t shown = 0;
    errno = 0;
    const int outcome = tarn_find_unreachable(&options, count, &shown, nullptr);
    const int error = errno;
    failed = os::fake::calls() >= n;
    os::fake::fail_at(0, false);
    if (outcome == 0) {
      // Some may look reached: frames keep what was there.
      EXPECT_GE(shown, lost_blocks - 5) << "call " << n;
    } else {
      EXPECT_EQ(error, ENOMEM) << "call " << n;
      EXPECT_EQ(shown, 0u);
      ++failures;
    }
    // Addresses alone stay where the OS does not take them back.
    if (!failed) {
      EXPECT_EQ(os::fake::bytes_reserved(), before);
    }
    ASSERT_LT(n, 1000u);
  }
  EXPECT_GE(failures, 2);
}

TEST(UnreachableFailure, EachCallAlone) {
  const tarn_heap heap = tarn_heap_create(nullptr);
  lose_some(heap);
  try_all(heap, false);
  tarn_heap_destroy(heap);
}

TEST(UnreachableFailure, EachCallOnwardsWithThreads) {
  std::atomic<bool> over{false};
  std::atomic<int> steps{0};
  std::thread other([&] {
    while (!over.load()) ++steps;
  });
  const tarn_heap heap = tarn_heap_create(nullptr);
  lose_some(heap);
  try_all(heap, true);
  const int before = steps.load();
  while (steps.load() == before) std::this_thread::yield();  // It runs.
  over.store(true);
  other.join();
  tarn_heap_destroy(heap);
}

}  // namespace
}  // namespace tarn
