// Records and descriptors: each group of threads has its own, from pieces of its own.
//
// SPDX-License-Identifier: MIT
#include "engine/spans/record_memory.hpp"

#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "platform/base/bits.hpp"
#include "platform/os/fake/fake.hpp"
#include "survey.hpp"

namespace tarn {

struct RecordsAccess {
  static Metadata::Piece& piece(Records& records) { return records.pieces_[thread_group]; }
};

namespace {

constexpr std::size_t record_bytes = 128;

std::uintptr_t piece_of(const void* record) { return address_of(record) / Records::piece_bytes; }

class RecordsTest : public testing::Test {
 protected:
  ~RecordsTest() override {
    os::fake::fail_at(0, false);
    thread_group = group_;
  }

 private:
  const std::uint8_t group_ = thread_group;
};

TEST_F(RecordsTest, AreZeroAlignedAndApart) {
  Records records;
  std::set<std::uintptr_t> seen;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{64}, record_bytes, std::size_t{960},
                                  std::size_t{4096}, std::size_t{5000}, std::size_t{400000}}) {
    for (int i = 0; i < 40; ++i) {
      thread_group = static_cast<std::uint8_t>(i % 3);
      auto* const record = static_cast<unsigned char*>(records.allocate(bytes));
      ASSERT_NE(record, nullptr);
      ASSERT_EQ(address_of(record) % cache_line_bytes, 0u);
      for (std::size_t b = 0; b < bytes; ++b) ASSERT_EQ(record[b], 0) << bytes;
      std::memset(record, 0xee, bytes);
      const auto next = seen.lower_bound(address_of(record));
      ASSERT_TRUE(next == seen.end() || *next >= address_of(record) + bytes);
      seen.insert(address_of(record));
    }
  }
}

TEST_F(RecordsTest, OfTwoGroupsShareNoPiece) {
  Records records;
  std::set<std::uintptr_t> pieces[2];
  for (int i = 0; i < 4000; ++i) {
    thread_group = static_cast<std::uint8_t>(i % 2);
    pieces[i % 2].insert(piece_of(records.allocate(record_bytes)));
  }
  for (const std::uintptr_t piece : pieces[0]) EXPECT_EQ(pieces[1].count(piece), 0u);
}

TEST_F(RecordsTest, OfOneGroupLieSideBySide) {
  Records records;
  thread_group = 1;
  auto* const first = static_cast<std::byte*>(records.allocate(960));
  for (std::size_t i = 1; i < 30; ++i) {  // Over the end of a piece.
    EXPECT_EQ(records.allocate(960), first + i * 960);
  }
}

TEST_F(RecordsTest, ARefusalIsNullAndTheNextAttemptWorks) {
  alignas(Records::piece_bytes) Records records;  // So the first piece is nearly whole.
  thread_group = 0;
  os::fake::fail_at(1, true);
  ASSERT_NE(records.allocate(record_bytes), nullptr) << "from what is part of the object";
  thread_group = 1;
  while (records.allocate(record_bytes) != nullptr) {
  }
  thread_group = 0;
  EXPECT_NE(records.allocate(record_bytes), nullptr) << "what is left of the group's own piece";
  thread_group = 1;
  EXPECT_EQ(records.allocate(record_bytes), nullptr);
  os::fake::fail_at(0, false);
  EXPECT_NE(records.allocate(record_bytes), nullptr);
}

TEST_F(RecordsTest, AfterARepairNothingIsHandedOutTwice) {
  Records records;
  std::set<void*> seen;
  for (int i = 0; i < 300; ++i) {
    if (i % 50 == 49) records.repair();
    thread_group = static_cast<std::uint8_t>(i % 3);
    void* const record = records.allocate(960);
    std::size_t zeros = 0;
    for (std::size_t b = 0; b < 960; ++b) zeros += static_cast<unsigned char*>(record)[b] == 0;
    ASSERT_EQ(zeros, 960u);
    std::memset(record, 0xee, 960);
    ASSERT_TRUE(seen.insert(record).second);
  }
}

#ifdef TARN_DEBUG
TEST_F(RecordsTest, CheckFindsAPieceThatIsNotZeroOrEndsBeforeItsStart) {
  Records records;
  EXPECT_TRUE(records.check());
  records.allocate(record_bytes);
  EXPECT_TRUE(records.check());
  Metadata::Piece& piece = RecordsAccess::piece(records);
  while (piece.bytes() == 0) records.allocate(record_bytes);  // The record may have been its last.
  piece.start[5] = std::byte{1};
  EXPECT_FALSE(records.check()) << "somebody has written beyond a record";
  piece.start[5] = std::byte{0};
  std::swap(piece.start, piece.end);
  EXPECT_FALSE(records.check());
  std::swap(piece.start, piece.end);
  EXPECT_TRUE(records.check());
}
#endif

class DescriptorsTest : public RecordsTest {};

TEST_F(DescriptorsTest, CheckFindsASpareOneInUseAndAWrongCount) {
  Descriptors descriptors;
  thread_group = 2;
  ASSERT_TRUE(descriptors.provide(3));
  EXPECT_TRUE(descriptors.check());
  Span* const span = descriptors.take();
  descriptors.give(span);
  EXPECT_TRUE(descriptors.check());
  span->set_kind(SpanKind::large);
  EXPECT_FALSE(descriptors.check());
  span->set_kind(SpanKind::idle);
  Span* const next = std::exchange(span->next, nullptr);
  EXPECT_FALSE(descriptors.check()) << "fewer than counted";
  span->next = next;
  EXPECT_TRUE(descriptors.check());
}

