// Members of a shared pool that end between any two instructions: each operation is run step by
// step (the processor's trap flag), and at each step a copy of the pool is what a killed process
// would have left. On the copy the invariants hold, and another member reclaims every block.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "shared_memory.hpp"

#ifdef __x86_64__
#include <signal.h>

#include <cstring>
#include <vector>

#include "../support/trap_flag.hpp"

namespace array_pools {
namespace {

constexpr std::size_t capacity = 6;
constexpr std::size_t block_bytes = 24;
constexpr std::size_t members = 5;
constexpr std::uint64_t stepped = 1, other = 2, survivor = 3, gone = 4;

constexpr std::size_t note_words = 192 / 8 + members * 2 + capacity;
alignas(64) std::uint64_t notes[note_words];
alignas(64) std::uint64_t copied[note_words];
alignas(64) unsigned char blocks[capacity * block_bytes];

struct Expected {
  std::size_t kept_min;  // Blocks of members that live on.
  std::size_t kept_max;
  bool with_gone;  // There is a second member to reclaim.
};
Expected expected;
std::size_t steps;
const char* fault;

tarn::SharedArrayPool attach_to(std::uint64_t* words, std::uint64_t identity) {
  return tarn::SharedArrayPool::attach({words, sizeof notes}, {blocks, sizeof blocks}, identity);
}

// What a survivor finds when the stepped process was killed right now.
const char* recover() {
  std::memcpy(copied, notes, sizeof notes);
  tarn::SharedArrayPool pool = attach_to(copied, survivor);
  if (!pool) return "the survivor cannot attach";
  if (!pool.check()) return "an invariant is broken";
  pool.reclaim(stepped);
  if (expected.with_gone) {
    pool.reclaim(gone);
    pool.reclaim(gone);  // Nothing is left to do.
  }
  if (!pool.check()) return "an invariant is broken by reclaiming";
  bool is_member = false;
  pool.for_each_member([&](std::uint64_t m) { is_member |= m == stepped || m == gone; });
  if (is_member) return "a reclaimed member is still there";
  const std::size_t kept = pool.in_use();
  if (kept < expected.kept_min) return "a block of a living member was taken away";
  if (kept > expected.kept_max) return "a block was not brought back";
  std::size_t taken = 0;
  while (pool.try_allocate() != nullptr) ++taken;
  if (taken + kept != capacity) return "a block was lost";
  return pool.check() ? nullptr : "an invariant is broken by allocating";
}

void on_step(int) {
  ++steps;
  if (fault == nullptr) fault = recover();
}

class SharedSteps : public testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action {};
    action.sa_handler = on_step;
    ASSERT_EQ(sigaction(SIGTRAP, &action, &before_), 0);
    std::memset(notes, 0xA5, sizeof notes);
    ASSERT_EQ(tarn::SharedArrayPool::format({notes, sizeof notes}, capacity, block_bytes, members),
              TARN_ARRAY_OK);
    mine_ = attach_to(notes, stepped);
    theirs_ = attach_to(notes, other);
    ASSERT_TRUE(mine_ && theirs_);
  }
  void TearDown() override { sigaction(SIGTRAP, &before_, nullptr); }

  // Runs body step by step.
  template <class Body>
  void step(Expected what, Body body) {
    expected = what;
    steps = 0;
    fault = nullptr;
    support::in_steps(body);
    EXPECT_EQ(fault, nullptr) << fault << ", before step " << steps;
    EXPECT_GT(steps, 20u);  // The flag worked.
    EXPECT_TRUE(mine_.check());
  }

  tarn::SharedArrayPool mine_;
  tarn::SharedArrayPool theirs_;
  void* p_ = nullptr;
  std::size_t count_ = 0;

 private:
  struct sigaction before_ {};
};

TEST_F(SharedSteps, AllocatesABlockThatWasNeverHandedOut) {
  (void)theirs_.try_allocate();
  step({1, 1, false}, [this] { p_ = mine_.try_allocate(); });
  EXPECT_EQ(mine_.index_of(p_), 1u);
}

TEST_F(SharedSteps, AllocatesWhatWasJustFreed) {
  theirs_.deallocate(theirs_.try_allocate());
  step({0, 0, false}, [this] { p_ = mine_.try_allocate(); });
  EXPECT_EQ(mine_.index_of(p_), 0u);
}

