// Members of a shared pool that sleep between any two instructions: each operation is stopped at
// each step (the processor's trap flag) while another member does a piece of work to its end; then
// it goes on with what it has read before. Late helpers and stale reads must do no harm.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "shared_memory.hpp"

#ifdef __x86_64__
#include "../support/pauses.hpp"

namespace array_pools {
namespace {

constexpr bool many_steps = TARN_TEST_DIVISOR != 1;  // A sanitizer's are between.

constexpr std::size_t capacity = 5;
constexpr std::size_t block_bytes = 16;
constexpr std::size_t members = 5;
constexpr std::uint64_t paused = 1, other = 2, gone = 3, later = 4;

// The pool, and who holds what.
struct World {
  World() : memory(capacity, block_bytes, members) {
    mine = memory.attach(paused);
    theirs = memory.attach(other);
    auto dead = memory.attach(gone);
    void* const first = mine.try_allocate();
    kept = theirs.try_allocate();
    (void)dead.try_allocate();
    own = mine.try_allocate();
    void* const second = mine.try_allocate();
    mine.deallocate(second);
    mine.deallocate(first);  // The head, its entry still GIVING.
    ticket = theirs.ticket(kept);
    // The other stands in the middle of an allocation, so that the paused one helps.
    const std::uint64_t head = tarn_array_load(&theirs.get()->region->head);
    claim = tarn_array_head(tarn_array_head_index(head), theirs.get()->member + 1,
                            tarn_array_head_tag(head) + 1);
    if (!tarn_array_exchange(&theirs.get()->region->head, head, claim)) std::abort();
  }
  // The other's allocation goes on.
  void end_claim() {
    if (claim == 0) return;
    tarn_shared_array_finish(theirs.get(), claim);
    held.push_back(theirs.at(static_cast<std::size_t>(tarn_array_head_index(claim))));
    claim = 0;
  }

  SharedPoolMemory memory;
  tarn::SharedArrayPool mine, theirs;
  void* own;
  void* kept;  // The other's, or adopted.
  std::uint64_t ticket;
  void* taken = nullptr;    // By the paused one.
  std::vector<void*> held;  // By the other.
  std::uint64_t claim = 0;
  bool is_other_dead = false;
};

using Work = void (*)(World&);

void take(World& world) {
  void* const p = world.theirs.try_allocate();
  if (p != nullptr) world.held.push_back(p);
}
void give(World& world) {
  if (world.held.empty()) return;
  void* const p = world.held.back();
  world.held.pop_back();
  world.theirs.deallocate(p);
}

const Work paused_works[] = {
    [](World& world) { world.taken = world.mine.try_allocate(); },
    [](World& world) {
      void* const p = world.own;
      world.own = nullptr;
      world.mine.deallocate(p);
    },
    [](World& world) { (void)world.mine.adopt(world.ticket); },
    [](World& world) { (void)world.mine.reclaim(gone); },
    [](World& world) {
      void* const p = world.mine.try_allocate();
      world.mine.deallocate(p);
    },
};

const Work other_works[] = {
    [](World& world) { take(world); },
    [](World& world) {
      take(world);
      give(world);
    },
    [](World& world) {
      for (int round = 0; round != 3; ++round) {
        for (std::size_t i = 0; i != capacity; ++i) take(world);
        for (std::size_t i = 0; i != capacity; ++i) give(world);
      }
    },
    [](World& world) {
      (void)world.theirs.reclaim(gone);
      take(world);
      take(world);
      give(world);
    },
    // Killed in the middle of a free, of the block that the head may be for the paused one.
    [](World& world) {
      take(world);
      const std::size_t i = world.theirs.index_of(world.held.back());
      std::uint64_t* const entry = &world.theirs.get()->entries[i];
      const std::uint64_t seen = tarn_array_load(entry);
      const std::uint64_t giving =
          tarn_array_entry_after(seen, TARN_ARRAY_GIVING, world.theirs.get()->member);
      if (!tarn_array_exchange(entry, seen, giving)) std::abort();
      world.held.clear();  // They are reclaimed.
      world.is_other_dead = true;
    },
};

// False when the work ended before its first pause.
bool run(Work work, Work meanwhile, std::size_t first, std::size_t second) {
  World world;
  world.held.reserve(64);
  const auto paused = [&world, meanwhile] {
    world.end_claim();
    if (!world.is_other_dead) meanwhile(world);
  };
  const bool was_paused = support::Pauses::run(first, second, paused, [&] { work(world); });

  world.end_claim();
  tarn::SharedArrayPool pool = world.memory.attach(later);
  EXPECT_TRUE(pool.check());
  (void)pool.reclaim(gone);
  std::vector<void*> live = world.held;
  if (world.is_other_dead) (void)pool.reclaim(other);
  if (!world.is_other_dead || pool.owner(world.kept) != 0) live.push_back(world.kept);
  if (world.own != nullptr) live.push_back(world.own);
  if (world.taken != nullptr) live.push_back(world.taken);
  std::sort(live.begin(), live.end());
  EXPECT_EQ(std::adjacent_find(live.begin(), live.end()), live.end()) << "handed out twice";
  EXPECT_EQ(pool.in_use(), live.size());
  for (void* p : live) pool.deallocate(p);
  EXPECT_TRUE(pool.check() && pool.is_empty());
  std::size_t taken = 0;
  while (pool.try_allocate() != nullptr) ++taken;
  EXPECT_EQ(taken, capacity);
  return was_paused;
}

TEST(SharedPauses, AnotherWorksBetweenAnyTwoInstructions) {
  const support::Pauses handler;
  for (const Work& work : paused_works) {
    for (const Work& meanwhile : other_works) {
      // Traps take some 20 microseconds on virtual machines, so long works are paused less often.
      const std::size_t stride = (&work == &paused_works[3] ? 3 : 1) * (many_steps ? 7 : 1);
      std::size_t step = 1;
      while (run(work, meanwhile, step, 0) && !HasFailure()) step += stride;
      ASSERT_FALSE(HasFailure()) << "work " << &work - paused_works << ", paused at step " << step
                                 << " for work " << &meanwhile - other_works;
      EXPECT_GT(step, 20u);  // The flag worked.
      // Twice, every few steps.
      for (std::size_t first = 1; first < step; first += 23 * stride) {
        for (std::size_t second = first + 1; second < step; second += 29 * stride) {
          run(work, meanwhile, first, second);
          ASSERT_FALSE(HasFailure())
              << "work " << &work - paused_works << ", paused at " << first << " and " << second
              << " for work " << &meanwhile - other_works;
        }
      }
    }
  }
}

}  // namespace
}  // namespace array_pools

#endif
