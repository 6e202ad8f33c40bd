// Sources over a buffer: what tarn/source/buffer_source.hpp promises, and pools and arenas over
// them.
//
// SPDX-License-Identifier: MIT
#include "tarn/source/buffer_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <vector>

#include "sources_conformance.hpp"
#include "tarn/arena/arena.hpp"
#include "tarn/pool/pool.hpp"

namespace sources {
namespace {

using tarn::BufferSource;
using tarn::Chunk;
using tarn::StaticBuffer;

struct OfABuffer {
  static constexpr std::size_t bytes_max = 20'000;
  static constexpr std::size_t alignment_max = 4096;
  static constexpr std::size_t chunks = 20;
  StaticBuffer<2 << 20, 4096> source;
  bool nothing_lost() const {
    return source.check() && source.stats().free_bytes == 2 << 20 && source.stats().chunks == 0;
  }
};

TEST(BufferSource, GivesAllOfItToOneChunk) {
  StaticBuffer<4096> buffer;
  const Chunk all = buffer.acquire(4096, 64);
  ASSERT_NE(all.data, nullptr);
  EXPECT_EQ(all.bytes, 4096u);
  EXPECT_EQ(buffer.acquire(1, 1).data, nullptr);
  EXPECT_EQ(buffer.stats().refused, 1u);
  EXPECT_EQ(buffer.stats().free_bytes_min, 0u);
  EXPECT_TRUE(buffer.check());
  buffer.release(all);
  EXPECT_TRUE(buffer.check());
  EXPECT_EQ(buffer.stats().free_bytes, 4096u);
}

TEST(BufferSource, WhatAlignmentSkipsIsUsed) {
  StaticBuffer<4096, 1024> buffer;
  const Chunk first = buffer.acquire(16, 1);
  const Chunk aligned = buffer.acquire(1024, 1024);
  EXPECT_EQ(static_cast<char*>(aligned.data) - static_cast<char*>(first.data), 1024);
  const Chunk between = buffer.acquire(1008, 16);
  EXPECT_EQ(static_cast<char*>(between.data) - static_cast<char*>(first.data), 16);
  EXPECT_EQ(buffer.acquire(2048, 16).bytes, 2048u);
  EXPECT_EQ(buffer.stats().free_bytes, 0u);
  EXPECT_TRUE(buffer.check());
}

TEST(BufferSource, JoinsNeighboursInAnyOrder) {
  std::vector<int> order = {0, 1, 2, 3, 4};
  do {
    StaticBuffer<5 * 64> buffer;
    Chunk chunks[5];
    for (Chunk& chunk : chunks) chunk = buffer.acquire(64, 1);
    for (const int i : order) {
      buffer.release(chunks[i]);
      ASSERT_TRUE(buffer.check());
    }
    const Chunk all = buffer.acquire(5 * 64, 1);
    ASSERT_NE(all.data, nullptr);
    buffer.release(all);
  } while (std::next_permutation(order.begin(), order.end()));
}

// Only the headers of gaps are written, and nothing outside the region.
TEST(BufferSource, TouchesNothingButTheHeadersOfGaps) {
  std::vector<unsigned char> memory(10'000, 0xee);
  const auto written = [&] {
    return memory.size() - static_cast<std::size_t>(std::count(memory.begin(), memory.end(), 0xee));
  };
  BufferSource buffer(memory.data() + 101, 8000);
  EXPECT_LE(written(), 16u);
  const Chunk a = buffer.acquire(1000, 512);
  const Chunk b = buffer.acquire(1000, 512);
  EXPECT_LE(written(), 4 * 16u);
  buffer.release(a);
  buffer.release(b);
  EXPECT_LE(written(), 5 * 16u);
  EXPECT_EQ(std::count(memory.begin(), memory.begin() + 101, 0xee), 101);
  EXPECT_EQ(std::count(memory.begin() + 8101, memory.end(), 0xee), 1899);
}

TEST(BufferSource, RegionsOfAnyPlaceAndLength) {
  alignas(16) unsigned char memory[256];
  for (std::size_t start = 0; start < 40; ++start) {
    for (std::size_t bytes = 0; bytes < 200; ++bytes) {
      BufferSource buffer(memory + start, bytes);
      ASSERT_TRUE(buffer.check());
      const std::size_t has = buffer.stats().free_bytes;
      ASSERT_TRUE(has <= bytes && has + 30 >= bytes);
      const Chunk chunk = buffer.acquire(has, 1);
      ASSERT_EQ(chunk.data != nullptr, has != 0);
      if (has != 0) {
        ASSERT_GE(static_cast<unsigned char*>(chunk.data), memory + start);
        ASSERT_LE(static_cast<unsigned char*>(chunk.data) + chunk.bytes, memory + start + bytes);
      }
    }
  }
  BufferSource none(nullptr, 1000);
  EXPECT_EQ(none.acquire(1, 1).data, nullptr);
  EXPECT_TRUE(none.check());
  EXPECT_FALSE(none.owns(nullptr));
}

TEST(BufferSource, RefusesAlignmentsThatAreNone) {
  StaticBuffer<1024> buffer;
  EXPECT_EQ(buffer.acquire(16, 0).data, nullptr);
  EXPECT_EQ(buffer.acquire(16, 24).data, nullptr);
  EXPECT_EQ(buffer.acquire(0, 1).bytes, 16u);
}

TEST(BufferSource, KnowsItsOwn) {
  StaticBuffer<1024> buffer;
  const Chunk a = buffer.acquire(64, 1);
  const Chunk b = buffer.acquire(64, 1);
  auto* const bytes = static_cast<char*>(a.data);
  EXPECT_TRUE(buffer.owns(bytes));
  EXPECT_TRUE(buffer.owns(bytes + 127));
  EXPECT_FALSE(buffer.owns(bytes + 128));
  EXPECT_FALSE(buffer.owns(bytes - 1));
  EXPECT_FALSE(buffer.owns(nullptr));
  buffer.release(a);
  EXPECT_FALSE(buffer.owns(bytes));
  EXPECT_FALSE(buffer.owns(bytes + 63));
  EXPECT_TRUE(buffer.owns(bytes + 64));
  buffer.release(b);
}

// What is written over a free range is seen.
TEST(BufferSource, CheckSeesWhatIsBroken) {
  StaticBuffer<1024> buffer;
  const Chunk a = buffer.acquire(64, 1);
  const Chunk b = buffer.acquire(64, 1);
  buffer.release(a);
  ASSERT_TRUE(buffer.check());
  const auto kept = *static_cast<tarn_gap*>(a.data);
  for (const tarn_gap wrong :
       {tarn_gap{0, 64}, tarn_gap{8, 64}, tarn_gap{kept.next, 0}, tarn_gap{kept.next, 80},
        tarn_gap{kept.next, SIZE_MAX}, tarn_gap{SIZE_MAX - 15, 64}, tarn_gap{TARN_NO_GAP, 64}}) {
    std::memcpy(a.data, &wrong, sizeof wrong);
    EXPECT_FALSE(buffer.check());
  }
  std::memcpy(a.data, &kept, sizeof kept);
  EXPECT_TRUE(buffer.check());
  buffer.release(b);
}

TEST(BufferSource, APoolOver2000Bytes) {
  alignas(8) static unsigned char memory[2000];
  BufferSource buffer(memory, sizeof memory);
  tarn::Pool pool(24, buffer);
  std::vector<void*> blocks;
  while (void* const p = pool.try_allocate()) {
    std::memset(p, 0xab, 24);
    blocks.push_back(p);
  }
  const bool is_fast = (pool.get()->state & 3) == 0;
  if (is_fast) {
    EXPECT_GT(blocks.size(), 45u);
  }
  EXPECT_GE(blocks.size(), 10u);
  EXPECT_TRUE(pool.check());
  EXPECT_TRUE(buffer.check());
  for (void* const p : blocks) pool.deallocate(p);
  pool.trim();
  EXPECT_EQ(buffer.stats().chunks, 0u);
}

TEST(BufferSource, AnArenaOver2000Bytes) {
  StaticBuffer<2000> buffer;
  tarn::Arena arena(buffer);
  std::size_t bytes = 0;
  while (void* const p = arena.try_allocate(24, 8)) {
    std::memset(p, 0xab, 24);
    bytes += 24;
  }
  const bool is_fast = (arena.get()->state & 3) == 0;
  EXPECT_GT(bytes, is_fast ? 1300u : 400u);  // Watched arenas put notes beside each block.
  arena.reset(tarn::keep_nothing);
  EXPECT_EQ(buffer.stats().free_bytes, 2000u);
}

TEST(BufferSource, TheHintIsTheSources) {
  StaticBuffer<2000> small;
  StaticBuffer<1 << 20> large;
  EXPECT_EQ(tarn::SourceRef(small).get().chunk_bytes, 256u);
  EXPECT_EQ(tarn::SourceRef(large).get().chunk_bytes, 128u * 1024);
  EXPECT_EQ(tarn::SourceRef(large).get().zeroed, 0);
  EXPECT_EQ(tarn_chunk_bytes_for(0), 256u);
  EXPECT_EQ(tarn_chunk_bytes_for((2 << 20) - 1), 128u * 1024);
  EXPECT_EQ(tarn_chunk_bytes_for(2 << 20), 0u);
  EXPECT_EQ(tarn_chunk_bytes_for(SIZE_MAX), 0u);
  struct Zeroed {
    Chunk acquire(std::size_t, std::size_t) noexcept { return {}; }
    void release(Chunk) noexcept {}
    bool zeroed() const noexcept { return true; }
  } zeroed;
  EXPECT_EQ(tarn::SourceRef(zeroed).get().zeroed, 1);
  EXPECT_EQ(tarn::SourceRef(zeroed).get().chunk_bytes, 0u);
}

class BufferSourceDeathTest : public testing::Test {
 protected:
  BufferSourceDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(BufferSourceDeathTest, ADoubleRelease) {
  StaticBuffer<1024> buffer;
  const Chunk chunk = buffer.acquire(64, 1);
  static_cast<void>(buffer.acquire(64, 1));
  buffer.release(chunk);
  EXPECT_EXIT(buffer.release(chunk), testing::KilledBySignal(SIGABRT),
              "tarn: double free: tarn_buffer_source_release");
}

TEST_F(BufferSourceDeathTest, AChunkOfSomeoneElse) {
  StaticBuffer<1024> buffer;
  alignas(16) static char other[64];
  static_cast<void>(buffer.acquire(64, 1));
  EXPECT_EXIT(buffer.release({other, 64}), testing::KilledBySignal(SIGABRT),
              "tarn: invalid free: tarn_buffer_source_release");
}

}  // namespace

}  // namespace sources

namespace conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(Buffer, Sources, sources::OfABuffer);
}  // namespace conformance
