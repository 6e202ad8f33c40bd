// Reclaimers: who is asked, in which order, by whom; what they may do meanwhile; and tarn_recover.
//
// SPDX-License-Identifier: MIT
#include <atomic>
#include <climits>
#include <latch>
#include <string>
#include <thread>

#include "recover.hpp"

namespace recovering {
namespace {

tarn_reclaimer_options reclaiming(tarn_reclaim reclaim, void* context = nullptr) {
  tarn_reclaimer_options made = TARN_RECLAIMER_OPTIONS();
  made.reclaim = reclaim;
  made.context = context;
  return made;
}

std::size_t give_of_cache(std::size_t wanted, void* context) {
  return static_cast<Cache*>(context)->give(wanted);
}

tarn_reclaimer_stats stats_of(const tarn_reclaimer& reclaimer) {
  tarn_reclaimer_stats stats = TARN_RECLAIMER_STATS();
  EXPECT_EQ(tarn_reclaimer_get_stats(&reclaimer, &stats), 0);
  return stats;
}

constexpr unsigned only_reclaim = TARN_RECOVER_RECLAIM;

TEST(Recover, SaysWhatItDoesNotUnderstand) {
  errno = 0;
  EXPECT_EQ(tarn_recover(1, 8), 0u);
  EXPECT_EQ(errno, EINVAL);
  tarn_reclaimer r;
  tarn_reclaimer_options wrong = reclaiming(nullptr);
  errno = 0;
  EXPECT_EQ(tarn_reclaimer_register(&r, &wrong), -1);
  EXPECT_EQ(errno, EINVAL);
  wrong = reclaiming(give_of_cache);
  wrong.bytes = 1;
  EXPECT_EQ(tarn_reclaimer_register(&r, &wrong), -1);
  EXPECT_EQ(tarn_reclaimer_register(&r, nullptr), -1);
  errno = 0;
  EXPECT_EQ(tarn_reclaimer_unregister(&r), -1);
  EXPECT_EQ(errno, EINVAL);
  tarn_recover_stats stats{};
  EXPECT_EQ(tarn_recover_get_stats(&stats), -1);
  EXPECT_EQ(tarn_recover_get_stats(nullptr), -1);
}

TEST(Recover, OfNothingNothingIsDone) {
  Cache cache;
  ASSERT_TRUE(cache.add(1'000));
  tarn::Reclaimer asked([&](std::size_t wanted) { return cache.give(wanted); });
  Marked p(tarn_heap{}, 1'000, 1);
  ASSERT_TRUE(p.fill());
  EXPECT_EQ(tarn_recover(0, 0), 0u);
  EXPECT_EQ(cache.count(), 1u);
  EXPECT_TRUE(p.look());
}

// So that 0 with EINVAL is told from nothing.
TEST(Recover, LeavesErrnoAlone) {
  tarn::Reclaimer asked([](std::size_t) -> std::size_t {
    errno = EINVAL;
    return 0;
  });
  const std::uint64_t before = sums().callbacks;
  errno = 7;
  tarn_recover(SIZE_MAX, only_reclaim);
  EXPECT_EQ(errno, 7);
  EXPECT_EQ(sums().callbacks, before + 1);
}

// Memory that was freed goes back to the system, and comes first.
TEST(Recover, SpareMemoryComesFirst) {
  Cache cache;
  ASSERT_TRUE(cache.add(100));
  tarn::Reclaimer asked([&](std::size_t wanted) { return cache.give(wanted); });
  tarn_malloc_trim(0);
  tarn_free(std::memset(tarn_malloc(3 * mib), 1, 3 * mib));
  tarn_recovered steps{};
  EXPECT_GE(tarn_recover_heap(tarn_heap{}, mib, 0, &steps), mib);
  EXPECT_GE(steps.spare_bytes, mib);
  EXPECT_EQ(steps.reclaimed_bytes, 0u);
  EXPECT_EQ(cache.count(), 1u);
  EXPECT_GE(tarn_recover_heap(tarn_heap{}, SIZE_MAX, 0, &steps), steps.reclaimed_bytes);
  EXPECT_GE(steps.reclaimed_bytes, 100u);
  EXPECT_EQ(cache.count(), 0u);
}

TEST(Recover, WhatOwnersGaveLeavesTheProcess) {
  tarn_recover(SIZE_MAX, 0);
  Cache cache;
  ASSERT_TRUE(cache.add(8 * mib));
  tarn::Reclaimer asked([&](std::size_t wanted) { return cache.give(wanted); });
  tarn_recovered steps{};
  EXPECT_GE(tarn_recover_heap(tarn_heap{}, SIZE_MAX, 0, &steps), 8 * mib);
  EXPECT_LT(steps.spare_bytes, 8 * mib) << "counted once";
  EXPECT_EQ(tarn_malloc_trim(0), 0) << "nothing is left to be given";
}

struct Order {
  std::string* asked;
  char name;
  std::size_t gives;
};
std::size_t note_order(std::size_t, void* context) {
  const auto* const order = static_cast<Order*>(context);
  *order->asked += order->name;
  return order->gives;
}

TEST(Reclaimers, AreAskedByPriorityThenByAge) {
  std::string asked;
  Order orders[] = {
      {&asked, 'a', 10}, {&asked, 'b', 10}, {&asked, 'c', 10}, {&asked, 'd', 10}, {&asked, 'e', 0}};
  const int priorities[] = {5, -3, 5, INT_MIN, 0};
  tarn_reclaimer reclaimers[5];
  for (int i = 0; i < 5; ++i) {
    tarn_reclaimer_options wanted = reclaiming(note_order, &orders[i]);
    wanted.priority = priorities[i];
    ASSERT_EQ(tarn_reclaimer_register(&reclaimers[i], &wanted), 0);
  }
  EXPECT_EQ(tarn_recover(SIZE_MAX, only_reclaim), 40u);
  EXPECT_EQ(asked, "dbeac");
  asked.clear();
  EXPECT_EQ(tarn_recover(25, only_reclaim), 30u);
  EXPECT_EQ(asked, "dbea");
  EXPECT_EQ(stats_of(reclaimers[3]).calls, 2u);
  EXPECT_EQ(stats_of(reclaimers[3]).given_bytes, 20u);
  EXPECT_EQ(stats_of(reclaimers[4]).calls_in_vain, 2u);
  EXPECT_EQ(stats_of(reclaimers[2]).calls, 1u);
  for (tarn_reclaimer& r : reclaimers) EXPECT_EQ(tarn_reclaimer_unregister(&r), 0);
  EXPECT_EQ(tarn_recover(SIZE_MAX, only_reclaim), 0u);
}

TEST(Reclaimers, WithNothingToGiveAreNotAsked) {
  std::string asked;
  Order order{&asked, 'x', 1};
  const tarn_reclaimer_options wanted = reclaiming(note_order, &order);
  tarn_reclaimer r;
  ASSERT_EQ(tarn_reclaimer_register(&r, &wanted), 0);
  errno = 0;
  EXPECT_EQ(tarn_reclaimer_register(&r, &wanted), -1);
  EXPECT_EQ(errno, EBUSY);
  tarn_reclaimer_set_estimate(&r, 0);
  EXPECT_EQ(tarn_recover(SIZE_MAX, only_reclaim), 0u);
  EXPECT_EQ(asked, "");
  tarn_reclaimer_set_estimate(&r, 5);
  EXPECT_EQ(tarn_recover(SIZE_MAX, only_reclaim), 1u);
  EXPECT_EQ(asked, "x");
  EXPECT_EQ(tarn_reclaimer_unregister(&r), 0);

  struct Estimating {
    std::size_t there;
    int* calls;
    std::size_t estimate() noexcept { return there; }
    std::size_t operator()(std::size_t) noexcept { return ++*calls, std::exchange(there, 0); }
  };
  int calls = 0;
  tarn::Reclaimer estimating(Estimating{7, &calls});
  EXPECT_EQ(tarn::recover(SIZE_MAX, tarn::Recover::reclaim), 7u);
  EXPECT_EQ(tarn::recover(SIZE_MAX, tarn::Recover::reclaim), 0u);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(estimating.stats().calls, 1u);
}

TEST(Reclaimers, SayMoreThanThereIsInTheWorld) {
  std::string asked;
  Order orders[] = {{&asked, 'a', SIZE_MAX - 1}, {&asked, 'b', SIZE_MAX}};
  tarn_reclaimer reclaimers[2];
  for (int i = 0; i < 2; ++i) {
    const tarn_reclaimer_options wanted = reclaiming(note_order, &orders[i]);
    ASSERT_EQ(tarn_reclaimer_register(&reclaimers[i], &wanted), 0);
  }
  EXPECT_EQ(tarn_recover(SIZE_MAX, only_reclaim), SIZE_MAX);
  EXPECT_EQ(tarn_recover(5, only_reclaim), SIZE_MAX - 1);
  for (tarn_reclaimer& r : reclaimers) EXPECT_EQ(tarn_reclaimer_unregister(&r), 0);
}

class ReclaimersOf : public EachMode {};
INSTANTIATE_TEST_SUITE_P(Modes, ReclaimersOf, every_mode);

TEST_P(ReclaimersOf, AHeapAreAskedAtItsCeiling) {
  const Heap heap(options(4 * mib, GetParam()));
  Cache cache(heap);
  Cache of_process;
  ASSERT_TRUE(of_process.add(mib));
  const tarn::ReclaimerOptions bound = bound_to(heap);
  tarn::Reclaimer asked([&](std::size_t wanted) { return cache.give(wanted); }, bound);
  tarn::Reclaimer not_asked([&](std::size_t wanted) { return of_process.give(wanted); });
  for (int i = 0; i < 15; ++i) ASSERT_TRUE(cache.add(250 * kib));
  void* const p = tarn_heap_allocate(heap, 2 * mib);
  EXPECT_NE(p, nullptr);
  EXPECT_LT(cache.count(), 15u);
  EXPECT_GE(cache.count(), 5u) << "no more than is wanted";
  EXPECT_EQ(of_process.count(), 1u);
  EXPECT_LE(committed(heap), 4 * mib);
  // Small blocks, too; and until there is nothing left.
  int allocated = 0;
  while (tarn_heap_allocate(heap, 500) != nullptr) ++allocated;
  EXPECT_EQ(cache.count(), 0u);
  EXPECT_GT(allocated, 3'000);
  EXPECT_LE(committed(heap), 4 * mib);
}

TEST(Reclaimers, OfChildrenAreAskedAtTheirParentsCeiling) {
  const Heap parent(options(2 * mib));
  tarn_heap_options below = options();
  below.parent = parent;
  const Heap child(below);
  const Heap other(options(2 * mib));
  Cache of_child(child);
  Cache of_other(other);
  tarn::ReclaimerOptions bound = bound_to(child);
  tarn::Reclaimer asked([&](std::size_t wanted) { return of_child.give(wanted); }, bound);
  bound.heap = other;
  tarn::Reclaimer not_asked([&](std::size_t wanted) { return of_other.give(wanted); }, bound);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(of_child.add(500 * kib));
    ASSERT_TRUE(of_other.add(500 * kib));
  }
  EXPECT_NE(tarn_heap_allocate(parent, mib), nullptr);
  EXPECT_EQ(of_other.count(), 3u);
  EXPECT_LT(of_child.count(), 3u);
  EXPECT_EQ(tarn_heap_allocate(child, 3 * mib), nullptr) << "more than the ceiling";
  EXPECT_GT(of_child.count(), 0u) << "for what can never be nobody is asked";
}

// The heap's own callback comes before.
TEST(Reclaimers, ComeAfterTheHeapsOwn) {
  Cache own;
  tarn_heap_options wanted = options(mib);
  wanted.context = &own;
  wanted.reclaim = [](tarn_heap, std::size_t bytes, void* context) {
    return static_cast<Cache*>(context)->give(bytes);
  };
  const Heap heap(wanted);
  Cache second(heap);
  const tarn::ReclaimerOptions bound = bound_to(heap);
  tarn::Reclaimer asked([&](std::size_t bytes) { return second.give(bytes); }, bound);
  ASSERT_TRUE(second.add(400 * kib));
  {
    Cache filler(heap);
    ASSERT_TRUE(filler.add(100));
  }
  own.~Cache();
  new (&own) Cache(heap);
  ASSERT_TRUE(own.add(400 * kib));
  EXPECT_NE(tarn_heap_allocate(heap, 500 * kib), nullptr);
  EXPECT_EQ(own.count(), 0u);
  EXPECT_EQ(second.count(), 1u);
  EXPECT_NE(tarn_heap_allocate(heap, 400 * kib), nullptr);
  EXPECT_EQ(second.count(), 0u);
}

TEST(Reclaimers, OfAHeapThatHasEndedAreNotCalled) {
  std::string asked;
  Order order{&asked, 'x', 1};
  tarn_reclaimer r;
  const tarn_heap_options plain = options();
  for (const bool deleted : {false, true}) {
    const tarn_heap heap = tarn_heap_create(&plain);
    tarn_reclaimer_options wanted = reclaiming(note_order, &order);
    wanted.heap = heap;
    ASSERT_EQ(tarn_reclaimer_register(&r, &wanted), 0);
    EXPECT_EQ(tarn_recover(SIZE_MAX, only_reclaim), 1u);
    ASSERT_EQ(deleted ? tarn_heap_delete(heap) : tarn_heap_destroy(heap), 0);
    const Heap in_its_place;
    EXPECT_EQ(tarn_recover(SIZE_MAX, only_reclaim), 0u);
    EXPECT_EQ(tarn_reclaimer_unregister(&r), 0);
  }
}

// Each time it is a new one, behind all that there are; it is not asked again and again.
TEST(Reclaimers, ThatRegisterThemselvesAnewAreAskedOnce) {
  struct Anew {
    tarn_reclaimer self;
    tarn_reclaimer_options wanted;
    int calls = 0;
  } anew;
  anew.wanted = reclaiming(
      [](std::size_t, void* context) -> std::size_t {
        auto* const a = static_cast<Anew*>(context);
        EXPECT_EQ(tarn_reclaimer_unregister(&a->self), 0);
        if (++a->calls < 100) {
          EXPECT_EQ(tarn_reclaimer_register(&a->self, &a->wanted), 0);
        }
        return 0;
      },
      &anew);
  ASSERT_EQ(tarn_reclaimer_register(&anew.self, &anew.wanted), 0);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(tarn_recover(SIZE_MAX, only_reclaim), 0u);
    EXPECT_EQ(anew.calls, i);
  }
  EXPECT_EQ(tarn_reclaimer_unregister(&anew.self), 0);
}

// What a callback does: it allocates, frees, registers, unregisters itself and asks for recovery.
struct Busy {
  tarn_reclaimer self;
  tarn_reclaimer made;
  int calls = 0;
  int inner = 0;
  std::size_t inner_recovered = 1;
  tarn_heap heap{};
};

TEST(Reclaimers, MayDoAlmostAnything) {
  const Heap heap(options(mib));
  Busy busy;
  busy.heap = heap;
  tarn_reclaimer_options wanted = reclaiming(
      [](std::size_t, void* context) -> std::size_t {
        auto* const b = static_cast<Busy*>(context);
        ++b->calls;
        tarn_free(tarn_malloc(1'000));
        // Its own heap is full; nobody is asked again.
        EXPECT_EQ(tarn_heap_allocate(b->heap, mib), nullptr);
        b->inner_recovered = tarn_recover(SIZE_MAX, TARN_RECOVER_RECLAIM);
        tarn_reclaimer_options second = TARN_RECLAIMER_OPTIONS();
        second.priority = 1;
        second.context = b;
        second.reclaim = [](std::size_t, void* c) -> std::size_t {
          auto* const inner = static_cast<Busy*>(c);
          ++inner->inner;
          EXPECT_EQ(tarn_reclaimer_unregister(&inner->made), 0);
          return 3;
        };
        EXPECT_EQ(tarn_reclaimer_register(&b->made, &second), 0);
        EXPECT_EQ(tarn_reclaimer_unregister(&b->self), 0);
        std::memset(&b->self, 0xAB, sizeof b->self);  // It is the program's again.
        return 2;
      },
      &busy);
  ASSERT_NE(tarn_heap_allocate(heap, 10), nullptr);
  ASSERT_EQ(tarn_reclaimer_register(&busy.self, &wanted), 0);
  EXPECT_EQ(tarn_recover(SIZE_MAX, only_reclaim), 2u);
  EXPECT_EQ(busy.calls, 1);
  EXPECT_EQ(busy.inner, 0) << "it has come while others were asked";
  EXPECT_EQ(busy.inner_recovered, 0u);
  EXPECT_EQ(tarn_recover(SIZE_MAX, only_reclaim), 3u);
  EXPECT_EQ(busy.inner, 1);
  EXPECT_EQ(tarn_recover(SIZE_MAX, only_reclaim), 0u);
  EXPECT_EQ(busy.calls, 1);
}

// In the scope of the heap that is full, callbacks have malloc.
TEST(Reclaimers, HaveMallocInTheScopeOfAFullHeap) {
  const Heap heap(options(mib));
  Cache cache(heap);
  void* got = nullptr;
  const tarn::ReclaimerOptions bound = bound_to(heap);
  tarn::Reclaimer asked(
      [&](std::size_t wanted) {
        got = tarn_malloc(2 * mib);
        return cache.give(wanted);
      },
      bound);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(cache.add(300 * kib));
  const tarn_heap before = tarn_heap_set_default(heap);
  void* const p = tarn_malloc(300 * kib);
  tarn_heap_set_default(before);
  EXPECT_NE(p, nullptr);
  EXPECT_TRUE(tarn_heap_owns(heap, p));
  EXPECT_NE(got, nullptr);
  tarn_free(got);
}

// They may have a scope of their own meanwhile; the caller's is the same afterwards.
TEST(Reclaimers, HaveScopesOfTheirOwn) {
  const Heap heap(options(mib));
  const Heap work;
  Cache cache(heap);
  int calls = 0;
  const tarn::ReclaimerOptions bound = bound_to(heap);
  tarn::Reclaimer asked(
      [&](std::size_t wanted) {
        ++calls;
        const tarn_heap before = tarn_heap_set_default(work);
        void* const p = tarn_malloc(100);
        EXPECT_TRUE(tarn_heap_owns(work, p));
        tarn_free(p);
        tarn_heap_set_default(before);
        return cache.give(wanted);
      },
      bound);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(cache.add(300 * kib));
  const tarn_heap before = tarn_heap_set_default(heap);
  void* const large = tarn_malloc(300 * kib);
  void* const small = tarn_malloc(100);
  tarn_heap_set_default(before);
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(tarn_heap_owns(heap, large));
  EXPECT_TRUE(tarn_heap_owns(heap, small));
  tarn_free(large);
  tarn_free(small);
}

TEST(Reclaimers, UnregisteringWaitsForTheCallback) {
  for (int round = 0; round < 20; ++round) {
    struct Slow {
      std::latch begun{1};
      std::atomic<bool> go{false};
      std::atomic<bool> ended{false};
    } slow;
    tarn_reclaimer r;
    const tarn_reclaimer_options wanted = reclaiming(
        [](std::size_t, void* context) -> std::size_t {
          auto* const s = static_cast<Slow*>(context);
          s->begun.count_down();
          while (!s->go) std::this_thread::yield();
          s->ended = true;
          return 1;
        },
        &slow);
    ASSERT_EQ(tarn_reclaimer_register(&r, &wanted), 0);
    std::thread recovers([] { EXPECT_EQ(tarn_recover(SIZE_MAX, only_reclaim), 1u); });
    slow.begun.wait();
    std::thread lets_go([&] { slow.go = true; });
    EXPECT_EQ(tarn_reclaimer_unregister(&r), 0);
    EXPECT_TRUE(slow.ended);
    std::memset(&r, 0xAB, sizeof r);
    recovers.join();
    lets_go.join();
  }
}

TEST(RecoverSums, CountWhatCame) {
  const tarn_recover_stats before = sums();
  const Heap heap(options(mib));
  Marked p(heap, 600 * kib, 1);
  ASSERT_TRUE(p.fill());
  const tarn::ReclaimerOptions bound = bound_to(heap);
  tarn::Reclaimer asked([](std::size_t) { return std::size_t{0}; }, bound);
  ASSERT_NE(tarn_heap_allocate(heap, 600 * kib), nullptr);
  EXPECT_EQ(tarn_heap_allocate(heap, 600 * kib), nullptr);
  const tarn_recover_stats after = sums();
  EXPECT_EQ(after.by_allocations - before.by_allocations, 2u);
  EXPECT_EQ(after.by_allocations_in_vain - before.by_allocations_in_vain, 1u);
  EXPECT_EQ(after.callbacks_in_vain - before.callbacks_in_vain, 2u);
  EXPECT_EQ(after.purged - before.purged, 1u);
  EXPECT_GE(after.purged_bytes - before.purged_bytes, 600 * kib);
  EXPECT_EQ(after.refills - before.refills, 1u);
  EXPECT_EQ(asked.stats().calls_in_vain, 2u);
}

}  // namespace
}  // namespace recovering
