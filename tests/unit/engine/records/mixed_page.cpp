// The mixed page against a map with a byte for each grain: random operations, and after each of
// them every question is asked.
//
// SPDX-License-Identifier: MIT
#include "engine/records/mixed_page.hpp"

#include <array>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tarn {

struct MixedPageAccess {
  static std::uint64_t& used(MixedPage& mixed) { return mixed.used_[0]; }
  static std::uint64_t& first(MixedPage& mixed) { return mixed.first_[0]; }
};

namespace {

constexpr std::size_t grain = block_align;
constexpr std::size_t grains = MixedPage::grains;

// 0: free; 1: where a block begins; 2: the rest of it.
class Map {
 public:
  static std::size_t length(std::size_t bytes) { return bytes == 0 ? 1 : (bytes + 15) / 16; }

  std::size_t take(std::size_t bytes, std::size_t alignment) {
    const std::size_t step = alignment <= grain ? 1 : alignment / grain;
    for (std::size_t at = 0; at + length(bytes) <= grains; at += step) {
      if (!is_free(at, at + length(bytes))) continue;
      write(at, length(bytes));
      return at * grain;
    }
    return MixedPage::none;
  }
  std::size_t size_at(std::size_t offset) const {
    const std::size_t at = offset / grain;
    if (offset % grain != 0 || at >= grains || map_[at] != 1) return 0;
    std::size_t end = at + 1;
    while (end < grains && map_[end] == 2) ++end;
    return (end - at) * grain;
  }
  void give(std::size_t offset) {
    const std::size_t count = size_at(offset) / grain;
    for (std::size_t i = 0; i < count; ++i) map_[offset / grain + i] = 0;
  }
  bool resize(std::size_t offset, std::size_t bytes) {
    const std::size_t at = offset / grain;
    const std::size_t now = size_at(offset) / grain;
    const std::size_t wanted = length(bytes);
    if (at + wanted > grains || (wanted > now && !is_free(at + now, at + wanted))) return false;
    give(offset);
    write(at, wanted);
    return true;
  }
  std::size_t next_block(std::size_t offset) const {
    for (std::size_t at = (offset + grain - 1) / grain; at < grains; ++at) {
      if (map_[at] == 1) return at * grain;
    }
    return MixedPage::none;
  }
  std::uint64_t count(bool starts_alone) const {
    std::uint64_t n = 0;
    for (const unsigned char c : map_) n += starts_alone ? c == 1 : c != 0;
    return n;
  }

 private:
  bool is_free(std::size_t from, std::size_t to) const {
    for (std::size_t i = from; i < to; ++i) {
      if (map_[i] != 0) return false;
    }
    return true;
  }
  void write(std::size_t at, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) map_[at + i] = i == 0 ? 1 : 2;
  }
  std::array<unsigned char, grains> map_{};
};

class MixedPageTest : public testing::Test {
 protected:
  void expect_same() {
    ASSERT_EQ(mixed_.live_blocks(), map_.count(true));
    ASSERT_EQ(mixed_.live_bytes(), map_.count(false) * grain);
    ASSERT_EQ(mixed_.empty(), map_.count(true) == 0);
    for (std::size_t offset = 0; offset <= grains * grain + 8; offset += 8) {
      ASSERT_EQ(mixed_.size_at(offset), map_.size_at(offset)) << offset;
      ASSERT_EQ(mixed_.next_block(offset), map_.next_block(offset)) << offset;
    }
  }
  std::size_t take(std::size_t bytes, std::size_t alignment = grain) {
    const std::size_t offset = mixed_.take(bytes, alignment);
    EXPECT_EQ(offset, map_.take(bytes, alignment)) << bytes << ' ' << alignment;
    return offset;
  }
  void give(std::size_t offset) {
    mixed_.give(offset);
    map_.give(offset);
  }
  MixedPage mixed_;
  Map map_;
};

TEST_F(MixedPageTest, BeginsEmpty) {
  expect_same();
  EXPECT_EQ(mixed_.next_block(0), MixedPage::none);
  EXPECT_EQ(mixed_.page, nullptr);
}

TEST_F(MixedPageTest, BlocksOfNoBytesHaveOneGrain) {
  EXPECT_EQ(take(0), 0u);
  EXPECT_EQ(take(0), grain);
  EXPECT_EQ(mixed_.size_at(0), grain);
  EXPECT_EQ(mixed_.size_at(1), 0u);
  expect_same();
}

TEST_F(MixedPageTest, FullToTheLastGrain) {
  for (std::size_t i = 0; i < grains; ++i) ASSERT_EQ(take(16), i * grain);
  EXPECT_EQ(take(0), MixedPage::none);
  EXPECT_EQ(mixed_.allocations, grains);
  expect_same();
  // A hole at the end, one at a seam of the words, one in the middle.
  for (const std::size_t at : {grains - 1, std::size_t{64}, std::size_t{63}, std::size_t{200}}) {
    give(at * grain);
  }
  expect_same();
  EXPECT_EQ(take(32), 63 * grain);
  EXPECT_EQ(take(32), MixedPage::none);
  EXPECT_EQ(take(16), 200 * grain);
  EXPECT_EQ(take(16), (grains - 1) * grain);
  expect_same();
}

TEST_F(MixedPageTest, NeighboursAreToldApart) {
  EXPECT_EQ(take(100), 0u);
  EXPECT_EQ(take(100), 7 * grain);
  EXPECT_EQ(mixed_.size_at(0), 7 * grain);
  give(7 * grain);
  EXPECT_EQ(mixed_.size_at(0), 7 * grain);
  EXPECT_EQ(mixed_.size_at(7 * grain), 0u);
  expect_same();
}

