// check: damage to what pools and fixed allocators know of their blocks, which tarn_pool_check and
// tarn_fixed_allocator_check must find, wherever it is.
//
// SPDX-License-Identifier: MIT
#include "kinds/pools/check.hpp"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "damage.hpp"
#include "kinds/pools/chunk.hpp"
#include "tarn/pool/fixed_allocator.h"

namespace tarn {
namespace {

void* next_of(const void* block) {
  void* next = nullptr;
  std::memcpy(&next, block, sizeof next);
  return next;
}
void link(void* block, const void* next) { std::memcpy(block, &next, sizeof next); }

// A pool of eight blocks a chunk: two full chunks, one with free and fresh blocks, and one that is
// empty, with blocks at hand.
class DamagedPool : public DamageTest {
 protected:
  DamagedPool() {
    tarn_pool_options options = TARN_POOL_OPTIONS();
    options.block_bytes = 64;
    options.chunk_blocks = 8;
    options.chunk_bytes_max = 0;
    EXPECT_EQ(tarn_pool_init(&pool_, &options), 0);
    for (std::size_t i = 0; i < 100; ++i) blocks_.push_back(tarn_pool_allocate(&pool_));
    for (std::size_t i = 99; i >= 30; --i) tarn_pool_deallocate(&pool_, blocks_[i]);
    EXPECT_TRUE(check());
  }
  ~DamagedPool() override {
    EXPECT_TRUE(check());
    tarn_pool_destroy(&pool_);
  }
  void SetUp() override {
    if (is_checked(pool_)) GTEST_SKIP() << "a tool watches: every pool is checked";
  }
  bool check() const override { return check_pool(pool_); }

