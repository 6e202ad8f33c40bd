// The store in the child of a fork, after the thread that held its lock has vanished.
//
// SPDX-License-Identifier: MIT
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "child.hpp"
#include "survey.hpp"

namespace tarn {

struct StoreAccess {
  static void lock() { store.lock_.lock(); }
  static void remove(Span* span) { store.remove_locked(span); }
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

TEST_F(StoreForkTest, ASpanThatWasBeingTakenIsLeftAlone) {
  Span* const half_taken = spans_[4];
  ASSERT_EQ(half_taken->kind_now(), SpanKind::dirty);
  const std::size_t dirty = free_slices(SpanKind::dirty);
  in_child(
      [&] {
        StoreAccess::remove(half_taken);
        half_taken->base += slice_bytes;  // And it still says dirty, and its old length.
      },
      [&] {
        EXPECT_EQ(half_taken->kind_now(), SpanKind::purging);
        EXPECT_EQ(free_slices(SpanKind::dirty), dirty - 14);
        EXPECT_EQ(store.totals().committed_bytes, (dirty + 11 + 13 + 15 + 17) * slice_bytes);
      });
}

TEST_F(StoreForkTest, ASpanWithOneEndOnTheMapIsLeftAlone) {
  Span* const half_given = spans_[2];
  in_child([&] { page_map.clear(half_given->end() - slice_bytes, 1); },
           [&] { EXPECT_EQ(half_given->kind_now(), SpanKind::purging); });
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

}  // namespace
}  // namespace tarn
