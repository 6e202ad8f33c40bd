// The C++ face: a reclaimer and purgeables that end with their scopes.
//
// SPDX-License-Identifier: MIT
#include <numeric>

#include "recover.hpp"

namespace recovering {
namespace {

using Numbers = tarn::Purgeable<int>;
using Lock = Numbers::Lock;

void count_up(int* to, std::size_t count) { std::iota(to, to + count, 0); }

TEST(PurgeableObjects, AreLockedOrFilled) {
  Numbers numbers(1'000);
  EXPECT_EQ(numbers.size(), 1'000u);
  EXPECT_FALSE(numbers.lock());
  int fills = 0;
  const auto fill = [&](int* to, std::size_t count) {
    ++fills;
    count_up(to, count);
  };
  {
    const Lock lock = numbers.lock_or_fill(fill);
    ASSERT_TRUE(lock);
    EXPECT_EQ(lock.size(), 1'000u);
    EXPECT_EQ(lock[999], 999);
    EXPECT_EQ(*lock, 0);
    EXPECT_EQ(std::accumulate(lock.begin(), lock.end(), 0), 999 * 500);
    const Lock second = numbers.lock_or_fill(fill);
    EXPECT_EQ(second.data(), lock.data());
    EXPECT_EQ(tarn::recover(SIZE_MAX, tarn::Recover::purgeables), 0u);
    EXPECT_FALSE(numbers.discard());
  }
  EXPECT_EQ(fills, 1);
  EXPECT_GE(tarn::recover(1, tarn::Recover::reclaim | tarn::Recover::purgeables), 4'000u);
  EXPECT_FALSE(numbers.lock());
  EXPECT_TRUE(numbers.lock_or_fill(fill));
  EXPECT_EQ(fills, 2);
  EXPECT_TRUE(numbers.discard());
  EXPECT_FALSE(numbers.lock());
}

TEST(PurgeableObjects, LocksMove) {
  Numbers numbers;
  Lock a = numbers.lock_or_fill(count_up);
  Lock b = std::move(a);
  EXPECT_FALSE(a);
  ASSERT_TRUE(b);
  a = numbers.lock();
  a = std::move(b);
  ASSERT_TRUE(a);
  EXPECT_FALSE(numbers.discard());
  a.unlock();
  EXPECT_FALSE(a);
  EXPECT_EQ(a.size(), 0u);
  EXPECT_TRUE(numbers.discard());
}

TEST(PurgeableObjects, AreSeenWhenTheyAreFilled) {
  Numbers numbers(10);
  {
    Numbers::Filling filling = numbers.refill();
    ASSERT_TRUE(filling);
    errno = 0;
    EXPECT_FALSE(numbers.lock());
    EXPECT_EQ(errno, EBUSY);
  }
  errno = 0;
  EXPECT_FALSE(numbers.lock()) << "it was not unlocked";
  EXPECT_EQ(errno, 0);
  {
    Numbers::Filling filling = numbers.refill();
    count_up(filling.data(), filling.size());
    filling.unlock();
  }
  errno = 0;
  EXPECT_FALSE(numbers.refill());
  EXPECT_EQ(errno, EEXIST);
  EXPECT_EQ(numbers.lock()[9], 9);
}

TEST(PurgeableObjects, WhatFillingThrowsIsThrown) {
  Numbers numbers(10);
  const auto fails = [](int*, std::size_t) { throw 7; };
  EXPECT_THROW((void)numbers.lock_or_fill(fails), int);
  EXPECT_FALSE(numbers.lock());
  EXPECT_TRUE(numbers.lock_or_fill(count_up));
}

TEST(PurgeableObjects, RefuseNumbersThatMakeNoSense) {
  EXPECT_THROW(Numbers(0), tarn::InvalidOptions);
  EXPECT_THROW(Numbers(SIZE_MAX / 2), tarn::InvalidOptions);
  const Heap heap(options(64 * kib));
  Numbers large(mib, heap);
  errno = 0;
  EXPECT_FALSE(large.lock_or_fill(count_up));
  EXPECT_EQ(errno, ENOMEM);
}

// "Under a ceiling, a cache with a reclaim callback shrinks and the allocation succeeds; purgeable
// blocks vanish and say so."
TEST(RecoverObjects, UnderACeilingACacheShrinksAndImagesVanish) {
  const Heap heap(options(8 * mib));
  std::vector<void*> index;
  tarn::ReclaimerOptions bound;
  bound.heap = heap;
  bound.name = "index";
  {
    tarn::Reclaimer shrinks(
        [&](std::size_t wanted) {
          std::size_t given = 0;
          for (; given < wanted && !index.empty(); index.pop_back()) {
            given += tarn_malloc_usable_size(index.back());
            tarn_free(index.back());
          }
          return given;
        },
        bound);
    for (int i = 0; i < 1'000; ++i) index.push_back(tarn_heap_allocate(heap, 4'000));
    std::vector<std::unique_ptr<tarn::Purgeable<unsigned char>>> images;
    for (int i = 0; i < 10; ++i) {
      images.push_back(std::make_unique<tarn::Purgeable<unsigned char>>(mib, heap));
      const auto image = images.back()->lock_or_fill(
          [i](unsigned char* to, std::size_t n) { std::memset(to, i, n); });
      ASSERT_TRUE(image) << i;
      EXPECT_EQ(image[mib - 1], i);
    }
    EXPECT_LT(index.size(), 1'000u) << "owners are asked first";
    int there = 0;
    for (auto& image : images) there += static_cast<bool>(image->lock());
    EXPECT_GT(there, 0);
    EXPECT_LT(there, 10);
    EXPECT_LE(committed(heap), 8 * mib);
    EXPECT_GE(shrinks.stats().given_bytes, mib);
  }
  for (void* const p : index) tarn_free(p);
}

}  // namespace
}  // namespace recovering
