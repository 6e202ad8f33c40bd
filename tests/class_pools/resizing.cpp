// Class pools: what is copied when a block moves, and locks that throw meanwhile.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include "tarn/detail/align.hpp"
#include "tarn/pool/class_pools.hpp"

namespace pools {
namespace {

using tarn::ClassPools;

constexpr std::size_t mib = std::size_t{1} << 20;

// Memory that reads as zero, once.
class Zeros {
 public:
  tarn::Chunk acquire(std::size_t bytes, std::size_t alignment) noexcept {
    used_ = tarn::align_up(used_, alignment);
    if (bytes > sizeof memory_ - used_) return {};
    char* const start = memory_ + used_;
    used_ += bytes;
    return {start, bytes};
  }
  void release(tarn::Chunk) noexcept {}

 private:
  alignas(64) inline static char memory_[24 * mib] = {};
  inline static std::size_t used_ = 0;
};

bool is_all(const char* p, std::size_t bytes, char value) {
  return std::all_of(p, p + bytes, [&](char byte) { return byte == value; });
}

// What lies beyond is not read either, so that its pages stay as they are.
TEST(ClassPoolsResizing, ALargeBlockIsCopiedAsFarAsItWasAskedFor) {
  Zeros source;
  ClassPools pools(source);
  auto* const p = static_cast<char*>(pools.allocate(3 * mib / 2));
  std::fill(p, p + 2 * mib, 'x');  // More than the program may, so that it shows.
  auto* const moved = static_cast<char*>(pools.reallocate(p, 2 * mib + 1));
  EXPECT_TRUE(is_all(moved, 3 * mib / 2, 'x'));
  EXPECT_TRUE(is_all(moved + 3 * mib / 2, mib / 2, 0));
  // As far as it has grown where it is, and no less when it has shrunk since.
  EXPECT_EQ(pools.reallocate(moved, 3 * mib), moved);
  EXPECT_EQ(pools.reallocate(moved, 10), moved);
  std::fill(moved, moved + 4 * mib, 'y');
  auto* const again = static_cast<char*>(pools.reallocate(moved, 4 * mib + 1));
  EXPECT_TRUE(is_all(again, 3 * mib, 'y'));
  EXPECT_TRUE(is_all(again + 3 * mib, mib, 0));
  EXPECT_TRUE(pools.check());
}

TEST(ClassPoolsResizing, WhatAProgramIsToldItMayUseIsCopied) {
  ClassPools pools;
  for (int how = 0; how < 3; ++how) {
    for (const std::size_t bytes : {20ul, 500ul, 5000ul, 70'000ul, 3 * mib}) {
      auto* p = static_cast<char*>(how == 2 ? pools.allocate(bytes, 4096) : pools.allocate(bytes));
      std::size_t usable = 0;
      if (how == 0) {
        usable = pools.usable_bytes(p);
      } else {
        pools.walk([&](void* block, std::size_t told) { usable = block == p ? told : 0; });
      }
      ASSERT_GE(usable, bytes);
      std::fill(p, p + usable, 'x');
      p = static_cast<char*>(pools.reallocate(p, usable + 1));
      EXPECT_TRUE(is_all(p, usable, 'x')) << how << " " << bytes;
      pools.deallocate(p);
    }
  }
}

// Throws at the last of so many calls.
struct Failing {
  void lock() {
    if (left != 0 && --left == 0) throw std::runtime_error("no lock today");
    EXPECT_FALSE(is_held);
    is_held = true;
  }
  void unlock() { is_held = false; }
  bool is_held = false;
  int left = 0;
};

TEST(ClassPoolsResizing, ALockThatThrows) {
  tarn::LockedClassPools<Failing> pools;
  auto* const p = static_cast<char*>(pools.allocate(100));
  std::fill(p, p + 100, 'x');
  pools.lock().left = 1;
  EXPECT_THROW(static_cast<void>(pools.reallocate(p, 1000)), std::runtime_error);
  EXPECT_EQ(pools.stats().in_use, 1u);
  pools.lock().left = 2;  // To free the old block.
  EXPECT_THROW(static_cast<void>(pools.reallocate(p, 1000)), std::runtime_error);
  EXPECT_FALSE(pools.lock().is_held);
  EXPECT_EQ(pools.stats().in_use, 2u);
  EXPECT_TRUE(is_all(p, 100, 'x'));
  pools.walk([&](void* block, std::size_t) { pools.deallocate(block); });
  EXPECT_EQ(pools.stats().in_use, 0u);
  EXPECT_TRUE(pools.check());
}

TEST(ClassPoolsResizing, NoMemoryLeavesTheBlock) {
  ClassPools pools;
  auto* const p = static_cast<char*>(pools.allocate(100));
  std::fill(p, p + 100, 'x');
  for (const std::size_t bytes : {std::size_t{1} << 46, SIZE_MAX / 2, SIZE_MAX}) {
    errno = 0;
    EXPECT_EQ(pools.try_reallocate(p, bytes), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
  EXPECT_TRUE(is_all(p, 100, 'x'));
  pools.deallocate(p);
}

}  // namespace
}  // namespace pools
