// errno: free and its kin keep it, for blocks of every kind and from every thread.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cerrno>
#include <thread>
#include <vector>

#include "family.h"
#include "pattern.h"

namespace {

constexpr int witness = 12345;
constexpr std::size_t sizes[] = {1, 16, 1000, 5000, 40000, 300000, 3000000, 90000000};

void expect_free_keeps_errno(const std::vector<void*>& blocks) {
  for (void* block : blocks) {
    errno = witness;
    FAMILY(free)(block);
    EXPECT_EQ(errno, witness);
  }
}

std::vector<void*> take_many() {
  std::vector<void*> blocks;
  for (const std::size_t size : sizes) {
    for (int i = 0; i < 40; ++i) blocks.push_back(FAMILY(malloc)(size));
    void* aligned = nullptr;
    EXPECT_EQ(FAMILY(posix_memalign)(&aligned, 8192, size), 0);
    blocks.push_back(aligned);
  }
  return blocks;
}

TEST(Errno, FreeKeepsIt) {
  for (int round = 0; round < 5; ++round) expect_free_keeps_errno(take_many());
}

TEST(Errno, PosixMemalignKeepsItUnlessThereIsNoMemory) {
  for (const std::size_t size : sizes) {
    void* block = nullptr;
    errno = witness;
    EXPECT_EQ(FAMILY(posix_memalign)(&block, 8192, size), 0);
    EXPECT_EQ(errno, witness);
    FAMILY(free)(block);
    EXPECT_EQ(FAMILY(posix_memalign)(&block, opaque(24), size), EINVAL);
    EXPECT_EQ(errno, witness);
  }
}

TEST(Errno, FreeOfNothingKeepsIt) {
  errno = witness;
  FAMILY(free)(nullptr);
  EXPECT_EQ(errno, witness);
}

TEST(Errno, FreeOfAnotherThreadsBlocksKeepsIt) {
  std::vector<void*> blocks;
  std::thread([&blocks] { blocks = take_many(); }).join();
  expect_free_keeps_errno(blocks);
}

TEST(Errno, SizedFreesKeepIt) {
  for (const std::size_t size : sizes) {
    void* sized = FAMILY(malloc)(size);
    void* aligned = FAMILY(aligned_alloc)(64, size);
    errno = witness;
    FAMILY(free_sized)(sized, size);
    EXPECT_EQ(errno, witness);
    FAMILY(free_aligned_sized)(aligned, 64, size);
    EXPECT_EQ(errno, witness);
  }
}

TEST(Errno, ReallocToZeroKeepsIt) {
  for (const std::size_t size : sizes) {
    void* block = FAMILY(malloc)(size);
    errno = witness;
    EXPECT_EQ(FAMILY(realloc)(block, opaque(0)), nullptr);
    EXPECT_EQ(errno, witness);
  }
}

// Every failure says so, also right after another failure and after a success.
TEST(Errno, EachFailureSetsItAnew) {
  for (int round = 0; round < 100; ++round) {
    errno = 0;
    EXPECT_EQ(FAMILY(malloc)(opaque(SIZE_MAX / 2 + 1)), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(FAMILY(pvalloc)(opaque(SIZE_MAX - 10)), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(FAMILY(aligned_alloc)(opaque(3), 64), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
}

}  // namespace
