// Seals: each says what was written, of its own block and no other; and blocks that a page makes
// for a hardened heap are as freed ones are, each of them once, in an order of no pattern.
//
// SPDX-License-Identifier: MIT
#include "engine/pages/seal.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "engine/layout/page_plan.hpp"
#include "platform/base/fill.hpp"

namespace tarn {
namespace {

class SealTest : public testing::Test {
 protected:
  SealTest() {
    if (seal_secrets.factor == 0) seal_secrets = {0x1234567890abcdef, 0xfedcba0987654321};
  }
};

TEST_F(SealTest, SaysWhatWasWritten) {
  alignas(16) std::byte block[64];
  std::byte* const place = block + 56;
  for (const std::uint32_t unused : {0u, 1u, 7u, 40u, (1u << 24) - 1}) {
    for (const std::uint8_t origin : std::vector<std::uint8_t>{0, 1, 5, 127}) {
      seal_write(place, block, SealWord::live(origin, unused));
      const SealWord live = seal_read(place, block);
      EXPECT_TRUE(live.is_whole() && live.is_live() && !live.is_free());
      EXPECT_EQ(live.unused(), unused);
      EXPECT_EQ(live.origin(), origin);
      seal_write(place, block, live.as_free());
      const SealWord free = seal_read(place, block);
      EXPECT_TRUE(free.is_whole() && free.is_free() && !free.is_live());
      EXPECT_EQ(free.unused(), unused);
      EXPECT_EQ(free.origin(), origin);
    }
  }
}

// Also of a block whose address differs in one bit, and in each byte of a seal.
TEST_F(SealTest, AnotherBlocksSealIsBroken) {
  std::byte seal[8];
  const auto* const p = reinterpret_cast<const void*>(std::uintptr_t{0x7f0012345670});
  seal_write(seal, p, SealWord::live(1, 8));
  EXPECT_TRUE(seal_read(seal, p).is_live());
  for (unsigned bit = 4; bit < 48; ++bit) {
    const auto* const q = reinterpret_cast<const void*>(address_of(p) ^ std::uintptr_t{1} << bit);
    EXPECT_FALSE(seal_read(seal, q).is_whole()) << "bit " << bit;
  }
  std::byte changed[8];
  for (const std::size_t i : {std::size_t{0}, std::size_t{5}, std::size_t{6}, std::size_t{7}}) {
    std::memcpy(changed, seal, sizeof changed);
    changed[i] ^= std::byte{1};
    EXPECT_FALSE(seal_read(changed, p).is_whole());
  }
  const std::byte zeros[8]{};
  EXPECT_FALSE(seal_read(zeros, p).is_whole());
}

TEST_F(SealTest, TheTailIsTheLastOfWhatWasAskedForBehindTheWatchedBytesOnTheSealsPage) {
  alignas(slice_bytes) static std::byte block[2 * slice_bytes];
  Page page;
  page.block_bytes = slice_bytes;
  const auto ends = [&](std::uint32_t bytes) {
    const SealTail tail = seal_tail(page, block, page.block_bytes - 8 - bytes);
    return std::pair(tail.begin - block, tail.end - block);
  };
  EXPECT_EQ(ends(4088), std::pair(4024l, 4088l));
  EXPECT_EQ(ends(3000), std::pair(2936l, 3000l));
  EXPECT_EQ(ends(2993), std::pair(2936l, 3000l)) << "no word in part";
  EXPECT_EQ(ends(1030), std::pair(1024l, 1032l)) << "the others are watched";
  for (const std::uint32_t bytes : {1024u, 500u, 0u}) {
    EXPECT_EQ(ends(bytes), std::pair(1024l, 1024l)) << bytes;
  }
  page.block_bytes = 2 * slice_bytes;
  EXPECT_EQ(ends(8000), std::pair(7936l, 8000l));
  EXPECT_EQ(ends(4100), std::pair(4096l, 4104l));
  EXPECT_EQ(ends(4000), std::pair(4096l, 4096l)) << "of another page nothing";
}

class PageSealTest : public SealTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(PageSealTest, ItsBlocksAreAsFreed) {
  const std::size_t size_class = class_of(GetParam());
  Page* const page = page_take(size_class, page_slices(size_class, 0));
  ASSERT_NE(page, nullptr);
  std::memset(page->base, 0x55, page->bytes());  // As the memory of a page that was used before.
  page->zeroed = false;
  std::set<const std::byte*> seen;
  std::size_t steps = 0;  // From a block to the one behind it.
  while (page->carved != page->capacity) {
    const std::uint32_t made = page_seal(*page, page_carve(page));
    EXPECT_EQ(page_untaken(page), made);
    const std::byte* before = nullptr;
    for (; page->free != nullptr; page->free = page->free->next) {
      auto* const p = reinterpret_cast<std::byte*>(static_cast<Block*>(page->free));
      ASSERT_TRUE(page->is_block(p) && seen.insert(p).second);
      ASSERT_TRUE(seal_read(seal_place(*page, p), p).is_free());
      const std::byte* const head_end = seal_head_end(*page, p);
      EXPECT_EQ(first_changed<std::byte>(p + sizeof(Block), head_end, freed_byte), nullptr);
      EXPECT_EQ(first_changed<std::byte>(head_end, seal_watched_end(*page, p), 0), nullptr);
      const SealTail tail = seal_tail(*page, p, 0);
      EXPECT_EQ(first_changed(tail.begin, tail.end, 0), nullptr);
      steps += before != nullptr && p == before + page->block_bytes;
      before = p;
    }
  }
  EXPECT_EQ(page->reserved, page->capacity >= seal_reserving_capacity ? 1u : 0u);
  EXPECT_EQ(seen.size(), page->capacity - page->reserved);
  EXPECT_EQ(seen.count(page->base), 1u - page->reserved);
  EXPECT_TRUE(seal_read(seal_place(*page, page->base), page->base).is_free());
  if (page->capacity > 100) {
    EXPECT_LT(steps, page->capacity / 4);
  }
  page->countdown = 0;
  page->kept = 0;
  page->remote.store(Remote::empty(RemoteState::dead).word);
  page_give(page);
}
INSTANTIATE_TEST_SUITE_P(Sizes, PageSealTest,
                         testing::Values(std::size_t{8}, std::size_t{16}, std::size_t{48},
                                         std::size_t{1000}, std::size_t{3000},
                                         std::size_t{60'000}));

}  // namespace
}  // namespace tarn
