// When free memory goes back to the OS, and how much of it.
//
// SPDX-License-Identifier: MIT
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "os/fake/fake.hpp"
#include "survey.hpp"

namespace tarn {
namespace {

constexpr std::size_t keep_everything = std::size_t{1} << 40;

class PurgeTest : public testing::Test {
 protected:
  void SetUp() override {
    store.configure(3600000, keep_everything);
    store.purge(time_in(0), 0, 0);
  }
  void TearDown() override {
    os::fake::fail_at(0, false);
    for (Span* span : between_) give_span(span);
    store.purge(time_in(0), 0, 0);
    EXPECT_TRUE(store.check());
    EXPECT_TRUE(all_joined());
    EXPECT_EQ(store.totals().committed_bytes, 0u);
  }

  // `count` dirty spans that do not touch each other.
  void make_dirty(std::size_t count, std::size_t slices) {
    std::vector<Span*> spans;
    for (std::size_t i = 0; i < count; ++i) {
      spans.push_back(take_span(slices));
      do {
        between_.push_back(take_span(1));  // Smaller holes elsewhere are filled first.
      } while (between_.back()->base != spans[i]->end());
      std::memset(spans[i]->base, 1, spans[i]->bytes());
    }
    for (Span* span : spans) give_span(span);
  }

  std::vector<Span*> between_;
};

TEST_F(PurgeTest, NothingGoesBeforeItsTime) {
  make_dirty(3, 10);
  EXPECT_EQ(store.purge(time_in(0), 1000, 0), 0u);
  EXPECT_EQ(store.purge(time_in(500), 1000, 0), 0u);
  EXPECT_EQ(free_slices(SpanKind::dirty), 30u);
  EXPECT_EQ(store.purge(time_in(1000), 1000, 0), 30 * slice_bytes);
  EXPECT_EQ(free_slices(SpanKind::dirty), 0u);
}

// A span may be younger than the time that a purge began with, by another thread.
TEST_F(PurgeTest, ASpanFromTheFutureStays) {
  make_dirty(2, 10);
  EXPECT_EQ(store.purge(time_in(0) - 100, 1000, 0), 0u);
  EXPECT_EQ(free_slices(SpanKind::dirty), 20u);
}

TEST_F(PurgeTest, KeepsWhatItShould) {
  make_dirty(10, 10);
  EXPECT_EQ(store.purge(time_in(0), 0, 35 * slice_bytes), 60 * slice_bytes);
  EXPECT_EQ(free_slices(SpanKind::dirty), 40u) << "another span would leave too little";
  EXPECT_EQ(store.purge(time_in(0), 0, 40 * slice_bytes), 0u);
  EXPECT_EQ(store.purge(time_in(0), 0, 0), 40 * slice_bytes);
}

TEST_F(PurgeTest, MoreSpansThanOnePassTakes) {
  make_dirty(150, 2);
  EXPECT_EQ(free_slices(SpanKind::dirty), 300u);
  const std::size_t before = os::fake::bytes_purged();
  EXPECT_EQ(store.purge(time_in(0), 0, 0), 300 * slice_bytes);
  EXPECT_EQ(os::fake::bytes_purged() - before, 300 * slice_bytes);
}

TEST_F(PurgeTest, GivingPurgesWhatIsOldByItself) {
  store.configure(0, 0);
  Span* const span = take_span(20);
  std::memset(span->base, 1, span->bytes());
  give_span(span);
  EXPECT_EQ(free_slices(SpanKind::dirty), 0u);
  EXPECT_TRUE(store.check());
}

TEST_F(PurgeTest, GivingKeepsWhatIsYoung) {
  store.configure(3600000, 0);
  Span* const span = take_span(20);
  give_span(span);
  EXPECT_EQ(free_slices(SpanKind::dirty), 20u);
}

TEST_F(PurgeTest, AHugeSpanGoesBackWithItsAddresses) {
  const std::size_t slices = (std::size_t{192} << 20) >> slice_shift;
  const std::size_t before = os::fake::bytes_reserved();
  Span* const span = take_span(slices);
  ASSERT_NE(span, nullptr);
  const std::uint64_t purged = store.totals().purged_bytes;
  give_span(span);
  EXPECT_GE(store.purge(time_in(0), 0, 0), slices * slice_bytes);
  EXPECT_LE(os::fake::bytes_reserved(), before + (std::size_t{64} << 20));
  EXPECT_EQ(store.totals().purged_bytes, purged);
}

TEST_F(PurgeTest, ARefusalEndsThePurgeAndLosesNothing) {
  make_dirty(5, 10);
  os::fake::fail_at(1, true);
  EXPECT_EQ(store.purge(time_in(0), 0, 0), 0u);
  os::fake::fail_at(0, false);
  EXPECT_TRUE(store.check());
  EXPECT_EQ(free_slices(SpanKind::dirty), 50u);
  EXPECT_EQ(store.totals().committed_bytes, (50 + between_.size()) * slice_bytes);
  EXPECT_EQ(store.purge(time_in(0), 0, 0), 50 * slice_bytes);
}

}  // namespace
}  // namespace tarn
