// What the process says of itself: walking all pages gives what the program did.
//
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <deque>
#include <map>
#include <memory>
#include <random>

#include "actor.hpp"
#include "tarn/tarn.h"

namespace tarn {
namespace {

std::unique_ptr<tarn_account> account_now() {
  auto account = std::make_unique<tarn_account>();
  EXPECT_EQ(tarn_process_account(account.get(), sizeof(tarn_account)), 0);
  return account;
}

TEST(Account, RefusesASmallerStructure) {
  tarn_account account;
  errno = 0;
  EXPECT_EQ(tarn_process_account(&account, sizeof account - 1), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(tarn_process_account(nullptr, sizeof account), -1);
}

TEST(Account, SaysWhoItIsOf) {
  const auto account = account_now();
  EXPECT_EQ(account->magic, TARN_ACCOUNT_MAGIC);
  EXPECT_EQ(account->bytes, sizeof(tarn_account));
  EXPECT_STREQ(account->program, "unit_malloc_process");
  EXPECT_EQ(account->class_count, class_count);
  for (std::size_t c = 0; c < class_count; ++c) {
    EXPECT_EQ(account->classes[c].block_bytes, class_block_bytes[c]);
  }
}

TEST(Account, LiveBlocksAreExactWhoeverFreesThem) {
  std::map<std::size_t, std::uint64_t> live;  // By the size of the block.
  std::vector<void*> blocks;
  std::mt19937 random(3);
  {
    std::deque<Actor> actors(3);
    for (int i = 0; i < 20000; ++i) {
      Actor& actor = actors[random() % 3];
      if (random() % 5 < 3) {
        const std::size_t bytes = random() % (random() % 8 == 0 ? 40000 : 600) + 1;
        blocks.push_back(actor.allocate(bytes));
        ++live[tarn_malloc_usable_size(blocks.back())];
      } else if (!blocks.empty()) {
        std::swap(blocks[random() % blocks.size()], blocks.back());
        --live[tarn_malloc_usable_size(blocks.back())];
        actor.free(blocks.back());
        blocks.pop_back();
      }
      if (i % 2000 != 0) continue;
      const auto account = account_now();
      std::uint64_t bytes = 0;
      std::uint64_t live_blocks = account->large_live_blocks;
      for (std::size_t c = 1; c < class_count; ++c) {
        const tarn_account_class& row = account->classes[c];
        ASSERT_EQ(row.live_blocks, live[row.block_bytes]) << row.block_bytes;
        ASSERT_GE(row.allocations, row.live_blocks);
        bytes += row.live_blocks * row.block_bytes;
        live_blocks += row.live_blocks;
      }
      ASSERT_EQ(account->live_bytes, bytes);
      ASSERT_EQ(account->live_blocks, live_blocks);
      ASSERT_GE(account->live_bytes_peak, account->live_bytes);
      ASSERT_GE(account->committed_bytes, bytes);
      ASSERT_GE(account->reserved_bytes, account->committed_bytes);
    }
  }
  for (void* block : blocks) tarn_free(block);
  trim(0);
  EXPECT_EQ(account_now()->live_bytes, 0u);
}

TEST(Account, FreeBlocksAreThoseBetweenLiveOnes) {
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(tarn_malloc(2000));
  const std::uint64_t before = account_now()->free_blocks;
  for (std::size_t i = 0; i < blocks.size(); i += 4) tarn_free(blocks[i]);
  EXPECT_EQ(account_now()->free_blocks, before + 250);
  for (std::size_t i = 0; i < blocks.size(); i += 4) blocks[i] = tarn_malloc(2000);
  EXPECT_EQ(account_now()->free_blocks, before);
  for (void* block : blocks) tarn_free(block);
}

TEST(Account, LargeBlocks) {
  const auto before = account_now();
  void* const p = tarn_malloc(1 << 20);
  void* const q = tarn_aligned_alloc(1 << 20, 10);
  auto account = account_now();
  EXPECT_EQ(account->large_live_blocks, before->large_live_blocks + 2);
  EXPECT_EQ(account->large_live_bytes, before->large_live_bytes + (1 << 20) + 4096);
  EXPECT_EQ(account->large_allocations, before->large_allocations + 2);
  EXPECT_EQ(account->live_bytes, before->live_bytes + (1 << 20) + 4096);
  void* const moved = tarn_realloc(p, 4 << 20);
  account = account_now();
  EXPECT_EQ(account->large_live_blocks, before->large_live_blocks + 2);
  EXPECT_EQ(account->large_live_bytes, before->large_live_bytes + (4 << 20) + 4096);
  tarn_free(moved);
  tarn_free(q);
  account = account_now();
  EXPECT_EQ(account->large_live_blocks, before->large_live_blocks);
  EXPECT_EQ(account->large_live_bytes, before->large_live_bytes);
  EXPECT_GE(account->large_live_bytes_peak, std::uint64_t{4} << 20);
}

TEST(Account, AllocationsOfTheCallingThreadAreExact) {
  const std::size_t c = class_of(272);
  const std::uint64_t before = account_now()->classes[c].allocations;
  std::vector<void*> blocks;
  for (std::uint64_t n = 1; n <= 300; ++n) {
    blocks.push_back(tarn_malloc(272));
    ASSERT_EQ(account_now()->classes[c].allocations, before + n);
    if (n % 3 == 0) {
      tarn_free(blocks.back());
      blocks.pop_back();
    }
  }
  for (void* block : blocks) tarn_free(block);
  EXPECT_EQ(account_now()->classes[c].allocations, before + 300);
}

}  // namespace
}  // namespace tarn
