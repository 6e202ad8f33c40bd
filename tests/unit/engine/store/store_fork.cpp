// The store in the child of a fork, after the thread that held its lock has vanished.
//
// SPDX-License-Identifier: MIT
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "child.hpp"
#include "platform/os/vm.hpp"
#include "survey.hpp"

namespace tarn {

struct StoreAccess {
  static void lock() { store.lock_.lock(); }
  static void unlock() { store.lock_.unlock(); }
  static void remove(Span* span) { store.remove_locked(span); }
  static void begin_purge(Span* span) {
    store.remove_locked(span);
    store.begin_purge_locked(span);
    store.settle_locked();
  }
  // As give_all() begins one, of a span that is in use.
  static void begin_purge_of_used(Span* span) {
    page_map.forget(span->base, span->slices);
    lock();
    store.begin_purge_locked(span);
    unlock();
  }
  // Holds a new chunk that is not counted as yet.
  static void begin_growth(std::size_t slices) {
    auto* const base = static_cast<std::byte*>(os::vm_reserve(slices << slice_shift));
    ASSERT_TRUE(base != nullptr && page_map.cover(base, slices << slice_shift));
    ASSERT_TRUE(store.descriptors_.provide(1));
    store.begin_growth_locked(store.make_span_locked(base, slices));
  }
  static void change(const Span* span) { store.change_locked(span); }
  static void settle() { store.settle_locked(); }
  static void end_purge(Span* span) { store.end_purge_locked(span); }
  static void give_dirty(Span* span) {
    store.change_locked(span);
    store.insert_locked(store.join_locked(span, SpanKind::dirty), SpanKind::dirty);
    store.settle_locked();
  }
  static std::size_t purging() { return store.purging_slices_; }
};

namespace {

class StoreForkTest : public testing::Test {
 protected:
  void SetUp() override {
    store.configure(3600000, std::size_t{1} << 40);
    store.purge(time_in(0), 0, 0);
    // Free, used, free, ...
    for (std::size_t i = 0; i < 9; ++i) spans_.push_back(take_span(10 + i));
    for (std::size_t i = 0; i < 9; i += 2) give_span(spans_[i]);
  }
  void TearDown() override {
    for (std::size_t i = 1; i < 9; i += 2) give_span(spans_[i]);
    store.purge(time_in(0), 0, 0);
    EXPECT_EQ(store.totals().committed_bytes, 0u);
  }

  // Runs in a child whose other thread vanished while it held the lock and had done `half`.
  template <class Half, class Body>
  void in_child(Half half, Body body) {
    in_unrepaired_child([&] {
      survivor_ = os::thread_id();
      std::thread([&] {
        StoreAccess::lock();
        half();
      }).join();
      store.recover_after_fork();
      EXPECT_TRUE(store.check());
      body();
      use();
    });
  }

  // Everything that is free can be had, once, and what was in use is none of it.
  void use() {
    const std::size_t free = free_slices(SpanKind::dirty) + free_slices(SpanKind::clean);
    std::vector<Span*> taken;
    for (std::size_t slices = 0; slices < free; slices += taken.back()->slices) {
      taken.push_back(take_span(1));
      ASSERT_NE(taken.back(), nullptr);
      for (std::size_t i = 1; i < 9; i += 2) {
        EXPECT_FALSE(taken.back()->base >= spans_[i]->base &&
                     taken.back()->base < spans_[i]->end());
      }
    }
    EXPECT_EQ(free_slices(SpanKind::dirty) + free_slices(SpanKind::clean), 0u);
    for (Span* span : taken) give_span(span);
    for (std::size_t i = 1; i < 9; i += 2) give_span(spans_[i]);
    EXPECT_TRUE(store.check());
    store.purge(time_in(0), 0, 0);
    EXPECT_TRUE(store.check());
    EXPECT_EQ(free_slices(SpanKind::dirty), 0u);
  }

