// Zones: spans in chunks and in regions, and what they do when there is no more.
//
// SPDX-License-Identifier: MIT
#include "engine/zones/zone.hpp"

#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "child.hpp"
#include "engine/zones/span_source.hpp"
#include "platform/os/fake/fake.hpp"

namespace tarn {

struct ZoneAccess {
  static std::size_t& used(Zone& zone) { return zone.used_slices_; }
  static std::size_t& touched(Zone& zone) { return zone.first_->touched; }
  static void forget_last(Zone& zone) { zone.last_ = zone.first_; }
  static void find_last(Zone& zone) {
    while (zone.last_->next != nullptr) zone.last_ = zone.last_->next;
  }
  // What a thread has done that vanishes in the midst of taking or adding something.
  static void lock(Zone& zone) { zone.lock_.lock(); }
  static void mark_slices(Zone& zone, std::size_t slices) {
    SliceBits& bits = zone.first_->bits;
    bits.take(bits.find(slices, 0, 1), slices);
  }
  static void count_slices(Zone& zone, std::size_t slices) { zone.used_slices_ += slices; }
  static bool knows_chunk(const Zone& zone, const void* p) { return zone.chunk_of(p) != nullptr; }
};

namespace {

struct Memory {
  explicit Memory(std::size_t bytes) : block(bytes + slice_bytes) {}
  Piece piece(std::size_t offset = 0) {
    return {block.data() + offset, block.size() - slice_bytes};
  }
  bool has(const void* p) const { return p >= block.data() && p < block.data() + block.size(); }
  std::vector<std::byte> block;
};

constexpr ZoneTraits chunked{};
constexpr ZoneTraits region{.region = true};

class ZoneTest : public testing::TestWithParam<bool> {
 protected:
  const ZoneTraits& traits() const { return GetParam() ? region : chunked; }
  static void end(Zone& zone) {
    EXPECT_TRUE(zone.check());
    if (zone.traits().region) regions.remove(zone);
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, ZoneTest, testing::Bool());

Span* take(Zone& zone, std::size_t slices, std::size_t alignment = 1) {
  Span* const span = zone.take(slices, alignment);
  if (span != nullptr) zone.map(span, true);
  return span;
}
void give(Zone& zone, Span* span) {
  zone.unmap(span->base, span->slices, true);
  zone.give(span);
}

TEST_P(ZoneTest, SpansDoNotOverlapAndAreFound) {
  for (const std::size_t offset : {0u, 1u, 4095u}) {
    Memory memory(std::size_t{2} << 20);
    Zone* const zone = Zone::begin(memory.piece(offset), traits());
    ASSERT_NE(zone, nullptr);
    std::mt19937 random(3);
    std::vector<Span*> spans;
    for (int i = 0; i < 3000; ++i) {
      const std::size_t alignment = i % 9 == 0 ? 4 : 1;
      Span* const span = take(*zone, random() % 20 + 1, alignment);
      if (span != nullptr) {
        EXPECT_EQ(address_of(span->base) % (alignment * slice_bytes), 0u);
        for (std::byte* p = span->base; p < span->end(); p += slice_bytes) {
          EXPECT_EQ(page_map.span_of(p), span);
          *reinterpret_cast<Span**>(p) = span;
        }
        spans.push_back(span);
      }
      if (span == nullptr || random() % 2 == 0) {
        std::swap(spans[random() % spans.size()], spans.back());
        Span* const gone = spans.back();
        spans.pop_back();
        for (std::byte* p = gone->base; p < gone->end(); p += slice_bytes) {
          EXPECT_EQ(*reinterpret_cast<Span**>(p), gone);
        }
        std::byte* const base = gone->base;
        give(*zone, gone);
        EXPECT_EQ(page_map.span_of(base)->kind_now(), SpanKind::idle);
      }
    }
    ASSERT_TRUE(zone->check());
    for (Span* const span : spans) give(*zone, span);
    end(*zone);
  }
}

TEST_P(ZoneTest, ResizesInPlace) {
  Memory memory(std::size_t{1} << 20);
  Zone* const zone = Zone::begin(memory.piece(), traits());
  ASSERT_NE(zone, nullptr);
  Span* const first = take(*zone, 4);
  Span* const second = take(*zone, 4);
  ASSERT_EQ(second->base, first->end());
  EXPECT_FALSE(zone->extend(first, 5));
  zone->shrink(second, 2);
  EXPECT_TRUE(zone->extend(second, 10));
  EXPECT_EQ(second->slices, 10u);
  EXPECT_EQ(page_map.span_of(second->end() - 1), second);
  EXPECT_FALSE(zone->extend(second, 10000));
  zone->unmap(second->base, 10, true);
  zone->give(second);
  EXPECT_TRUE(zone->extend(first, 100));
  give(*zone, first);
  end(*zone);
}

TEST_P(ZoneTest, TooSmallIsRefused) {
  Memory memory(64 * slice_bytes);
  Piece piece = memory.piece();
  piece.bytes = slice_bytes;
  EXPECT_EQ(Zone::begin(piece, traits()), nullptr);
  piece.bytes = 10;
  EXPECT_EQ(Zone::begin(piece, traits()), nullptr);
}

// The other thread of the process has the lock when it vanishes, and all that it has half done.
template <class Half>
void vanish_with_lock(Zone& zone, Half half) {
  std::thread([&] {
    ZoneAccess::lock(zone);
    half();
  }).join();
}

TEST_P(ZoneTest, InTheChildOfAForkWhatNobodyHasIsFree) {
  Memory memory(std::size_t{1} << 20);
  Zone* const zone = Zone::begin(memory.piece(), traits());
  ASSERT_NE(zone, nullptr);
  Span* const kept = take(*zone, 10);
  Span* const lost = zone->take(7, 1);  // No address leads to it as yet.
  ASSERT_TRUE(kept != nullptr && lost != nullptr);
  std::byte* const place = lost->base;
  in_unrepaired_child([&] {
    vanish_with_lock(*zone, [&] {
      ZoneAccess::mark_slices(*zone, 5);
      ZoneAccess::count_slices(*zone, 3);
    });
    zone->recover_after_fork();
    EXPECT_FALSE(zone->is_locked());
    EXPECT_TRUE(zone->check());
    EXPECT_EQ(ZoneAccess::used(*zone), 10u);
    EXPECT_EQ(page_map.span_of(kept->base), kept);
    bool is_place_free = false;
    bool is_descriptor_free = !traits().region;  // Others are the store's.
    while (Span* const span = take(*zone, 1)) {
      is_place_free = is_place_free || span->base == place;
      is_descriptor_free = is_descriptor_free || span == lost;
      EXPECT_FALSE(span->base >= kept->base && span->base < kept->end());
    }
    EXPECT_TRUE(is_place_free && is_descriptor_free);
    give(*zone, kept);
    EXPECT_TRUE(zone->check());
  });
  EXPECT_TRUE(zone->check());
  zone->give(lost);
  give(*zone, kept);
  end(*zone);
}

TEST_P(ZoneTest, InTheChildOfAForkAZoneThatNobodyChangedStays) {
  Memory memory(std::size_t{1} << 20);
  Zone* const zone = Zone::begin(memory.piece(), traits());
  ASSERT_NE(zone, nullptr);
  Span* const kept = take(*zone, 10);
  Span* const lost = zone->take(7, 1);
  in_unrepaired_child([&] {
    zone->recover_after_fork();
    EXPECT_TRUE(zone->check());
    EXPECT_EQ(ZoneAccess::used(*zone), 17u) << "the lock was free: it is for others to look";
  });
  zone->give(lost);
  give(*zone, kept);
  end(*zone);
}

TEST_P(ZoneTest, ForgetsWhatVanishedThreadsHad) {
  Memory memory(std::size_t{1} << 20);
  Memory second(std::size_t{1} << 20);
  Zone* const zone = Zone::begin(memory.piece(), traits());
  ASSERT_NE(zone, nullptr);
  zone->forget_lost();  // There is nothing.
  EXPECT_TRUE(zone->check());
  in_unrepaired_child([&] {
    std::vector<Span*> lost{take(*zone, 10), take(*zone, 1)};
    if (!traits().region) {
      ASSERT_TRUE(zone->add(second.piece()));
      while (!second.has(lost.back()->base)) lost.push_back(take(*zone, 60));
    }
    zone->forget_lost();
    EXPECT_EQ(ZoneAccess::used(*zone), 0u);
    EXPECT_TRUE(zone->check());
    for (const Span* const span : lost) EXPECT_NE(page_map.span_of(span->base), span);
    EXPECT_NE(take(*zone, 10), nullptr);
  });
  end(*zone);
}

TEST(ZoneChunks, EmptyOnesAreTakenOutAndTheFirstStays) {
  Memory first(std::size_t{1} << 20);
  Memory second(std::size_t{8} << 20);
  Memory third(std::size_t{1} << 20);
  Zone* const zone = Zone::begin(first.piece(), chunked);
  ASSERT_NE(zone, nullptr);
  EXPECT_EQ(zone->take(1000, 1), nullptr);
  ASSERT_TRUE(zone->add(second.piece()));
  Span* const span = take(*zone, 1000);
  ASSERT_NE(span, nullptr);
  EXPECT_FALSE(zone->has_surplus());
  Piece piece;
  EXPECT_FALSE(zone->take_out(&piece, true));
  give(*zone, span);
  EXPECT_TRUE(zone->has_surplus());
  ASSERT_TRUE(zone->take_out(&piece, false));
  EXPECT_EQ(piece.start, second.piece().start);
  EXPECT_FALSE(zone->has_surplus());
  ASSERT_TRUE(zone->add(third.piece()));
  EXPECT_FALSE(zone->take_out(&piece, false));  // One small one may stay.
  EXPECT_TRUE(zone->take_out(&piece, true));
  EXPECT_FALSE(zone->take_out(&piece, true));
  EXPECT_TRUE(zone->check());
}

TEST(ZoneChunks, CheckFindsCountsAndChunksThatDoNotAgree) {
  Memory first(std::size_t{1} << 20);
  Memory second(std::size_t{1} << 20);
  Zone* const zone = Zone::begin(first.piece(), chunked);
  ASSERT_NE(zone, nullptr);
  Span* const span = take(*zone, 10);
  EXPECT_TRUE(zone->check());
  ++ZoneAccess::used(*zone);
  EXPECT_FALSE(zone->check());
  --ZoneAccess::used(*zone);
  const std::size_t touched = std::exchange(ZoneAccess::touched(*zone), 1'000'000);
  EXPECT_FALSE(zone->check());
  ZoneAccess::touched(*zone) = touched;
  ASSERT_TRUE(zone->add(second.piece()));
  ZoneAccess::forget_last(*zone);
  EXPECT_FALSE(zone->check()) << "the next chunk would be lost";
  ZoneAccess::find_last(*zone);
  EXPECT_TRUE(zone->check());
  give(*zone, span);
}

TEST(ZoneChunks, InTheChildOfAForkAChunkThatWasBeingAddedIsKnown) {
  Memory first(std::size_t{1} << 20);
  Memory second(std::size_t{1} << 20);
  Memory third(std::size_t{1} << 20);
  Zone* const zone = Zone::begin(first.piece(), chunked);
  ASSERT_NE(zone, nullptr);
  ASSERT_TRUE(zone->add(second.piece()));
  Span* const near = take(*zone, 200);
  Span* const far = take(*zone, 200);
  ASSERT_TRUE(near != nullptr && far != nullptr && second.has(far->base));
  in_unrepaired_child([&] {
    vanish_with_lock(*zone, [&] { ZoneAccess::forget_last(*zone); });
    zone->recover_after_fork();
    EXPECT_TRUE(zone->check());
    EXPECT_TRUE(zone->add(third.piece()));
    EXPECT_TRUE(ZoneAccess::knows_chunk(*zone, far->base));
    EXPECT_TRUE(zone->check());
    Piece piece;
    EXPECT_TRUE(zone->take_out(&piece, true));
    EXPECT_EQ(piece.start, third.piece().start) << "the other one is in use";
  });
  give(*zone, far);
  give(*zone, near);
  EXPECT_TRUE(zone->check());
}

#ifdef TARN_DEBUG
TEST(ZoneChunks, ASpanThatIsGivenWhileAddressesLeadToItIsADefect) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Memory memory(std::size_t{1} << 20);
  Zone* const zone = Zone::begin(memory.piece(), chunked);
  ASSERT_NE(zone, nullptr);
  Span* const span = take(*zone, 10);
  EXPECT_DEATH(zone->give(span), "span_of");
  give(*zone, span);
}
#endif

TEST(ZoneChunks, ChunkBytesSufficeForASpanAnywhere) {
  for (const std::size_t slices : {1u, 100u, 5000u, 40000u}) {
    for (const std::size_t alignment : {1u, 8u, 64u}) {
      const std::size_t bytes = Zone::chunk_bytes_for(slices, alignment);
      Memory memory(bytes);
      for (const std::size_t offset : {0u, 16u, 4095u}) {
        Memory first(16 * slice_bytes);
        Zone* const zone = Zone::begin(first.piece(), chunked);
        ASSERT_TRUE(zone->add(memory.piece(offset)));
        Span* const span = take(*zone, slices, alignment);
        ASSERT_NE(span, nullptr) << slices << " " << alignment << " " << offset;
        give(*zone, span);
      }
    }
  }
  EXPECT_EQ(Zone::chunk_bytes_for(SIZE_MAX, 1), 0u);
  EXPECT_EQ(Zone::chunk_bytes_for(1, SIZE_MAX), 0u);
}

TEST(ZoneChunks, SecretMemoryIsLockedOrRefused) {
  Memory memory(std::size_t{1} << 20);
  const ZoneTraits secret{.secret = true};
  for (int n = 1; n <= 2; ++n) {
    os::fake::fail_at(static_cast<std::uint64_t>(n), false);
    EXPECT_EQ(Zone::begin(memory.piece(), secret), nullptr) << n;
  }
  os::fake::fail_at(0, false);
  Zone* const zone = Zone::begin(memory.piece(), secret);
  ASSERT_NE(zone, nullptr);
  Span* const span = take(*zone, 5);
  ASSERT_NE(span, nullptr);
  give(*zone, span);
}

TEST(ZoneRegions, OverlapsAreRefusedAndNestingIsNot) {
  Memory memory(std::size_t{4} << 20);
  Zone* const outer = Zone::begin(memory.piece(), region);
  ASSERT_NE(outer, nullptr);
  EXPECT_EQ(Zone::begin(memory.piece(), region), nullptr);
  Span* const span = take(*outer, 300);
  ASSERT_NE(span, nullptr);
  Zone* const inner = Zone::begin({span->base, span->bytes()}, region);
  ASSERT_NE(inner, nullptr);
  Span* const nested = take(*inner, 10);
  ASSERT_NE(nested, nullptr);
  EXPECT_EQ(page_map.span_of(nested->base), nested);
  give(*inner, nested);
  EXPECT_TRUE(inner->check());
  regions.remove(*inner);
  give(*outer, span);
  EXPECT_TRUE(outer->check());
  regions.remove(*outer);
}

// A host that gave slices to another zone before is not known as one, and its tags may come back.
TEST(ZoneRegions, TheirSlicesAreTaggedWhetherAHostIsKnownOrNot) {
  Memory memory(std::size_t{4} << 20);
  Zone* const outer = Zone::begin(memory.piece(), region);
  ASSERT_NE(outer, nullptr);
  Span* const span = take(*outer, 300);
  ASSERT_NE(span, nullptr);
  const std::byte* const first = span->base;
  EXPECT_EQ(page_map.tag_of(first), hosted_tag);
  EXPECT_EQ(page_map.tag_of(span->end() - 1), hosted_tag);
  Zone* const inner = Zone::begin({span->base, span->bytes()}, region);
  ASSERT_NE(inner, nullptr);
  Span* const nested = take(*inner, 10);
  ASSERT_NE(nested, nullptr);
  const std::byte* const second = nested->base;
  EXPECT_EQ(page_map.tag_of(second), hosted_tag);
  give(*inner, nested);
  EXPECT_EQ(page_map.tag_of(second), hosted_tag) << "as its host has it";
  regions.remove(*inner);
  give(*outer, span);
  EXPECT_EQ(page_map.tag_of(first), 0u);
  EXPECT_EQ(page_map.tag_of(second), 0u);
  regions.remove(*outer);
}

TEST(ZoneRegions, RecordsAreZeroAndStay) {
  Memory memory(std::size_t{1} << 20);
  for (std::byte& byte : memory.block) byte = std::byte{0xee};
  Zone* const zone = Zone::begin(memory.piece(), region);
  ASSERT_NE(zone, nullptr);
  std::size_t count = 0;
  while (void* const record = zone->allocate_record(1300)) {
    for (int i = 0; i < 1300; ++i) ASSERT_EQ(static_cast<char*>(record)[i], 0);
    std::memset(record, 1, 1300);
    ++count;
  }
  EXPECT_GT(count, 600u);
  EXPECT_EQ(zone->take(1, 1), nullptr);
  EXPECT_TRUE(zone->check());
  regions.remove(*zone);
}

// What pages, large blocks and the mixed first page do with a source, whichever it is.
TEST(SpanSources, TheStoreAndAZoneServeAlike) {
  Memory memory(std::size_t{4} << 20);
  Zone* const zone = Zone::begin(memory.piece(), region);
  ASSERT_NE(zone, nullptr);
  for (const SpanSource source : {SpanSource(), SpanSource(zone)}) {
    EXPECT_EQ(source.is_store(), source.zone() == nullptr);
    EXPECT_EQ(source.traits().region, !source.is_store());
    for (const bool all : {false, true}) {
      Span* const span = source.take(4, 4);
      ASSERT_NE(span, nullptr);
      EXPECT_EQ(address_of(span->base) % (4 * slice_bytes), 0u);
      EXPECT_EQ(memory.has(span->base), !source.is_store());
      source.shrink(span, 3);
      EXPECT_EQ(span->slices, 3u);
      source.map(span, all);
      EXPECT_EQ(page_map.span_of(span->base), span);
      EXPECT_EQ(page_map.span_of(span->end() - 1), span);
      EXPECT_EQ(page_map.span_of(span->base + slice_bytes) == span, all);
      std::byte* const base = span->base;
      source.unmap(span, all);
      EXPECT_NE(page_map.span_of(base), span);
      source.give(span);
    }
    void* const record = source.allocate_record(100);
    ASSERT_NE(record, nullptr);
    EXPECT_EQ(memory.has(record), !source.is_store());
    std::size_t chunks = 0;
    source.for_each_own_chunk([&](const std::byte*, std::size_t) { ++chunks; });
    EXPECT_EQ(chunks, source.is_store() ? 0u : 1u);
    std::size_t spans = 0;
    source.for_each_own_span([&](const Span*) { ++spans; });
    EXPECT_EQ(spans != 0, !source.is_store());
    EXPECT_FALSE(source.has_surplus());
    EXPECT_FALSE(source.is_locked());
    source.purge(true);
    source.recover_after_fork();
  }
  EXPECT_TRUE(zone->check());
  EXPECT_TRUE(store.check());
  regions.remove(*zone);
}

}  // namespace
}  // namespace tarn
