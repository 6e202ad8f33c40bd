// The free lists of pools for threads, stopped at each instruction (the processor's trap flag) of
// each operation while another thread's work is done to its end; then the operation goes on with
// what it has read before.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tarn/detail/array_indices.hpp"

#ifdef __x86_64__
#include "../support/pauses.hpp"

namespace array_pools {
namespace {

constexpr bool many_steps = TARN_TEST_DIVISOR != 1;  // A sanitizer's are between.

constexpr std::size_t capacity = 256;  // The least with more than one stack.

struct TwoThreads {
  static inline unsigned now = 0;
  static unsigned mine() noexcept { return now; }
  static unsigned count() noexcept { return 2; }
  static bool wait(unsigned) noexcept { return false; }  // The other one stands.
};
using Indices = tarn::ListedIndices<capacity, true, false, TwoThreads>;

// A free list, and who has what of it.
struct World {
  explicit World(std::size_t in_use, std::size_t mine_free, std::size_t theirs_free) {
    TwoThreads::now = 0;
    std::size_t i = 0;
    while (mine.size() != in_use && indices.take(&i)) mine.push_back(i);
    for (std::size_t n = 0; n != mine_free; ++n) give(mine);
    TwoThreads::now = 1;
    for (std::size_t n = 0; n != theirs_free; ++n) give(mine);
    for (std::size_t n = 0; n != 3; ++n) hand_over();
    TwoThreads::now = 0;
    theirs.reserve(2 * capacity);
    mine.reserve(2 * capacity);
  }
  bool take(std::vector<std::size_t>& mine_or_theirs) {
    std::size_t i = 0;
    if (!indices.take(&i)) return false;
    mine_or_theirs.push_back(i);
    return true;
  }
  void give(std::vector<std::size_t>& mine_or_theirs) {
    if (mine_or_theirs.empty()) return;
    const std::size_t i = mine_or_theirs.back();
    mine_or_theirs.pop_back();
    if (indices.give(i) != tarn::Given::yes) ++refused;
  }
  void hand_over() {
    if (mine.empty()) return;
    theirs.push_back(mine.back());
    mine.pop_back();
  }

  Indices indices;
  std::vector<std::size_t> mine, theirs;
  std::size_t refused = 0;
};

using Work = void (*)(World&);

const Work paused_works[] = {
    [](World& world) { world.take(world.mine); },
    [](World& world) { world.give(world.mine); },
    [](World& world) {
      world.take(world.mine);
      world.take(world.mine);
      world.give(world.mine);
    },
};

const Work other_works[] = {
    [](World& world) { world.take(world.theirs); },
    [](World& world) { world.give(world.theirs); },
    [](World& world) {
      world.take(world.theirs);
      world.give(world.theirs);
    },
    [](World& world) {  // Ends with the same number on top as it began.
      world.take(world.theirs);
      world.take(world.theirs);
      std::swap(world.theirs.back(), world.theirs[world.theirs.size() - 2]);
      world.give(world.theirs);
      world.give(world.theirs);
    },
    [](World& world) {
      while (world.take(world.theirs)) {
      }
      while (!world.theirs.empty()) world.give(world.theirs);
    },
    [](World& world) {
      while (world.take(world.theirs)) {
      }
    },
};

// False when the work ended before its first pause.
bool run(World& world, Work work, Work meanwhile, std::size_t first, std::size_t second) {
  const auto paused = [&world, meanwhile] {
    TwoThreads::now = 1;
    meanwhile(world);
    TwoThreads::now = 0;
  };
  const bool was_paused = support::Pauses::run(first, second, paused, [&] { work(world); });

  // What is live is what the two have, each number once.
  std::set<std::size_t> held(world.mine.begin(), world.mine.end());
  held.insert(world.theirs.begin(), world.theirs.end());
  EXPECT_EQ(held.size(), world.mine.size() + world.theirs.size());
  std::set<std::size_t> live;
  world.indices.for_each([&live](std::size_t i) { live.insert(i); });
  EXPECT_EQ(live, held);
  EXPECT_TRUE(world.indices.check());
  EXPECT_EQ(world.refused, 0u);
  // The others can be had, all of them.
  while (world.take(world.mine)) {
  }
  EXPECT_EQ(world.indices.in_use(), capacity);
  return was_paused;
}

class ListPauses : public testing::Test {
 protected:
  support::Pauses handler;

  // At each instruction, and again some later.
  static void run_all(std::size_t in_use, std::size_t mine_free, std::size_t theirs_free) {
    for (const Work work : paused_works) {
      for (const Work meanwhile : other_works) {
        for (const std::size_t distance : {0u, 11u}) {
          // Traps take some 20 microseconds on virtual machines: what is far in is paused less
          // often.
          for (std::size_t first = 1;; first += many_steps ? 67 : first < 150 ? 1 : 13) {
            World world(in_use, mine_free, theirs_free);
            if (!run(world, work, meanwhile, first, first + distance)) break;
            if (HasFailure()) FAIL() << "at step " << first << " and " << distance << " later";
          }
        }
      }
    }
  }
};

TEST_F(ListPauses, WithNumbersOnBothStacks) { run_all(40, 5, 5); }
TEST_F(ListPauses, WithNumbersOnTheOthersStackOnly) { run_all(capacity, 0, 5); }
TEST_F(ListPauses, WithOneNumberLeft) { run_all(capacity, 1, 0); }
TEST_F(ListPauses, WithNoNumberLeft) { run_all(capacity, 0, 0); }
TEST_F(ListPauses, WithNumbersThatWereNeverUsed) { run_all(32, 0, 0); }
TEST_F(ListPauses, WithTheLastNumbersThatWereNeverUsed) { run_all(capacity - 2, 0, 0); }

// A library that counts its threads by itself finds what those of others have freed.
TEST(ListedIndices, NumbersOfThreadsThatAreNotCountedAreFound) {
  struct Uncounted : TwoThreads {
    static unsigned count() noexcept { return 0; }
  };
  tarn::ListedIndices<capacity, true, false, Uncounted> indices;
  std::size_t i = 0;
  Uncounted::now = 1;
  for (std::size_t n = 0; n != capacity; ++n) ASSERT_TRUE(indices.take(&i));
  ASSERT_EQ(indices.give(i), tarn::Given::yes);
  Uncounted::now = 0;
  EXPECT_TRUE(indices.take(&i));
  EXPECT_FALSE(indices.take(&i));
}

// Two frees of one number, the second at any instruction of the first: one of them is refused.
TEST_F(ListPauses, OfTwoFreesOneIsRefused) {
  for (std::size_t first = 1;; ++first) {
    World world(40, 5, 5);
    static std::size_t twice;
    twice = world.mine.back();
    world.mine.pop_back();
    static tarn::Given given;
    const auto give = [](World& w) { given = w.indices.give(twice); };
    static std::size_t yes;
    yes = 0;
    const auto meanwhile = [](World& w) { yes += w.indices.give(twice) == tarn::Given::yes; };
    const bool was_paused = run(world, give, meanwhile, first, first);
    if (!was_paused) break;
    EXPECT_EQ(yes + (given == tarn::Given::yes), 1u) << "at step " << first;
  }
}

}  // namespace
}  // namespace array_pools
#endif
