// os_source over the fake OS: every call failed, each alone and each with all that follow; and
// everything that was taken is given back once the OS takes it.
//
// SPDX-License-Identifier: MIT
#include "tarn/source/os_source.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "platform/os/fake/fake.hpp"

namespace tarn {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

class OsSourceFailures : public testing::TestWithParam<unsigned> {
 protected:
  ~OsSourceFailures() override { os::fake::fail_at(0, false); }

  tarn_os_source_options options() const {
    tarn_os_source_options options = TARN_OS_SOURCE_OPTIONS();
    options.flags = GetParam();
    return options;
  }

  // What is taken is full of marks when it goes. The number of chunks that came.
  static std::size_t use(tarn_os_source& source) {
    std::size_t came = 0;
    std::vector<tarn_chunk> out;
    for (const std::size_t alignment : {std::size_t{1}, 64 * mib, 4 * mib}) {
      for (int i = 0; i < 3; ++i) {
        const tarn_chunk chunk = tarn_os_source_acquire(&source, 100'000, alignment);
        if (chunk.data == nullptr) continue;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(chunk.data) % alignment, 0u);
        EXPECT_GE(chunk.bytes, 100'000u);
        std::memset(chunk.data, 0xa5, chunk.bytes);
        out.push_back(chunk);
        ++came;
      }
    }
    for (const tarn_chunk& chunk : out) tarn_os_source_release(&source, chunk);
    return came;
  }

  static tarn_os_source_stats stats_of(const tarn_os_source& source) {
    tarn_os_source_stats stats = TARN_OS_SOURCE_STATS();
    EXPECT_EQ(tarn_os_source_get_stats(&source, &stats), 0);
    return stats;
  }
};

constexpr unsigned everything = TARN_OS_SOURCE_HUGE | TARN_OS_SOURCE_POPULATE |
                                TARN_OS_SOURCE_LOCK | TARN_OS_SOURCE_NODE | TARN_OS_SOURCE_HIDE;
INSTANTIATE_TEST_SUITE_P(Flags, OsSourceFailures,
                         testing::Values(0u, unsigned{TARN_OS_SOURCE_LOCK}, everything));

TEST_P(OsSourceFailures, TheNthCallAloneOrWithAllThatFollow) {
  const std::size_t before = os::fake::bytes_reserved();
  const tarn_os_source_options wanted = options();
  tarn_os_source source;
  os::fake::fail_at(0, false);
  ASSERT_EQ(tarn_os_source_init(&source, &wanted), 0);
  ASSERT_EQ(use(source), 9u);
  const std::uint64_t calls = os::fake::calls();
  ASSERT_GT(calls, 20u);
  ASSERT_EQ(tarn_os_source_destroy(&source), 0u);
  ASSERT_EQ(os::fake::bytes_reserved(), before);
  std::size_t refused = 0;
  for (const bool onwards : {false, true}) {
    for (std::uint64_t n = 1; n <= calls; ++n) {
      os::fake::fail_at(n, onwards);
      const bool made = tarn_os_source_init(&source, &wanted) == 0;
      if (made) refused += 9 - use(source);
      os::fake::fail_at(0, false);
      if (!made) {
        EXPECT_EQ(tarn_os_source_acquire(&source, 1, 1).data, nullptr);
        // Of a source that was never made there is nobody to try again: at most one chunk is lost.
        continue;
      }
      EXPECT_EQ(use(source), 9u) << n;
      EXPECT_EQ(stats_of(source).kept_bytes, 0u);
      EXPECT_EQ(stats_of(source).held_bytes, 0u);
      EXPECT_EQ(tarn_os_source_destroy(&source), 0u);
    }
  }
  EXPECT_GT(refused, calls / 4);
  if (GetParam() == 0) {
    EXPECT_EQ(os::fake::bytes_reserved(), before);
  }
}

TEST_P(OsSourceFailures, WhatTheSystemDoesNotTakeIsCountedUntilItDoes) {
  const std::size_t before = os::fake::bytes_reserved();
  const tarn_os_source_options wanted = options();
  tarn_os_source source;
  ASSERT_EQ(tarn_os_source_init(&source, &wanted), 0);
  const tarn_chunk chunk = tarn_os_source_acquire(&source, 4096, 1);
  os::fake::fail_at(1, true);
  tarn_os_source_release(&source, chunk);
  EXPECT_EQ(stats_of(source).kept_bytes, chunk.bytes);
  EXPECT_EQ(stats_of(source).chunks, 0u);
  EXPECT_EQ(tarn_os_source_acquire(&source, 4096, 1).data, nullptr);
  EXPECT_EQ(stats_of(source).kept_bytes, chunk.bytes);
  EXPECT_EQ(os::fake::bytes_reserved(), before + chunk.bytes);
  os::fake::fail_at(0, false);
  EXPECT_EQ(tarn_os_source_destroy(&source), 0u);
  EXPECT_EQ(os::fake::bytes_reserved(), before);
}

// The calls of an init with all flags: reserve, up to five that prepare, release.
TEST(OsSourceOptions, EachFlagThatTheSystemDoesNotHaveIsSaid) {
  for (const unsigned flag :
       {TARN_OS_SOURCE_POPULATE, TARN_OS_SOURCE_LOCK, TARN_OS_SOURCE_NODE, TARN_OS_SOURCE_HIDE}) {
    const std::size_t before = os::fake::bytes_reserved();
    tarn_os_source_options wanted = TARN_OS_SOURCE_OPTIONS();
    wanted.flags = flag;
    tarn_os_source source;
    os::fake::fail_at(2, false);
    errno = 0;
    EXPECT_EQ(tarn_os_source_init(&source, &wanted), -1) << flag;
    EXPECT_EQ(errno, ENOTSUP);
    EXPECT_EQ(os::fake::bytes_reserved(), before);
    os::fake::fail_at(1, false);
    EXPECT_EQ(tarn_os_source_init(&source, &wanted), -1) << flag;
    EXPECT_EQ(errno, ENOMEM);
    os::fake::fail_at(0, false);
    EXPECT_EQ(tarn_os_source_init(&source, &wanted), 0);
    EXPECT_EQ(os::fake::bytes_reserved(), before);
    tarn_os_source_destroy(&source);
  }
}

}  // namespace
}  // namespace tarn