TEST_F(MixedPageTest, AlignmentsUpToASlice) {
  for (std::size_t alignment = 1; alignment <= slice_bytes; alignment *= 2) {
    take(1);
    const std::size_t offset = take(24, alignment);
    ASSERT_NE(offset, MixedPage::none);
    EXPECT_EQ(offset % alignment, 0u);
    if (alignment >= 1024) give(offset);
  }
  expect_same();
}

TEST_F(MixedPageTest, ResizeStopsAtNeighboursAndTheEnd) {
  take(16);
  const std::size_t second = take(16);
  EXPECT_FALSE(mixed_.resize(0, 17));
  EXPECT_TRUE(mixed_.resize(second, 1024));
  EXPECT_TRUE(map_.resize(second, 1024));
  expect_same();
  EXPECT_TRUE(mixed_.resize(second, 0));
  EXPECT_TRUE(map_.resize(second, 0));
  expect_same();
  for (std::size_t i = 2; i < grains; ++i) take(16);
  give((grains - 1) * grain);
  EXPECT_FALSE(mixed_.resize((grains - 2) * grain, 33));
  EXPECT_TRUE(mixed_.resize((grains - 2) * grain, 32));
  EXPECT_TRUE(map_.resize((grains - 2) * grain, 32));
  expect_same();
}

TEST_F(MixedPageTest, ClearForgetsAll) {
  for (int i = 0; i < 20; ++i) take(100);
  mixed_.slices_charged = 1;
  mixed_.clear();
  map_ = {};
  expect_same();
  EXPECT_EQ(mixed_.allocations, 0u);
  EXPECT_EQ(mixed_.slices_charged, 0u);
  EXPECT_EQ(take(100), 0u);
}

// Of the blocks that there are, each as likely.
std::size_t some_block(const Map& map, std::mt19937& random) {
  std::vector<std::size_t> all;
  for (std::size_t at = map.next_block(0); at != MixedPage::none; at = map.next_block(at + 1)) {
    all.push_back(at);
  }
  return all.empty() ? MixedPage::none : all[random() % all.size()];
}

TEST_F(MixedPageTest, AsTheMapHasIt) {
  std::mt19937 random(11);
  std::uint32_t taken = 0;
  std::uint32_t refused = 0;
  for (int step = 0; step < 6'000; ++step) {
    // Phases in which it fills up, and in which it empties.
    const bool filling = step / 500 % 2 == 0;
    const std::size_t bytes = random() % (random() % 4 == 0 ? MixedPage::bytes_max + 1 : 100);
    const std::size_t block = some_block(map_, random);
    const unsigned dice = static_cast<unsigned>(random() % 10);
    if (block != MixedPage::none && dice < 2) {
      ASSERT_EQ(mixed_.resize(block, bytes), map_.resize(block, bytes)) << block << ' ' << bytes;
    } else if (block != MixedPage::none && (filling ? dice < 4 : dice < 8)) {
      give(block);
    } else {
      const std::size_t alignment = std::size_t{1} << (random() % 3 == 0 ? random() % 13 : 4);
      const std::size_t offset = take(bytes, alignment);
      ++(offset == MixedPage::none ? refused : taken);
    }
    expect_same();
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(mixed_.allocations, taken);
  EXPECT_GT(refused, 0u);
}

TEST(MixedPageClasses, LeaveByNumberOrByBytes) {
  MixedPage mixed;
  for (std::size_t i = 1; i <= MixedPage::class_allocations_max; ++i) {
    EXPECT_FALSE(mixed.has_left(3));
    mixed.count(3, 48);
  }
  EXPECT_TRUE(mixed.has_left(3));
  EXPECT_FALSE(mixed.has_left(4));
  for (std::size_t i = 1; i <= MixedPage::class_bytes_max / 1024; ++i) {
    EXPECT_FALSE(mixed.has_left(64));
    mixed.count(64, 1024);
  }
  EXPECT_TRUE(mixed.has_left(64));
  mixed.leave(bin_count - 1);
  EXPECT_TRUE(mixed.has_left(bin_count - 1));
  EXPECT_FALSE(mixed.has_left(bin_count - 2));
  mixed.clear();
  EXPECT_FALSE(mixed.has_left(3) || mixed.has_left(64) || mixed.has_left(bin_count - 1));
}

#ifdef TARN_DEBUG
TEST(MixedPageCheck, FindsBytesOfNoBlockAndBlocksOfNoBytes) {
  MixedPage mixed;
  EXPECT_TRUE(mixed.check());
  ASSERT_EQ(mixed.take(40, 16), 0u);
  ASSERT_EQ(mixed.take(16, 16), 48u);
  EXPECT_TRUE(mixed.check());
  MixedPageAccess::used(mixed) |= 1u << 10;
  EXPECT_FALSE(mixed.check()) << "of no block";
  MixedPageAccess::used(mixed) &= ~(std::uint64_t{1} << 10);
  MixedPageAccess::first(mixed) |= 1u << 20;
  EXPECT_FALSE(mixed.check()) << "of no bytes";
  MixedPageAccess::first(mixed) &= ~(std::uint64_t{1} << 20);
  EXPECT_TRUE(mixed.check());
  mixed.slices_charged = MixedPage::slices + 1;
  EXPECT_FALSE(mixed.check());
}
#endif

}  // namespace
}  // namespace tarn