TEST_F(DescriptorsTest, GoBackToTheGroupThatTheyCameFrom) {
  Descriptors descriptors;
  thread_group = 5;
  ASSERT_TRUE(descriptors.provide(2));
  Span* const first = descriptors.take();
  Span* const second = descriptors.take();
  EXPECT_TRUE(Descriptors::is_near(first));
  thread_group = 6;
  EXPECT_FALSE(Descriptors::is_near(first));
  descriptors.give(first);
  ASSERT_TRUE(descriptors.provide(1));
  Span* const other = descriptors.take();
  EXPECT_NE(piece_of(other), piece_of(first));
  thread_group = 5;
  ASSERT_TRUE(descriptors.provide(1));
  EXPECT_EQ(descriptors.take(), first);
  EXPECT_NE(second, first);
}

TEST_F(DescriptorsTest, AreLentByOtherGroupsWhenTheOsRefuses) {
  Descriptors descriptors;
  thread_group = 1;
  os::fake::fail_at(1, true);
  std::vector<Span*> taken;
  while (descriptors.provide(1)) taken.push_back(descriptors.take());
  ASSERT_GT(taken.size(), 10u);
  thread_group = 2;
  EXPECT_FALSE(descriptors.provide(1));
  for (Span* span : taken) descriptors.give(span);
  ASSERT_TRUE(descriptors.provide(static_cast<int>(taken.size())));
  EXPECT_FALSE(descriptors.provide(static_cast<int>(taken.size()) + 1));
  Span* const lent = descriptors.take();
  EXPECT_EQ(lent->group, 1) << "it is only lent";
  descriptors.give(lent);
  thread_group = 1;
  ASSERT_TRUE(descriptors.provide(1));
  EXPECT_EQ(descriptors.take(), lent);
}

// Threads that are large one after the other.
TEST_F(DescriptorsTest, AreLentByGroupsThatHavePlenty) {
  Descriptors descriptors;
  std::size_t reserved = 0;
  for (std::uint8_t group = 0; group < thread_groups; ++group) {
    thread_group = group;
    std::vector<Span*> taken;
    for (int i = 0; i < 30000; ++i) {
      ASSERT_TRUE(descriptors.provide(1));
      taken.push_back(descriptors.take());
    }
    for (Span* span : taken) descriptors.give(span);
    if (group == 0) reserved = descriptors.bytes_reserved();
  }
  const std::size_t kept = thread_groups << 20;  // What each may keep for itself.
  EXPECT_LE(descriptors.bytes_reserved(), reserved + kept + (std::size_t{1} << 20));
}

TEST_F(DescriptorsTest, ThoseThatAreIdleAreAllThatWereNotTaken) {
  Descriptors descriptors;
  std::set<Span*> taken;
  for (int i = 0; i < 400; ++i) {
    thread_group = static_cast<std::uint8_t>(i % 3);
    ASSERT_TRUE(descriptors.provide(2));
    taken.insert(descriptors.take());
    (*taken.rbegin())->set_kind(SpanKind::large);
  }
  for (Span* span : taken) span->set_kind(SpanKind::large);
  descriptors.forget_spares();
  int idle = 0;
  descriptors.for_each([&](Span* span) {
    if (span->kind_now() != SpanKind::idle) return;
    ASSERT_EQ(taken.count(span), 0u);
    descriptors.give(span);
    ++idle;
  });
  EXPECT_GE(idle, 3);
  std::set<Span*> seen;
  for (int i = 0; i < idle + 100; ++i) {  // Each once, and then new ones.
    ASSERT_TRUE(descriptors.provide(1));
    Span* const span = descriptors.take();
    ASSERT_EQ(taken.count(span), 0u);
    ASSERT_TRUE(seen.insert(span).second);
  }
}

// What a span grows over may be another group's: its descriptor goes back there.
TEST_F(DescriptorsTest, OfASpanThatIsGrownOverGoesBack) {
  store.configure(3600000, std::size_t{1} << 40);
  thread_group = 3;
  Span* const span = take_span(4);
  thread_group = 4;
  Span* neighbour = take_span(3);
  ASSERT_EQ(neighbour->base, span->end());
  Span* const after = take_span(2);  // So what is free between is of exactly this length.
  give_span(neighbour);
  thread_group = 5;
  ASSERT_TRUE(store.extend(span, 7));
  EXPECT_EQ(span->group, 3);
  EXPECT_TRUE(store.check());
  thread_group = 4;
  neighbour = take_span(3);
  EXPECT_TRUE(Descriptors::is_near(neighbour));
  for (Span* used : {span, neighbour, after}) give_span(used);
  EXPECT_TRUE(store.check());
  store.purge(time_in(0), 0, 0);
}

// However a span came to be free, its taker has a descriptor of its own.
TEST_F(DescriptorsTest, OfASpanInUseIsTheTakers) {
  store.configure(3600000, std::size_t{1} << 40);
  thread_group = 3;
  std::vector<Span*> spans;
  for (std::size_t i = 0; i < 8; ++i) spans.push_back(take_span(4));
  for (std::size_t i = 0; i < 8; i += 2) give_span(spans[i]);
  thread_group = 4;
  for (std::size_t i = 0; i < 8; i += 2) {
    spans[i] = take_span(i % 4 == 0 ? 4 : 3);  // All of a free one, or a part.
    EXPECT_TRUE(Descriptors::is_near(spans[i]));
  }
  Span* const aligned = take_span(4, 64);
  EXPECT_TRUE(Descriptors::is_near(aligned));
  give_span(aligned);
  for (Span* span : spans) give_span(span);
  EXPECT_TRUE(store.check());
  store.purge(time_in(0), 0, 0);
}

}  // namespace
}  // namespace tarn