  tarn_pool pool_{};
  std::vector<void*> blocks_;
};

TEST_F(DamagedPool, InItsLists) {
  tarn_pool_chunk* const full = pool_.full.head;
  ASSERT_TRUE(full != nullptr && full->next != nullptr);
  expect_found(pool_.full.tail, full, "the last one is another");
  expect_found(full->next->prev, nullptr, "no way back");
  ASSERT_NE(pool_.open.head, nullptr);
  expect_found(pool_.open.tail, nullptr, "no last one");
  expect_found(pool_.open.head->prev, full, "one before the first");
}

TEST_F(DamagedPool, InItsCounts) {
  expect_found(pool_.taken, pool_.taken + 1, "blocks");
  expect_found(pool_.taken, 0, "more at hand than taken");
  expect_found(pool_.held_bytes, pool_.held_bytes + 1, "bytes");
  expect_found(pool_.acquired, pool_.acquired + 1, "chunks");
  expect_found(pool_.chunks_peak, 0, "the most chunks");
  expect_found(pool_.reserved.bytes, 1, "the reserve's bytes");
  expect_found(pool_.reserved.data, &pool_, "the reserve is a chunk");
  expect_found(pool_.cached, pool_cache + 1, "more than there is room for");
  tarn_pool_chunk elsewhere = *pool_.full.head;
  expect_found(pool_.spare, &elsewhere, "an empty chunk that is no chunk of it");
}

TEST_F(DamagedPool, InItsBlocksAtHand) {
  ASSERT_NE(pool_.cached, 0u);
  void*& last = pool_.cache[pool_.cached - 1];
  expect_found(last, &pool_, "in no chunk");
  expect_found(last, static_cast<char*>(last) + 8, "no start of a block");
}

TEST_F(DamagedPool, InItsFreshBlocks) {
  std::vector<void*> more;
  while (pool_.fresh == pool_.fresh_end && more.size() < 1'000) {
    more.push_back(tarn_pool_allocate(&pool_));
  }
  ASSERT_TRUE(check() && pool_.current != nullptr);
  expect_found(pool_.current, nullptr, "of no chunk");
  expect_found(pool_.fresh, pool_.current->first - pool_.stride, "in front of the chunk's blocks");
  expect_found(pool_.current->fresh, pool_.current->end - pool_.stride, "two have them");
  // What it is to end at, and how many there are, go by the same address.
  expect_found(pool_.fresh_end, pool_.fresh_end - pool_.stride, "no end of a chunk");
  for (void* const p : more) tarn_pool_deallocate(&pool_, p);
}

TEST_F(DamagedPool, InAFullChunk) {
  tarn_pool_chunk& chunk = *pool_.full.head;
  tarn_pool other{};
  other.stride = pool_.stride;
  expect_found(chunk.pool, &other, "of another pool");
  expect_found(chunk.is_full, 0, "said to be open");
  expect_found(chunk.live, -1, "less than none");
  expect_found(chunk.live, chunk.live - 1, "one less");
  expect_found(chunk.live, chunk.live + 1, "one more");
  expect_found(chunk.first, reinterpret_cast<char*>(&chunk), "blocks over the head");
  expect_found(chunk.first, chunk.first + 8, "blocks that are not aligned");
  expect_found(chunk.fresh, chunk.first - 64, "carved less than nothing");
  expect_found(chunk.fresh, chunk.end + 64, "carved beyond the end");
  expect_found(chunk.end, chunk.end + chunk.bytes, "blocks behind the chunk");
  expect_found(chunk.bytes, chunk.bytes - 64, "other bytes than the source gave");
}

TEST_F(DamagedPool, InAListOfFreeBlocks) {
  tarn_pool_chunk* chunk = pool_.open.head;
  while (chunk != nullptr && (chunk->free == nullptr || next_of(chunk->free) == nullptr)) {
    chunk = chunk->next;
  }
  ASSERT_NE(chunk, nullptr) << "what the cache has no room for";
  void* const block = chunk->free;
  expect_found(chunk->free, nullptr, "all lost");
  expect_found(chunk->free, next_of(block), "one lost");
  expect_found(chunk->free, chunk->first - 64, "in front of the blocks");
  expect_found(chunk->free, chunk->fresh, "behind the blocks that were taken");
  expect_found(chunk->free, static_cast<char*>(block) + 8, "no start of a block");
  void* const next = next_of(block);
  link(block, block);
  EXPECT_FALSE(check()) << "a circle";
  link(block, next);
}

class DamagedFixed : public DamageTest, public testing::WithParamInterface<bool> {
 protected:
  DamagedFixed() {
    tarn_fixed_allocator_options options = TARN_FIXED_ALLOCATOR_OPTIONS();
    options.block_bytes = 48;
    options.flags = TARN_FIXED_RECYCLE;
    if (is_pool()) {
      options.memory = memory_;
      options.memory_bytes = sizeof memory_;
    }
    EXPECT_EQ(tarn_fixed_allocator_init(&own_, &options), 0);
    for (void*& p : blocks_) p = tarn_fixed_allocator_allocate(&own_);
    for (std::size_t i = 0; i < 4; ++i) tarn_fixed_allocator_deallocate(&own_, blocks_[i]);
    EXPECT_TRUE(check());
  }
  ~DamagedFixed() override {
    for (std::size_t i = 4; i < 10; ++i) tarn_fixed_allocator_deallocate(&own_, blocks_[i]);
    EXPECT_TRUE(check());
    tarn_fixed_allocator_destroy(&own_);
  }
  static bool is_pool() { return GetParam(); }
  bool check() const override { return tarn_fixed_allocator_check(&own_) != 0; }

  alignas(16) char memory_[2000];
  tarn_fixed_allocator own_{};
  void* blocks_[10];
};
INSTANTIATE_TEST_SUITE_P(Places, DamagedFixed, testing::Bool());

TEST_P(DamagedFixed, InItsCounts) {
  expect_found(own_.live, own_.live + 1, "more live than were handed out");
  expect_found(own_.allocations, own_.allocations + 1, "one more was handed out");
  expect_found(own_.held, own_.held + 1, "one more block than there is");
  expect_found(own_.held, 2, "fewer blocks than are free");
  expect_found(own_.live_peak, 0, "fewer at a time than now");
}

TEST_P(DamagedFixed, InItsFreeBlocks) {
  void* const block = own_.free;
  expect_found(own_.free, next_of(block), "one lost");
  void* const next = next_of(block);
  link(block, block);
  EXPECT_FALSE(check()) << "a circle";
  link(block, next);
  if (!is_pool()) return;
  expect_found(own_.free, own_.begin - 48, "in front of the blocks");
  expect_found(own_.free, own_.fresh, "behind those that were handed out");
  expect_found(own_.free, static_cast<char*>(block) + 8, "no start of a block");
  ASSERT_NE(own_.live_bits, nullptr);
  *own_.live_bits ^= 1;  // Of blocks_[0], which is free.
  EXPECT_FALSE(check()) << "live and free";
  *own_.live_bits ^= 1;
}

}  // namespace
}  // namespace tarn
