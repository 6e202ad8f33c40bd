// The bound of a TLSF heap's region: one of worst_case_bytes never fails, whatever comes and goes;
// and an adversary shows that the bound is not far from what there is to fear.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <random>
#include <vector>

#include "tarn/heap/tlsf.hpp"

namespace {

using tarn::TlsfHeap;

constexpr std::size_t word = sizeof(std::size_t);
static_assert(TlsfHeap::room_bytes(0) == 6 * word);
static_assert(TlsfHeap::worst_case_bytes(SIZE_MAX, 100) == SIZE_MAX);
static_assert(TlsfHeap::worst_case_bytes(1000, SIZE_MAX) == SIZE_MAX);
// 64 smallest blocks; no list of this size holds another, so there is no rounding to one.
static_assert(TlsfHeap::worst_case_bytes(64 * 6 * word, 25 * word) ==
              63 * 6 * word + 64 * 24 * word + 2 * word + 6 * word);
static_assert(TlsfHeap::worst_case_bytes(64 * 6 * word, 25 * word, 10) ==
              63 * 6 * word + 10 * 24 * word + 2 * word + 6 * word);

// What a user of the bound keeps: the room of all live blocks.
struct User {
  User(std::size_t live_max_, std::size_t largest, std::size_t blocks_max_)
      : User(live_max_, TlsfHeap::worst_case_bytes(live_max_, largest, blocks_max_)) {
    blocks_max = blocks_max_ != 0 ? blocks_max_ : SIZE_MAX;
  }
  User(std::size_t live_max_, std::size_t region)
      : live_max(live_max_), memory(region), heap(memory.data(), region) {}

  struct Block {
    void* p;
    std::size_t room;
  };
  bool may(std::size_t bytes) const {
    return live + heap.room_bytes(bytes) <= live_max && blocks.size() < blocks_max;
  }
  bool allocate(std::size_t bytes) {
    void* const p = heap.try_allocate(bytes);
    if (p == nullptr) return false;
    blocks.push_back({p, heap.room_bytes(bytes)});
    live += blocks.back().room;
    return true;
  }
  void deallocate(std::size_t i) {
    std::swap(blocks[i], blocks.back());
    heap.deallocate(blocks.back().p);
    live -= blocks.back().room;
    blocks.pop_back();
  }

  std::size_t live_max;
  std::size_t blocks_max = SIZE_MAX;
  std::size_t live = 0;
  std::vector<unsigned char> memory;
  TlsfHeap heap;
  std::vector<Block> blocks;
};

// Sizes of any magnitude, phases that fill with small ones and free all but a few of them, larger
// ones in between.
TEST(TlsfBound, RandomSequencesNeverFail) {
  struct {
    std::size_t live, largest, blocks_max;
  } const cases[] = {{4000, 500, 0}, {20'000, 3000, 40}, {9000, 8000, 0}, {50'000, 700, 200}};
  for (const auto& c : cases) {
    for (unsigned seed = 0; seed < 6; ++seed) {
      std::mt19937 random(seed);
      User user(c.live, c.largest, c.blocks_max);
      for (int step = 0; step < 20'000; ++step) {
        const bool fills = step / 500 % 2 == 0;
        std::size_t bytes = random() % (c.largest + 1);
        if (random() % 3 != 0) bytes %= c.largest / 16;
        if (user.may(bytes) && random() % 4 < (fills ? 3U : 1U)) {
          ASSERT_TRUE(user.allocate(bytes)) << "step " << step << ", " << bytes << " bytes";
        } else if (!user.blocks.empty()) {
          user.deallocate(random() % user.blocks.size());
        }
      }
      ASSERT_TRUE(user.heap.check());
    }
  }
}

// Asks for the largest, and again; makes the former a smallest one where it is: so each keeps a
// hole apart that is just too small. True if all were served; *pins counts the small blocks.
bool besiege(User& user, std::size_t largest, std::size_t* pins) {
  *pins = 0;
  if (!user.allocate(largest)) return false;
  while (user.may(largest)) {
    if (!user.allocate(largest)) return false;
    User::Block& pin = user.blocks[user.blocks.size() - 2];
    EXPECT_EQ(user.heap.try_reallocate(pin.p, 0), pin.p);
    user.live -= pin.room - user.heap.room_bytes(0);
    pin.room = user.heap.room_bytes(0);
    ++*pins;
  }
  return true;
}

TEST(TlsfBound, TheAdversaryNeedsMostOfIt) {
  const std::size_t largest = 500 * word;
  const std::size_t live = 15'000 * word;
  const std::size_t bound = TlsfHeap::worst_case_bytes(live, largest);
  std::size_t pins = 0;
  User enough(live, bound);
  EXPECT_TRUE(besiege(enough, largest, &pins));
  EXPECT_GT(pins, 2000U);
  EXPECT_TRUE(enough.heap.check());
  std::size_t low = 0, high = bound;  // The smallest region that withstands, to a thousandth.
  while (high - low > bound / 1000) {
    const std::size_t middle = low + (high - low) / 2;
    User user(live, middle);
    (besiege(user, largest, &pins) ? high : low) = middle;
  }
  std::printf("bound %zu bytes, the adversary needs %zu (%zu %%), the live ones %zu\n", bound, high,
              high * 100 / bound, live);
  EXPECT_GT(high, bound / 100 * 85);
}

}  // namespace