TEST_F(SharedSteps, AllocatesFromALongList) {
  void* taken[capacity];
  for (void*& p : taken) p = theirs_.try_allocate();
  for (void* p : taken) theirs_.deallocate(p);
  step({0, 0, false}, [this] {
    for (std::size_t i = 0; i != capacity; ++i) (void)mine_.try_allocate();
    p_ = mine_.try_allocate();
  });
  EXPECT_EQ(p_, nullptr);
  EXPECT_EQ(mine_.in_use(), capacity);
}

TEST_F(SharedSteps, FreesItsBlocks) {
  void* taken[capacity - 1];
  for (void*& p : taken) p = mine_.try_allocate();
  (void)theirs_.try_allocate();
  step({1, 1, false}, [&] {
    for (void* p : taken) mine_.deallocate(p);
  });
  EXPECT_EQ(mine_.in_use(), 1u);
}

TEST_F(SharedSteps, FreesBlocksOfAnother) {
  void* taken[3];
  for (void*& p : taken) p = theirs_.try_allocate();
  step({2, 3, false}, [&] { mine_.deallocate(taken[1]); });
  step({1, 2, false}, [&] { mine_.deallocate(taken[0]); });
  EXPECT_EQ(mine_.in_use(), 1u);
}

TEST_F(SharedSteps, AdoptsABlock) {
  const std::uint64_t ticket = theirs_.ticket(theirs_.try_allocate());
  step({0, 1, false}, [&] { p_ = mine_.adopt(ticket); });
  EXPECT_EQ(mine_.index_of(p_), 0u);
  EXPECT_EQ(mine_.owner(p_), stepped);
}

TEST_F(SharedSteps, AllocatesAndFreesByTurns) {
  (void)theirs_.try_allocate();
  step({1, 1, false}, [this] {
    void* kept[3];
    for (void*& p : kept) p = mine_.try_allocate();
    for (int round = 0; round != 4; ++round) {
      mine_.deallocate(kept[round % 3]);
      mine_.deallocate(kept[(round + 1) % 3]);
      kept[round % 3] = mine_.try_allocate();
      kept[(round + 1) % 3] = mine_.try_allocate();
    }
    for (void* p : kept) mine_.deallocate(p);
  });
  EXPECT_EQ(mine_.in_use(), 1u);
}

TEST_F(SharedSteps, Leaves) {
  void* p = mine_.try_allocate();
  (void)mine_.try_allocate();
  (void)theirs_.try_allocate();
  mine_.deallocate(p);
  step({1, 1, false}, [this] { count_ = mine_.leave(); });
  EXPECT_EQ(count_, 1u);
  EXPECT_EQ(theirs_.in_use(), 1u);
}

// Who reclaims is killed itself, anywhere: a third reclaims both. The member that it reclaims was
// killed anywhere, too.
TEST_F(SharedSteps, ReclaimsAMemberThatWasKilledAnywhere) {
  struct Work {
    const char* name;
    void (*body)(tarn::SharedArrayPool&, void* own);
  };
  const Work works[] = {
      {"carve", [](tarn::SharedArrayPool& pool, void*) { (void)pool.try_allocate(); }},
      {"free", [](tarn::SharedArrayPool& pool, void* own) { pool.deallocate(own); }},
      {"both",
       [](tarn::SharedArrayPool& pool, void* own) {
         pool.deallocate(own);
         (void)pool.try_allocate();
       }},
  };
  for (const Work& work : works) {
    // First how the pool looks at each step of the work, then the reclaiming of each.
    static std::vector<std::vector<std::uint64_t>> pictures;
    pictures.clear();
    pictures.reserve(2000);
    SetUp();
    (void)theirs_.try_allocate();
    tarn::SharedArrayPool victim = attach_to(notes, gone);
    void* own = victim.try_allocate();
    struct sigaction action {};
    action.sa_handler = [](int) {
      if (pictures.empty() || std::memcmp(pictures.back().data(), notes, sizeof notes) != 0) {
        pictures.emplace_back(notes, notes + note_words);
      }
    };
    struct sigaction before {};
    sigaction(SIGTRAP, &action, &before);
    support::in_steps([&] { work.body(victim, own); });
    sigaction(SIGTRAP, &before, nullptr);
    ASSERT_GE(pictures.size(), 2u) << work.name;  // One for each write of the work.
    for (const auto& picture : pictures) {
      std::memcpy(notes, picture.data(), sizeof notes);
      step({1, 1, true}, [this] { (void)mine_.reclaim(gone); });
      EXPECT_EQ(theirs_.in_use(), 1u) << work.name;
    }
  }
}

}  // namespace
}  // namespace array_pools

#endif
