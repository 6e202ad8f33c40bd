// From an address to its span.
//
// SPDX-License-Identifier: MIT
#include "engine/spans/page_map.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "engine/pages/page.hpp"
#include "platform/os/fake/fake.hpp"

namespace tarn {

struct PageMapAccess {
  static PageMap::Entry& empty_entry(PageMap& map) {
    return map.empty_leaf_.entries[leaf_entries / 2];
  }
  static SliceTag& empty_tag(PageMap& map) { return map.empty_leaf_.tags[leaf_entries / 2]; }
  static std::byte& foreign_byte(PageMap& map) { return map.foreign_.zeros[100]; }
};

namespace {

// A map of the test's own, on addresses that nobody touches.
class PageMapTest : public testing::Test {
 protected:
  static std::byte* at(std::uintptr_t address) { return reinterpret_cast<std::byte*>(address); }

  std::unique_ptr<PageMap> map_ = std::make_unique<PageMap>();
  alignas(descriptor_bytes) Page page_;
};

constexpr std::uintptr_t gib = std::uintptr_t{1} << 30;
constexpr std::uintptr_t leaf = std::uintptr_t{1} << leaf_shift;

TEST_F(PageMapTest, UnknownAddressesLeadToTheForeignSpan) {
  const int local = 0;
  for (const void* p : {static_cast<const void*>(nullptr), static_cast<const void*>(&local),
                        static_cast<const void*>(at(1)), static_cast<const void*>(at(5 * gib)),
                        static_cast<const void*>(at((std::uintptr_t{1} << address_bits) - 1))}) {
    Span* const span = map_->span_of(p);
    EXPECT_EQ(span, map_->foreign());
    EXPECT_EQ(span->kind_now(), SpanKind::idle);
    EXPECT_EQ(static_cast<Page*>(span)->owner.load(), nullptr);
  }
}

// The map may lead to a former span in between, or to none.
TEST_F(PageMapTest, TheSpanAroundIsFoundFromItsEndsByItsKind) {
  std::byte* const start = at(7 * gib);
  ASSERT_TRUE(map_->cover(start, 20 * slice_bytes));
  page_.base = start + 4 * slice_bytes;
  page_.slices = 10;
  page_.set_kind(SpanKind::large);
  page_.set_kind(SpanKind::lone);
  alignas(descriptor_bytes) Page former;
  former.base = start + 6 * slice_bytes;
  former.slices = 2;
  former.set_kind(SpanKind::large);
  map_->set_ends(&former);
  map_->set_ends(&page_);
  const auto around = [&](const void* p, std::size_t most = 20) {
    return map_->span_around(p, SpanKind::lone, most);
  };
  for (std::size_t i = 0; i < 10 * slice_bytes; i += 1000) {
    EXPECT_EQ(around(page_.base + i), &page_) << i;
  }
  EXPECT_EQ(around(page_.end() - 1), &page_);
  EXPECT_EQ(around(page_.base - 1), nullptr);
  EXPECT_EQ(around(page_.end()), nullptr);
  EXPECT_EQ(map_->span_around(page_.base, SpanKind::kept, 20), nullptr);
  EXPECT_EQ(around(page_.base + 8 * slice_bytes, 9), &page_);
  EXPECT_EQ(around(page_.base + 8 * slice_bytes, 8), nullptr) << "longer than any is said to be";
  EXPECT_EQ(around(nullptr), nullptr);
  EXPECT_EQ(around(at(100)), nullptr);
  EXPECT_EQ(around(at(std::uintptr_t{1} << address_bits)), nullptr);
}

TEST_F(PageMapTest, SetCoversExactlyItsRange) {
  std::byte* const start = at(7 * gib + 3 * slice_bytes);
  ASSERT_TRUE(map_->cover(start, 5 * slice_bytes));
  EXPECT_EQ(map_->span_of(start), map_->foreign()) << "covered, and still nobody's";
  map_->set(start, 5, &page_);
  EXPECT_EQ(map_->span_of(start - 1), map_->foreign());
  for (std::size_t offset = 0; offset < 5 * slice_bytes; offset += 1024) {
    EXPECT_EQ(map_->span_of(start + offset), &page_);
  }
  EXPECT_EQ(map_->span_of(start + 5 * slice_bytes - 1), &page_);
  EXPECT_EQ(map_->span_of(start + 5 * slice_bytes), map_->foreign());
  map_->clear(start, 5);
  for (int i = -1; i < 6; ++i) {
    EXPECT_EQ(map_->span_of(start + i * static_cast<int>(slice_bytes)), map_->foreign());
  }
}

TEST_F(PageMapTest, TagsAreOfTheirSlicesAndBesideTheEntries) {
  std::byte* const start = at(leaf - 2 * slice_bytes);
  ASSERT_TRUE(map_->cover(start, 4 * slice_bytes))
      << "the last slices of one leaf, and of the next";
  EXPECT_EQ(map_->tag_of(nullptr), 0);
  map_->set(start, 4, &page_);
  map_->tag(start + slice_bytes, 2, 0xabcd);
  const auto expect_tags = [&](SliceTag inner) {
    for (std::size_t offset = 0; offset < 4 * slice_bytes; offset += 1024) {
      const bool is_inner = offset / slice_bytes == 1 || offset / slice_bytes == 2;
      const PageMap::Slice slice = map_->slice_of(start + offset);
      EXPECT_EQ(slice.tag(), is_inner ? inner : 0) << offset;
      EXPECT_EQ(slice.tag(), map_->tag_of(start + offset));
      EXPECT_EQ(map_->span_of(slice), &page_);
    }
  };
  expect_tags(0xabcd);
  map_->tag(start + slice_bytes, 2, 0);
  expect_tags(0);
}

TEST_F(PageMapTest, HostedSlicesKeepTheirTagWhenThePageGetsAnother) {
  std::byte* const start = at(21 * gib);
  ASSERT_TRUE(map_->cover(start, 4 * slice_bytes));
  map_->tag(start, 4, 0x81);
  map_->tag(start + 2 * slice_bytes, 1, hosted_tag);
  for (const SliceTag tag : {SliceTag{0}, SliceTag{0x101}}) {
    map_->retag(start, 4, tag);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(map_->tag_of(start + i * slice_bytes), i == 2 ? hosted_tag : tag) << i;
    }
  }
}

TEST_F(PageMapTest, EndsOnly) {
  page_.base = at(9 * gib);
  for (const std::uint32_t slices : {1u, 2u, 3u, 100u}) {
    page_.slices = slices;
    ASSERT_TRUE(map_->cover(page_.base, page_.bytes()));
    map_->set_ends(&page_);
    EXPECT_EQ(map_->span_of(page_.base), &page_);
    EXPECT_EQ(map_->span_of(page_.end() - 1), &page_);
    EXPECT_EQ(map_->span_of(page_.end()), map_->foreign());
    if (slices > 2) {
      EXPECT_EQ(map_->span_of(page_.base + slice_bytes), map_->foreign());
    }
    map_->clear_ends(page_.base, slices);
    EXPECT_EQ(map_->span_of(page_.base), map_->foreign());
    EXPECT_EQ(map_->span_of(page_.end() - 1), map_->foreign());
  }
}

TEST_F(PageMapTest, ARangeAcrossLeaves) {
  std::byte* const start = at(3 * leaf - slice_bytes);
  os::fake::fail_at(0, false);
  ASSERT_TRUE(map_->cover(start, leaf + 2 * slice_bytes));
  EXPECT_EQ(os::fake::calls(), 2u) << "three leaves, one of them the map's own";
  ASSERT_TRUE(map_->cover(start, 2 * slice_bytes));
  EXPECT_EQ(os::fake::calls(), 2u) << "they are there already";
  map_->set(start, 2, &page_);
  EXPECT_EQ(map_->span_of(start), &page_);
  EXPECT_EQ(map_->span_of(at(3 * leaf)), &page_);
  EXPECT_EQ(map_->span_of(at(3 * leaf) + slice_bytes), map_->foreign());
}

TEST_F(PageMapTest, CoverSaysWhenALeafCannotBeHad) {
  std::byte* const start = at(5 * leaf - slice_bytes);
  ASSERT_TRUE(map_->cover(at(3 * gib), slice_bytes)) << "with the map's own leaf";
  os::fake::fail_at(2, false);
  EXPECT_FALSE(map_->cover(start, 2 * slice_bytes));
  os::fake::fail_at(0, false);
  EXPECT_TRUE(map_->cover(start, 2 * slice_bytes));
  EXPECT_EQ(os::fake::calls(), 1u) << "the first leaf had been made";
}

TEST_F(PageMapTest, AddressesBeyondTheMapAreRefused) {
  std::byte* const last = at((std::uintptr_t{1} << address_bits) - slice_bytes);
  EXPECT_FALSE(map_->cover(last + slice_bytes, slice_bytes));
  EXPECT_FALSE(map_->cover(last, 2 * slice_bytes));
  EXPECT_TRUE(map_->cover(last, slice_bytes));
  map_->set(last, 1, &page_);
  EXPECT_EQ(map_->span_of(last + slice_bytes - 1), &page_);
}

#ifdef TARN_DEBUG
TEST_F(PageMapTest, CheckFindsWhatWasWrittenToWhatIsNeverWritten) {
  EXPECT_TRUE(map_->check());
  PageMapAccess::empty_entry(*map_).store(8);
  EXPECT_FALSE(map_->check());
  PageMapAccess::empty_entry(*map_).store(0);
  PageMapAccess::empty_tag(*map_) = 1;
  EXPECT_FALSE(map_->check());
  PageMapAccess::empty_tag(*map_) = 0;
  PageMapAccess::foreign_byte(*map_) = std::byte{1};
  EXPECT_FALSE(map_->check());
  PageMapAccess::foreign_byte(*map_) = std::byte{0};
  EXPECT_TRUE(map_->check());
}

TEST_F(PageMapTest, IsClearSeesEachEntryOfAShortRangeAndTheEndsOfALongOne) {
  std::byte* const start = at(11 * gib);
  constexpr std::size_t slices = 1000;
  ASSERT_TRUE(map_->cover(start, slices * slice_bytes));
  EXPECT_TRUE(map_->is_clear(start, slices));
  for (std::size_t i = 0; i < 20; ++i) {
    map_->set(start + i * slice_bytes, 1, &page_);
    EXPECT_FALSE(map_->is_clear(start, 20)) << i;
    map_->clear(start + i * slice_bytes, 1);
  }
  for (const std::size_t i : {std::size_t{0}, slices - 1}) {
    map_->set(start + i * slice_bytes, 1, &page_);
    EXPECT_FALSE(map_->is_clear(start, slices)) << i;
    map_->clear(start + i * slice_bytes, 1);
  }
  map_->tag(start, 1, 7);
  EXPECT_FALSE(map_->is_clear(start, slices)) << "a tag alone";
  map_->tag(start, 1, 0);
  EXPECT_TRUE(map_->is_clear(start, slices));
}

TEST_F(PageMapTest, WhatIsNotCoveredIsNotWritten) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(map_->set(at(13 * gib), 1, &page_), "leaf != 0");
  EXPECT_DEATH(map_->clear(at(13 * gib), 1), "leaf != 0");
}
#endif

}  // namespace
}  // namespace tarn
