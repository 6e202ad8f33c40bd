// tarn/heap/unalloc.hpp: a choice of classes before the first block, and what comes of it.
//
// SPDX-License-Identifier: MIT
#include "tarn/heap/unalloc.hpp"

#include <cerrno>
#include <cstdint>
#include <new>

#include <gtest/gtest.h>

#include "tarn/tarn.h"

namespace {

using tarn::Unalloc;

// In this order: a process chooses once.
TEST(UnallocFace, TakesATableAndServesByIt) {
  EXPECT_FALSE(Unalloc::use(tarn::ClassTable{}));
  EXPECT_EQ(errno, EINVAL);
  EXPECT_FALSE(Unalloc::use_steps(0));
  EXPECT_EQ(errno, EINVAL);
  EXPECT_TRUE(Unalloc::use_lifo() && Unalloc::use_lifo(false));
  tarn::ClassTable table = tarn::ClassTable::steps(1);
  ASSERT_TRUE(table.add(396));
  ASSERT_TRUE(Unalloc::use(table));
  EXPECT_FALSE(Unalloc::use(table));
  EXPECT_EQ(errno, EBUSY);
  EXPECT_FALSE(Unalloc::use_steps(1));
  EXPECT_EQ(errno, EBUSY);
  EXPECT_FALSE(Unalloc::use_lifo());
  EXPECT_EQ(errno, EBUSY);

  void* p = Unalloc::allocate(300);
  EXPECT_EQ(tarn_malloc_usable_size(p), 400u);
  EXPECT_EQ(Unalloc::reallocate(p, 400), p);
  p = Unalloc::reallocate(p, 401);
  EXPECT_EQ(tarn_malloc_usable_size(p), 512u);
  EXPECT_TRUE(Unalloc::heap().owns(p));
  EXPECT_STREQ(Unalloc::heap().name(), "unalloc");
  EXPECT_EQ(Unalloc::heap().stats().live_blocks, 1u);
  EXPECT_EQ(Unalloc::reallocate(p, 0), nullptr);
  EXPECT_EQ(Unalloc::heap().stats().live_blocks, 0u);
}

TEST(UnallocFace, ABlockOfASecretHeapIsNotCutInPlace) {
  tarn::HeapOptions options;
  options.secret = true;
  tarn::Heap secret = tarn::Heap::try_make(options);
  const bool may_lock = static_cast<bool>(secret);
  if (!may_lock) secret = tarn::Heap("without the right to lock memory");
  auto* const p = static_cast<char*>(secret.allocate(5000));
  for (int i = 0; i < 5000; ++i) p[i] = 's';
  auto* const cut = static_cast<char*>(Unalloc::reallocate(p, 100));
  EXPECT_EQ(cut != p, may_lock);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(cut[i], 's');
  EXPECT_EQ(Unalloc::heap().owns(cut), may_lock);
  Unalloc::deallocate(cut);
}

TEST(UnallocFace, OutOfMemoryThrowsOrIsNull) {
  volatile std::size_t too_much = SIZE_MAX / 2;
  void* p = nullptr;
  EXPECT_THROW(p = Unalloc::allocate(too_much + 5), std::bad_alloc);
  EXPECT_THROW(p = Unalloc::allocate_zeroed(too_much, 3), std::bad_alloc);
  EXPECT_EQ(Unalloc::try_allocate(too_much + 5), nullptr);
  EXPECT_EQ(Unalloc::try_allocate_zeroed(too_much, 3), nullptr);
  EXPECT_EQ(p, nullptr);
  p = Unalloc::allocate_zeroed(10, 10);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(static_cast<char*>(p)[i], 0);
  EXPECT_EQ(Unalloc::try_reallocate(p, too_much + 5), nullptr);
  EXPECT_THROW(static_cast<void>(Unalloc::reallocate(p, too_much + 5)), std::bad_alloc);
  Unalloc::deallocate(p);
  Unalloc::deallocate(nullptr);
}

}  // namespace
