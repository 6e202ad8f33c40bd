// The explorer itself, on programs of a few lines of which it is known how many orders they have,
// and what goes wrong in which.
//
// SPDX-License-Identifier: MIT
#include <array>
#include <atomic>
#include <bitset>
#include <sched.h>
#include <sys/mman.h>

#include <gtest/gtest.h>

#include "explorer.hpp"
#include "platform/os/thread.hpp"

namespace explorer {
namespace {

using Body = std::function<void()>;

constexpr std::uint64_t runs_most = 10'000;

std::array<std::atomic<int>, 4> x;  // What threads have in common,
std::array<int, 4> seen;            // what each has seen,
int message;                        // and what one writes for another.
tarn::os::Lock first_lock, second_lock;

void clear() {
  for (std::atomic<int>& one : x) one = 0;
  seen = {};
}

Outcome explored(
    std::vector<Body> threads, Body check = [] {}, bool stores_wait = false) {
  Scenario scenario;
  scenario.name = "toy";
  scenario.prepare = clear;
  scenario.threads = std::move(threads);
  scenario.check = std::move(check);
  scenario.stores_wait = stores_wait;
  const Outcome outcome = explore(scenario, runs_most);
  EXPECT_TRUE(outcome.is_complete || outcome.is_broken);
  return outcome;
}

TEST(Explorer, ThreadsThatDoNotMeetHaveOneOrder) {
  const auto alone = [](std::size_t i) {
    return [i] {
      for (int k = 0; k < 3; ++k) x[i].fetch_add(1);
    };
  };
  EXPECT_EQ(explored({alone(0), alone(1), alone(2)}).runs, 1u);
}

TEST(Explorer, ReadersHaveOneOrder) {
  const Body reads = [] { x[0].load(); };
  EXPECT_EQ(explored({reads, reads, reads}).runs, 1u);
}

TEST(Explorer, UpdatesHaveEachOrder) {
  const Body adds = [] { x[0].fetch_add(1); };
  EXPECT_EQ(explored({adds, adds}).runs, 2u);
  EXPECT_EQ(explored({adds, adds, adds}).runs, 6u);
  const Body adds_twice = [] { x[0].fetch_add(1), x[0].fetch_add(1); };
  EXPECT_EQ(explored({adds_twice, adds_twice}).runs, 6u);
}

TEST(Explorer, AWriterAndReadersOfTwoPlaces) {
  // Each reader comes before the write of its place, or after it.
  const auto reads = [](std::size_t i) { return [i] { x[i].load(); }; };
  const Outcome outcome = explored({[] { x[0] = 1, x[1] = 1; }, reads(0), reads(1)});
  EXPECT_EQ(outcome.runs - outcome.redundant, 4u);
}

TEST(Explorer, LosesAnUpdate) {
  const Body adds = [] { x[0].store(x[0].load() + 1); };
  EXPECT_TRUE(explored({adds, adds}, [] { require(x[0] == 2, "an update is lost"); }).is_broken);
  const Body tries = [] {
    int value = x[0];
    while (!x[0].compare_exchange_weak(value, value + 1)) {
    }
  };
  EXPECT_FALSE(explored({tries, tries}, [] { require(x[0] == 2, "an update is lost"); }).is_broken);
}

Outcome passed(std::memory_order written, std::memory_order read) {
  return explored({[written] {
                     message = 1;
                     x[0].store(1, written);
                   },
                   [read] {
                     if (x[0].load(read) == 1) seen[1] = message;
                   }});
}

TEST(Explorer, AMessageIsPassedInOrder) {
  using enum std::memory_order;
  EXPECT_FALSE(passed(release, acquire).is_broken);
  EXPECT_TRUE(passed(relaxed, acquire).is_broken);
  EXPECT_TRUE(passed(release, relaxed).is_broken);
}

// Each of two says that it is there, and looks whether the other one is.
Outcome looked(
    std::memory_order order, bool stores_wait, Body between = [] {}) {
  const auto side = [order](std::size_t i, Body then) {
    return [=] {
      x[i].store(1, order);
      then();
      seen[i] = x[1 - i].load(order);
    };
  };
  const Body check = [] { require(seen[0] + seen[1] != 0, "neither has seen the other"); };
  return explored({side(0, [] {}), side(1, std::move(between))}, check, stores_wait);
}

TEST(Explorer, StoresWait) {
  using enum std::memory_order;
  EXPECT_FALSE(looked(relaxed, false).is_broken) << "nothing waits";
  EXPECT_TRUE(looked(relaxed, true).is_broken);
  EXPECT_FALSE(looked(seq_cst, true).is_broken);
  EXPECT_FALSE(looked(relaxed, true, [] { tarn::os::barrier_in_all_threads(); }).is_broken)
      << "a barrier for all is enough on one side";
  EXPECT_TRUE(looked(relaxed, true, [] { x[3].fetch_add(1); }).is_broken)
      << "a fence on one side is not";
}

// What threads see in all orders they see in those that are tried.
void expect_same_seen(std::vector<Body> threads, bool stores_wait) {
  void* const memory = mmap(nullptr, sizeof(std::bitset<256>), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const found = static_cast<std::bitset<256>*>(memory);
  std::bitset<256> each[2];
  std::uint64_t runs[2];
  for (const bool all : {false, true}) {
    *found = {};
    Scenario scenario;
    scenario.name = "toy";
    scenario.prepare = clear;
    scenario.threads = threads;
    scenario.check = [found] {
      found->set(static_cast<std::size_t>(seen[0] + 4 * seen[1] + 16 * seen[2] + 64 * seen[3]));
    };
    scenario.stores_wait = stores_wait;
    scenario.all_orders = all;
    const Outcome outcome = explore(scenario, 1'000'000);
    EXPECT_TRUE(outcome.is_complete);
    each[all] = *found;
    runs[all] = outcome.runs;
  }
  EXPECT_EQ(each[false], each[true]);
  EXPECT_LT(runs[false], runs[true]);
  munmap(memory, sizeof(std::bitset<256>));
}

void put(std::size_t place, int value) { x[place].store(value, std::memory_order_relaxed); }
void look(std::size_t place, std::size_t to) {
  seen[to] = x[place].load(std::memory_order_relaxed);
}

TEST(Explorer, SeesWhatIsSeenInAllOrders) {
  for (const bool stores_wait : {false, true}) {
    expect_same_seen({[] { put(0, 1), look(1, 0); }, [] { put(1, 1), look(0, 1); }}, stores_wait);
    expect_same_seen({[] { put(0, 1), put(1, 1), put(0, 2); }, [] { look(1, 0), look(0, 1); }},
                     stores_wait);
    expect_same_seen(
        {[] { look(1, 0), put(0, 1), put(2, 1); },
         [] { x[1].fetch_add(1), tarn::os::barrier_in_all_threads(), look(0, 1), look(2, 2); }},
        stores_wait);
    expect_same_seen({[] { put(0, 1), x[3].exchange(1), look(1, 0); },
                      [] { put(1, 1), look(0, 1), put(0, 3), look(0, 2); }},
                     stores_wait);
    const auto adds = [](std::size_t to) {
      return [to] {
        const tarn::os::Locked locked(first_lock);
        look(0, to), put(0, seen[to] + 1);
      };
    };
    expect_same_seen({adds(0), adds(1),
                      [] {
                        if (!first_lock.try_lock()) return;
                        look(0, 2);
                        first_lock.unlock();
                      }},
                     stores_wait);
  }
}

TEST(Explorer, AThreadSeesItsOwnStores) {
  const Outcome outcome = explored(
      {[] {
         x[0].store(1, std::memory_order_relaxed);
         require(x[0].load(std::memory_order_relaxed) == 1, "its own store");
       },
       [] { x[1].load(); }},
      [] { require(x[0] == 1, "a store that never came"); }, true);
  EXPECT_FALSE(outcome.is_broken);
}

Body locks(tarn::os::Lock& outer, tarn::os::Lock& inner) {
  return [&] {
    const tarn::os::Locked one(outer);
    const tarn::os::Locked other(inner);
    ++message;
  };
}

TEST(Explorer, LocksKeepOthersOut) {
  const Outcome outcome =
      explored({locks(first_lock, second_lock), locks(first_lock, second_lock)});
  EXPECT_FALSE(outcome.is_broken);
  EXPECT_EQ(outcome.runs, 2u);
}

TEST(Explorer, LocksInTwoOrdersWaitForEachOther) {
  EXPECT_TRUE(explored({locks(first_lock, second_lock), locks(second_lock, first_lock)}).is_broken);
}

TEST(Explorer, AThreadThatOnlyTriesDoesNotWait) {
  const Body tries = [] {
    if (!first_lock.try_lock()) return;
    ++message;
    first_lock.unlock();
  };
  const Outcome outcome = explored({tries, tries});
  EXPECT_FALSE(outcome.is_broken);
  EXPECT_GT(outcome.runs, 2u);
}

TEST(Explorer, WhoWaitsIsWoken) {
  const Body waits = [] {
    while (x[0].load(std::memory_order_acquire) == 0) sched_yield();
    seen[0] = message;
  };
  const Body tells = [] {
    message = 1;
    x[0].store(1, std::memory_order_release);
  };
  EXPECT_FALSE(explored({waits, tells}).is_broken);
  EXPECT_TRUE(explored({waits, [] {}}).is_broken) << "it waits for ever";
}

TEST(Explorer, AThreadMayEndEarly) {
  const Body ends = [] {
    x[0] = 1;
    end_thread();
  };
  EXPECT_FALSE(explored({ends, [] { x[0].load(); }}).is_broken);
}

TEST(Explorer, SaysWhenTheSameTurnsDoNotLeadToTheSameSteps) {
  void* const memory =
      mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const runs = static_cast<int*>(memory);
  const Body by_the_run = [runs] {
    if (++*runs % 2 == 0) {
      x[1].fetch_add(1);
    } else {
      x[1].fetch_sub(1);
    }
    x[0] = 1;
  };
  EXPECT_TRUE(explored({by_the_run, [] { x[0] = 2; }}).is_broken);
}

TEST(Explorer, ASignalIsABrokenRun) {
  EXPECT_TRUE(explored({[] { x[0] = 1; },
                        [] {
                          if (x[0] == 1) __builtin_trap();
                        }})
                  .is_broken);
}

}  // namespace
}  // namespace explorer
