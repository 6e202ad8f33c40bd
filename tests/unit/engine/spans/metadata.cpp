// Records: zeroed, aligned, never moved, all of them found again.
//
// SPDX-License-Identifier: MIT
#include "engine/spans/metadata.hpp"

#include <cstring>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "platform/base/bits.hpp"
#include "platform/os/fake/fake.hpp"

namespace tarn {

struct MetadataAccess {
  static std::byte*& cursor(Metadata& metadata) { return metadata.cursor_; }
  static std::byte*& used_end(Metadata& metadata) { return metadata.regions_->before->used_end; }
  static std::size_t& reserved(Metadata& metadata) { return metadata.bytes_reserved_; }
};

namespace {

constexpr std::size_t record_bytes = 128;

TEST(Metadata, RecordsAreZeroAlignedAndApart) {
  Metadata metadata;
  std::set<std::uintptr_t> seen;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{64}, std::size_t{65}, record_bytes,
                                  std::size_t{5000}, std::size_t{400000}}) {
    for (int i = 0; i < 20; ++i) {
      auto* const record = static_cast<unsigned char*>(metadata.allocate(bytes));
      ASSERT_NE(record, nullptr);
      ASSERT_EQ(address_of(record) % 64, 0u);
      for (std::size_t b = 0; b < bytes; ++b) ASSERT_EQ(record[b], 0) << bytes;
      std::memset(record, 0xee, bytes);
      const auto next = seen.lower_bound(address_of(record));
      ASSERT_TRUE(next == seen.end() || *next >= address_of(record) + bytes);
      seen.insert(address_of(record));
    }
  }
  EXPECT_GE(metadata.bytes_reserved(), 20 * 400000u);
}

TEST(Metadata, WalksEveryRecordOfEveryRegion) {
  Metadata metadata;
  std::size_t walked = 0;
  metadata.for_each(record_bytes, [&](std::byte*) { ++walked; });
  EXPECT_EQ(walked, 0u);
  std::set<std::byte*> handed;
  for (int i = 0; i < 10000; ++i) {  // Some five regions.
    handed.insert(static_cast<std::byte*>(metadata.allocate(record_bytes)));
  }
  EXPECT_GT(metadata.bytes_reserved(), 4 * 256 * 1024u);
  std::set<std::byte*> seen;
  metadata.for_each(record_bytes, [&](std::byte* record) { seen.insert(record); });
  EXPECT_EQ(seen, handed);
}

TEST(Metadata, ARefusalIsNullAndTheNextAttemptWorks) {
  Metadata metadata;
  os::fake::fail_at(1, true);
  std::size_t handed = 0;  // From the region that is part of the object.
  while (metadata.allocate(record_bytes) != nullptr) ++handed;
  const std::size_t reserved = metadata.bytes_reserved();
  EXPECT_LT(handed, 2000u);
  EXPECT_EQ(metadata.allocate(record_bytes), nullptr);
  os::fake::fail_at(0, false);
  EXPECT_EQ(metadata.bytes_reserved(), reserved);
  EXPECT_NE(metadata.allocate(record_bytes), nullptr);
  EXPECT_NE(metadata.allocate(record_bytes), nullptr);
  EXPECT_GT(metadata.bytes_reserved(), reserved);
  std::size_t walked = 0;
  metadata.for_each(record_bytes, [&](std::byte*) { ++walked; });
  EXPECT_EQ(walked, handed + 2);
}

TEST(Metadata, ARepairOfWhatIsWholeChangesNothing) {
  Metadata metadata;
  metadata.repair();
  EXPECT_EQ(metadata.bytes_reserved(), 0u);
  auto* const before = static_cast<std::byte*>(metadata.allocate(record_bytes));
  metadata.repair();
  auto* const after = static_cast<std::byte*>(metadata.allocate(record_bytes));
  EXPECT_EQ(after, before + record_bytes);
  std::size_t walked = 0;
  metadata.for_each(record_bytes, [&](std::byte*) { ++walked; });
  EXPECT_EQ(walked, 2u);
}

#ifdef TARN_DEBUG
TEST(Metadata, CheckFindsACursorOrAnEndElsewhere) {
  Metadata metadata;
  EXPECT_TRUE(metadata.check()) << "nothing is reserved";
  for (int i = 0; i < 3000; ++i) metadata.allocate(record_bytes);  // Two regions, or more.
  EXPECT_TRUE(metadata.check());
  std::byte* const right = std::exchange(MetadataAccess::cursor(metadata), nullptr);
  EXPECT_FALSE(metadata.check());
  MetadataAccess::cursor(metadata) = right;
  std::byte* const end = std::exchange(MetadataAccess::used_end(metadata), right);
  EXPECT_FALSE(metadata.check()) << "the end of another region's records";
  MetadataAccess::used_end(metadata) = end;
  ++MetadataAccess::reserved(metadata);
  EXPECT_FALSE(metadata.check());
  --MetadataAccess::reserved(metadata);
  EXPECT_TRUE(metadata.check());
}
#endif

}  // namespace
}  // namespace tarn