  std::vector<Span*> spans_;
  std::uint64_t survivor_ = 0;  // In a child: who is left.
};

TEST_F(StoreForkTest, ListsThatAreWholeStayAsTheyAre) {
  const std::size_t dirty = free_slices(SpanKind::dirty);
  const std::size_t clean = free_slices(SpanKind::clean);
  in_child([] {},
           [&] {
             EXPECT_EQ(free_slices(SpanKind::dirty), dirty);
             EXPECT_EQ(free_slices(SpanKind::clean), clean);
           });
}

// Nobody has it.
TEST_F(StoreForkTest, ASpanThatWasBeingTakenIsFree) {
  Span* const half_taken = spans_[4];
  ASSERT_EQ(half_taken->kind_now(), SpanKind::dirty);
  const std::size_t dirty = free_slices(SpanKind::dirty);
  in_child(
      [&] {
        StoreAccess::remove(half_taken);
        half_taken->base += slice_bytes;  // And it still says dirty, and its old length.
      },
      [&] {
        EXPECT_EQ(half_taken->kind_now(), SpanKind::dirty);
        EXPECT_EQ(half_taken->slices, 14u);
        EXPECT_EQ(free_slices(SpanKind::dirty), dirty);
        EXPECT_EQ(store.totals().committed_bytes, (dirty + 11 + 13 + 15 + 17) * slice_bytes);
      });
}

TEST_F(StoreForkTest, AChunkThatWasBeingAddedIsFree) {
  constexpr std::size_t chunk_slices = 2500;
  const std::size_t free = free_slices(SpanKind::dirty) + free_slices(SpanKind::clean);
  const std::size_t reserved = store.totals().reserved_bytes;
  in_child([&] { StoreAccess::begin_growth(chunk_slices); },
           [&] {
             EXPECT_EQ(free_slices(SpanKind::dirty) + free_slices(SpanKind::clean),
                       free + chunk_slices);
             EXPECT_EQ(store.totals().reserved_bytes, reserved + chunk_slices * slice_bytes);
           });
}

// Between two free neighbours, of which one has been joined with it.
TEST_F(StoreForkTest, ASpanThatWasBeingGivenIsFree) {
  Span* const half_given = spans_[3];
  Span* const joined = spans_[4];
  const std::size_t dirty = free_slices(SpanKind::dirty);
  in_unrepaired_child([&] {
    std::thread([&] {
      StoreAccess::lock();
      page_map.clear_ends(half_given->base, half_given->slices);
      StoreAccess::change(half_given);
      StoreAccess::remove(joined);
      half_given->slices += joined->slices;
      StoreAccess::remove(spans_[2]);
    }).join();
    store.recover_after_fork();
    EXPECT_TRUE(store.check());
    EXPECT_EQ(free_slices(SpanKind::dirty), dirty + 13);
    EXPECT_EQ(page_map.span_of(spans_[2]->base)->slices, 12u + 13u + 14u);
  });
}

// A thread that forks in a signal handler may hold the lock itself, in the middle of a change.
TEST_F(StoreForkTest, ListsInUseByTheSurvivorAreNotTouched) {
  in_unrepaired_child([&] {
    std::thread([&] {
      StoreAccess::lock();
      StoreAccess::begin_purge(spans_[4]);
      StoreAccess::unlock();
    }).join();
    StoreAccess::lock();
    StoreAccess::change(spans_[2]);
    store.recover_after_fork();
    EXPECT_EQ(spans_[4]->kind_now(), SpanKind::purging) << "nobody's, for good";
    EXPECT_EQ(StoreAccess::purging(), 14u);
    StoreAccess::settle();
    StoreAccess::unlock();
    EXPECT_TRUE(store.check());
    store.recover_after_fork();  // A child of this child.
    EXPECT_EQ(spans_[4]->kind_now(), SpanKind::dirty);
    EXPECT_TRUE(store.check());
  });
}

TEST_F(StoreForkTest, CheckFindsAChangeThatIsNotSettledAndAPurgeOfNobody) {
  Span* const span = spans_[4];
  StoreAccess::lock();
  StoreAccess::change(span);
  StoreAccess::unlock();
  EXPECT_FALSE(store.check());
  StoreAccess::lock();
  StoreAccess::settle();
  StoreAccess::unlock();
  EXPECT_TRUE(store.check());

  StoreAccess::lock();
  StoreAccess::begin_purge(span);
  StoreAccess::unlock();
  EXPECT_TRUE(store.check());
  span->remote.store(0);
  EXPECT_FALSE(store.check()) << "no thread is at it";
  span->remote.store(os::thread_id());
  page_map.set_ends(span);
  EXPECT_FALSE(store.check()) << "an address leads to it";
  page_map.clear_ends(span->base, span->slices);
  StoreAccess::lock();
  StoreAccess::end_purge(span);
  StoreAccess::give_dirty(span);
  StoreAccess::unlock();
  EXPECT_TRUE(store.check());
}

TEST_F(StoreForkTest, ASpanWithOneEndOnTheMapIsLeftAlone) {
  Span* const half_given = spans_[2];
  in_child([&] { page_map.clear(half_given->end() - slice_bytes, 1); },
           [&] { EXPECT_EQ(half_given->kind_now(), SpanKind::lost); });
}

// A second fork from such a child finds the same again.
TEST_F(StoreForkTest, RecoveryCanBeRepeated) {
  in_child([&] { StoreAccess::remove(spans_[4]); },
           [&] {
             const std::size_t dirty = free_slices(SpanKind::dirty);
             std::thread(StoreAccess::lock).join();
             store.recover_after_fork();
             EXPECT_TRUE(store.check());
             EXPECT_EQ(free_slices(SpanKind::dirty), dirty);
           });
}

// A heap that ends purges its spans without putting them on the lists of free ones.
TEST_F(StoreForkTest, WhatAnEndingHeapWasPurgingJoinsItsNeighbours) {
  const std::size_t dirty = free_slices(SpanKind::dirty);
  in_unrepaired_child([&] {
    std::thread([&] { StoreAccess::begin_purge_of_used(spans_[3]); }).join();
    store.recover_after_fork();
    EXPECT_TRUE(store.check());
    EXPECT_EQ(free_slices(SpanKind::dirty), dirty + 13);
    const Span* const joined = page_map.span_of(spans_[2]->base);
    EXPECT_EQ(joined->slices, 12u + 13u + 14u);
  });
}

// What a thread that has vanished was doing outside the lock, when another may have held it.
class StoreForkPurgeTest : public StoreForkTest, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    StoreForkTest::SetUp();
    dirty_ = free_slices(SpanKind::dirty);
    reserved_ = store.totals().reserved_bytes;
  }
  // As a purge begins.
  void begin_purge(std::size_t i, SpanKind kind) {
    StoreAccess::begin_purge(spans_[i]);
    spans_[i]->set_kind(kind);
  }
  template <class Half, class Body>
  void in_child(Half half, Body body) {
    StoreForkTest::in_child(
        [&] {
          half();
          if (!GetParam()) StoreAccess::unlock();
        },
        body);
  }

