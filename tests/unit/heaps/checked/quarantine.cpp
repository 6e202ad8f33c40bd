// The quarantine: what is in it, in which order that leaves, and how much it may be.
//
// SPDX-License-Identifier: MIT
#include "heaps/checked/quarantine.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "checked_heap.hpp"

namespace tarn {
namespace {

constexpr std::size_t kept_bytes_max = std::size_t{256} << 10;
constexpr std::size_t block_kept_max = std::size_t{2} << 20;
constexpr std::uint32_t guarded_kept_max = 1024;

class QuarantineTest : public CheckedHeapTest {
 protected:
  QuarantineTest() : CheckedHeapTest(TARN_MODE_CHECKED) {}
  NoteState state_of(const void* p) { return place_around(page_of(p), p).note->state(); }
  void let_oldest_leave() {
    os::Locked locked(record().lock);
    release_oldest(record());
  }
  bool let_all_leave() {
    os::Locked locked(record().lock);
    return release_all(record());
  }
};

class GuardedQuarantineTest : public CheckedHeapTest {
 protected:
  GuardedQuarantineTest() : CheckedHeapTest(TARN_MODE_GUARDED) {}
};

TEST_F(QuarantineTest, TheOldestLeavesFirst) {
  std::vector<void*> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(allocate(40));
  for (const std::size_t i : {2u, 0u, 3u}) free(blocks[i]);
  EXPECT_EQ(checks().oldest_kept, blocks[2]);
  EXPECT_EQ(checks().newest_kept, blocks[3]);
  let_oldest_leave();
  EXPECT_EQ(state_of(blocks[2]), NoteState::freed);
  EXPECT_EQ(checks().oldest_kept, blocks[0]);
  let_oldest_leave();
  EXPECT_EQ(checks().oldest_kept, blocks[3]);
  let_oldest_leave();
  EXPECT_EQ(checks().oldest_kept, nullptr);
  EXPECT_EQ(checks().newest_kept, nullptr);
  EXPECT_EQ(checks().kept_bytes, 0u);
  free(blocks[1]);
}

TEST_F(QuarantineTest, KeepsBackSoManyBytesAndNoMore) {
  std::vector<void*> blocks;
  for (int i = 0; i < 600; ++i) blocks.push_back(allocate(1000));
  const std::size_t place = place_around(page_of(blocks[0]), blocks[0]).bytes;
  for (void* const p : blocks) {
    free(p);
    ASSERT_LE(checks().kept_bytes, kept_bytes_max);
  }
  EXPECT_GT(checks().kept_bytes, kept_bytes_max - place) << "as many as fit";
  const std::size_t kept = checks().kept_bytes / place;
  EXPECT_EQ(checks().oldest_kept, blocks[blocks.size() - kept]);
}

TEST_F(QuarantineTest, ABlockThatIsTooLargeIsNotKeptBack) {
  void* const small = allocate(40);
  free(small);
  void* const large = allocate(block_kept_max + 1);
  free(large);
  EXPECT_EQ(checks().newest_kept, small) << "nor does it drive others out";
}

TEST_F(QuarantineTest, TwoLargeBlocksAreKeptBackBesideNoOther) {
  void* const small = allocate(40);
  free(small);
  std::vector<void*> large;
  for (int i = 0; i < 3; ++i) large.push_back(allocate(block_kept_max / 2));
  free(large[0]);
  EXPECT_EQ(checks().oldest_kept, small);
  EXPECT_EQ(checks().newest_kept, large[0]);
  free(large[1]);
  EXPECT_EQ(checks().oldest_kept, large[0]);
  free(large[2]);
  EXPECT_EQ(checks().oldest_kept, large[1]);
  EXPECT_EQ(checks().newest_kept, large[2]);
}

TEST_F(QuarantineTest, AllAreReleasedButNotInAWalk) {
  EXPECT_FALSE(let_all_leave()) << "there is none";
  std::vector<void*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(allocate(64));
  for (void* const p : blocks) free(p);
  record().walking = true;
  EXPECT_FALSE(let_all_leave());
  EXPECT_EQ(checks().oldest_kept, blocks[0]);
  record().walking = false;
  EXPECT_TRUE(let_all_leave());
  EXPECT_EQ(checks().oldest_kept, nullptr);
  EXPECT_FALSE(let_all_leave());
}

TEST_F(QuarantineTest, InAWalkMoreIsKeptUntilItEnds) {
  std::vector<void*> blocks;
  for (int i = 0; i < 600; ++i) blocks.push_back(allocate(1000));
  record().walking = true;
  for (void* const p : blocks) free(p);
  EXPECT_GT(checks().kept_bytes, kept_bytes_max);
  EXPECT_EQ(checks().oldest_kept, blocks[0]);
  record().walking = false;
  checks_finish_walk(record());
  EXPECT_LE(checks().kept_bytes, kept_bytes_max);
}

// Blocks beside a full quarantine are had from it before the OS is asked in vain.
TEST_F(QuarantineTest, GivesItsMemoryWhenThereIsNoOther) {
  std::vector<void*> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(allocate(60'000));
  for (void* const p : blocks) free(p);
  record().limits.set_ceiling(record().limits.committed);
  EXPECT_NE(allocate(60'000), nullptr);
  EXPECT_NE(allocate(60'000), nullptr);
  record().limits.set_ceiling(0);
}

TEST_F(QuarantineTest, KeptBlocksAreFilled) {
  auto* const p = static_cast<unsigned char*>(allocate(100));
  std::memset(p, 0, 100);
  free(p);
  for (int i = 1; i < 100; ++i) ASSERT_EQ(p[i], p[0]);
  EXPECT_NE(p[0], 0);
}

TEST_F(GuardedQuarantineTest, KeepsSoManyBlocksAndNoMore) {
  std::vector<void*> blocks;
  for (std::uint32_t i = 0; i < guarded_kept_max + 20; ++i) blocks.push_back(allocate(16));
  std::size_t most = 0;
  for (void* const p : blocks) {
    free(p);
    if (checks().kept_guarded > most) most = checks().kept_guarded;
  }
  EXPECT_LE(most, guarded_kept_max);
  const std::size_t span = page_of(checks().newest_kept)->bytes();
  const std::size_t by_bytes = (std::size_t{16} << 20) / span;
  EXPECT_EQ(checks().kept_guarded, std::min<std::size_t>(guarded_kept_max, by_bytes));
  EXPECT_EQ(checks().newest_kept, blocks.back());
}

}  // namespace
}  // namespace tarn
