// check: damage to what a checked arena knows of its blocks, which tarn_arena_check must find.
//
// SPDX-License-Identifier: MIT
#include "kinds/arenas/check.hpp"

#include <gtest/gtest.h>

#include "kinds/sources/checked_blocks.hpp"

namespace tarn {
namespace {

class CheckedArena : public testing::Test {
 protected:
  CheckedArena() {
    tarn_arena_options options = TARN_ARENA_OPTIONS();
    options.mode = TARN_MODE_CHECKED;
    options.chunk_bytes = 4096;
    tarn_arena_init(&arena_, &options);
    for (const std::size_t bytes : {100u, 3000u, 50'000u, 3000u, 50'000u, 1u}) {
      EXPECT_NE(tarn_arena_allocate(&arena_, bytes), nullptr);
    }
  }
  ~CheckedArena() override { tarn_arena_destroy(&arena_); }

  ArenaNote& newest() const { return *static_cast<ArenaNote*>(arena_.notes); }
  bool check() const { return tarn_arena_check(&arena_) != 0; }

  tarn_arena arena_{};
};

TEST_F(CheckedArena, HoldsWithOrdinaryAndLargeBlocks) {
  EXPECT_TRUE(check());
  EXPECT_EQ(count_of(arena_.large).chunks, 2u);
  const tarn_arena_mark mark = tarn_arena_get_mark(&arena_);
  EXPECT_NE(tarn_arena_allocate(&arena_, 50'000), nullptr);
  EXPECT_TRUE(check());
  tarn_arena_rewind(&arena_, &mark);
  EXPECT_TRUE(check());
}

TEST_F(CheckedArena, FindsNotesOutOfOrder) {
  const std::uint64_t number = newest().number;
  newest().number = newest().before->number;
  EXPECT_FALSE(check());
  newest().number = arena_.noted + 1;
  EXPECT_FALSE(check());
  newest().number = number;
  EXPECT_TRUE(check());
}

TEST_F(CheckedArena, FindsNotesOutsideItsChunks) {
  ArenaNote* const before = newest().before;
  ArenaNote elsewhere = *before;
  newest().before = &elsewhere;
  EXPECT_FALSE(check());
  newest().before = before->before;  // Without it, a large chunk has no note.
  EXPECT_FALSE(check());
  newest().before = before;
  EXPECT_TRUE(check());
}

TEST_F(CheckedArena, FindsBlocksBeforeTheirNotes) {
  char* const block = newest().block;
  newest().block = reinterpret_cast<char*>(&newest());
  EXPECT_FALSE(check());
  newest().block = block;
  EXPECT_TRUE(check());
}

TEST(CheckIsDue, AtPowersOfTwoOnly) {
  std::uint64_t due = 0;
  for (std::uint64_t chunks = 0; chunks <= 1024; ++chunks) due += is_check_due(chunks) ? 1 : 0;
  EXPECT_EQ(due, 11u);
  EXPECT_TRUE(is_check_due(1) && is_check_due(1024) && !is_check_due(0) && !is_check_due(3));
}

}  // namespace
}  // namespace tarn