  std::size_t dirty_ = 0;
  std::uint64_t reserved_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Lock, StoreForkPurgeTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Held" : "Free"; });

TEST_P(StoreForkPurgeTest, WhatWasBeingAdvisedIsDirtyAgain) {
  in_child(
      [&] {
        begin_purge(2, SpanKind::purging);
        begin_purge(6, SpanKind::purging);
      },
      [&] {
        EXPECT_EQ(free_slices(SpanKind::dirty), dirty_);
        EXPECT_EQ(StoreAccess::purging(), 0u);
        EXPECT_EQ(store.totals().reserved_bytes, reserved_);
      });
}

// The addresses may be gone, or something else's.
TEST_P(StoreForkPurgeTest, WhatWasBeingUnmappedIsLeftAlone) {
  in_child([&] { begin_purge(4, SpanKind::unmapping); },
           [&] {
             EXPECT_EQ(free_slices(SpanKind::dirty), dirty_ - 14);
             EXPECT_EQ(StoreAccess::purging(), 0u);
             EXPECT_EQ(store.totals().reserved_bytes, reserved_ - 14 * slice_bytes);
             EXPECT_NE(page_map.span_of(spans_[4]->base), spans_[4]);
           });
}

// Forked in a signal handler that interrupted the purge, which goes on in the child.
TEST_P(StoreForkPurgeTest, WhatThisThreadPurgesStaysWithIt) {
  in_child(
      [&] {
        begin_purge(2, SpanKind::purging);
        begin_purge(4, SpanKind::unmapping);
        for (const std::size_t i : {2u, 4u}) spans_[i]->remote.store(survivor_);
      },
      [&] {
        EXPECT_EQ(free_slices(SpanKind::dirty), dirty_ - 12 - 14);
        EXPECT_EQ(StoreAccess::purging(), 12u + 14u);
        EXPECT_EQ(spans_[2]->kind_now(), SpanKind::purging);
        EXPECT_EQ(spans_[4]->kind_now(), SpanKind::unmapping);
      });
}

}  // namespace
}  // namespace tarn
