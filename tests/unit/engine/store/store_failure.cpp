// What the store does when the OS refuses.
//
// SPDX-License-Identifier: MIT
#include <vector>

#include <gtest/gtest.h>

#include "platform/os/fake/fake.hpp"
#include "survey.hpp"

namespace tarn {
namespace {

constexpr std::size_t huge_slices = (std::size_t{100} << 20) >> slice_shift;

class StoreFailureTest : public testing::Test {
 protected:
  void SetUp() override {
    store.configure(3600000, std::size_t{1} << 40);
    store.purge(time_in(0), 0, 0);
  }
  void TearDown() override {
    os::fake::fail_at(0, false);
    store.purge(time_in(0), 0, 0);
    EXPECT_TRUE(store.check());
    EXPECT_EQ(store.totals().committed_bytes, 0u);
  }
  // More than is free.
  static std::size_t too_many() { return free_slices(SpanKind::clean) + huge_slices; }
};

TEST_F(StoreFailureTest, NullWhenNoChunkCanBeHad) {
  const std::size_t slices = too_many();
  os::fake::fail_at(1, true);
  EXPECT_EQ(store.take(slices, 1), nullptr);
  EXPECT_TRUE(store.check());
  os::fake::fail_at(0, false);
  Span* const span = take_span(slices);
  ASSERT_NE(span, nullptr);
  give_span(span);
}

// A store with clean and with dirty memory, and an OS that has no more than is left when so much of
// it has been given back and `slices` have been taken.
class ShortOfAddressesTest : public StoreFailureTest {
 protected:
  void SetUp() override {
    StoreFailureTest::SetUp();
    give_span(take_span(100));
    ASSERT_EQ(free_slices(SpanKind::dirty), 100u);
    slices_ = too_many();
    before_ = os::fake::bytes_reserved();
  }
  void TearDown() override {
    os::fake::limit_bytes(0);
    StoreFailureTest::TearDown();
  }
  void limit_after(std::size_t given_slices) const {
    os::fake::limit_bytes(before_ + (slices_ - given_slices) * slice_bytes);
  }

  std::size_t slices_ = 0;
  std::size_t before_ = 0;
};

TEST_F(ShortOfAddressesTest, CleanMemoryGoesAndWarmMemoryStays) {
  limit_after(free_slices(SpanKind::clean));
  Span* const span = take_span(slices_);
  ASSERT_NE(span, nullptr);
  EXPECT_EQ(free_slices(SpanKind::dirty), 100u);
  EXPECT_TRUE(store.check());
  give_span(span);
}

TEST_F(ShortOfAddressesTest, TheLastResortIsWarmMemory) {
  limit_after(free_slices(SpanKind::clean) + 100);
  Span* const span = take_span(slices_);
  ASSERT_NE(span, nullptr);
  EXPECT_EQ(free_slices(SpanKind::dirty), 0u);
  EXPECT_LT(os::fake::bytes_reserved(), before_ + slices_ * slice_bytes);
  EXPECT_TRUE(store.check());
  give_span(span);
}

TEST_F(ShortOfAddressesTest, NothingGoesForWhatCannotBeHadEvenSo) {
  limit_after(free_slices(SpanKind::clean) + 101);
  EXPECT_EQ(store.take(slices_, 1), nullptr);
  EXPECT_EQ(free_slices(SpanKind::dirty), 100u);
  EXPECT_EQ(os::fake::bytes_reserved(), before_);
  EXPECT_TRUE(store.check());
}

TEST_F(StoreFailureTest, AShrinkWithoutADescriptorLeavesTheSpanAsItIs) {
  std::vector<Span*> spans;
  for (int i = 0; i < 3000; ++i) spans.push_back(take_span(2));
  // Each shrink needs a descriptor, and a region of them holds fewer than there are spans.
  os::fake::fail_at(1, true);
  Span* refused = nullptr;
  for (Span* span : spans) {
    if (store.shrink(span, 1)) continue;
    refused = span;
    break;
  }
  os::fake::fail_at(0, false);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->slices, 2u);
  EXPECT_EQ(page_map.span_of(refused->end() - 1), refused);
  EXPECT_TRUE(store.check());
  EXPECT_TRUE(store.shrink(refused, 1));
  for (Span* span : spans) give_span(span);
}

// Each call fails once: that for the page map's leaves too, after which there may be room again.
TEST_F(StoreFailureTest, ARemapIsDoneWholeOrNotAtAll) {
  constexpr std::size_t slices =
      (std::size_t{3} << 30) >> slice_shift;  // Of addresses new to the map.
  bool reached = true;
  for (std::uint64_t n = 1; reached; ++n) {
    Span* const span = take_span(100);
    os::fake::fail_at(n, false);
    const bool done = store.remap(span, slices, 0);
    reached = os::fake::calls() >= n;
    os::fake::fail_at(0, false);
    EXPECT_EQ(span->slices, done ? slices : 100u) << n;
    EXPECT_EQ(page_map.span_of(span->base), span) << n;
    EXPECT_EQ(page_map.span_of(span->end() - 1), span) << n;
    EXPECT_TRUE(store.check());
    give_span(span);
    store.purge(time_in(0), 0, 0);
  }
}

// Every call of a busy scenario fails once, alone or with all that follow.
TEST_F(StoreFailureTest, EveryCallOfAScenario) {
  for (const bool onwards : {false, true}) {
    for (std::uint64_t n = 1;; ++n) {
      ASSERT_LT(n, 1000u);
      os::fake::fail_at(n, onwards);
      std::vector<Span*> spans;
      std::uint64_t nulls = 0;
      const auto add = [&](std::size_t slices, std::size_t alignment) {
        Span* const span = take_span(slices, alignment);
        if (span != nullptr) spans.push_back(span);
        nulls += span == nullptr;
        ASSERT_TRUE(store.check());
      };
      for (std::size_t i = 0; i < 40; ++i) add(i * i + 1, 1 << i % 5);
      add(huge_slices * 2, 1);
      for (std::size_t i = 0; i < spans.size(); i += 2) {
        if (spans[i]->slices > 3) store.shrink(spans[i], spans[i]->slices / 2);
        store.extend(spans[i], spans[i]->slices + 3);
        ASSERT_TRUE(store.check());
      }
      store.purge(time_in(0), 0, 100 * slice_bytes);
      for (Span* span : spans) give_span(span);
      store.purge(time_in(0), 0, 0);
      ASSERT_TRUE(store.check());
      const bool reached = os::fake::calls() >= n;
      os::fake::fail_at(0, false);
      store.purge(time_in(0), 0, 0);
      ASSERT_EQ(store.totals().committed_bytes, 0u) << "call " << n;
      if (!reached) {
        EXPECT_EQ(nulls, 0u);
        EXPECT_GT(n, 2u);
        break;
      }
    }
  }
}

}  // namespace
}  // namespace tarn
