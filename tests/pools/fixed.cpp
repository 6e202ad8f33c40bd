// FixedAllocator: the same semantics from three places.
//
// SPDX-License-Identifier: MIT
#include "tarn/pool/fixed_allocator.hpp"

#include <cerrno>
#include <csignal>
#include <random>
#include <vector>

#include "conformance.hpp"
#include "sources.hpp"
#include "tarn/source/buffer_source.hpp"

namespace pools {
namespace {

using tarn::FixedAllocator;
using tarn::FixedAllocatorOptions;

TEST(FixedAllocator, BlockByBlock) {
  CountingSource source;
  {
    FixedAllocator blocks(40, 0, source);
    void* const a = blocks.allocate();
    void* const b = blocks.allocate();
    EXPECT_EQ(source.chunks.size(), 2u);
    EXPECT_EQ(blocks.block_count(), 2u);
    blocks.deallocate(a);
    EXPECT_EQ(source.chunks.size(), 1u);
    EXPECT_EQ(blocks.blocks_in_use(), 1u);
    EXPECT_TRUE(blocks.check());
    blocks.deallocate(b);
  }
  EXPECT_EQ(source.chunks.size(), 0u);
}

// A chunk goes back as it was granted, also by sources that round up.
TEST(FixedAllocator, GivesBackWhatWasGranted) {
  CountingSource source;
  source.generous = true;
  for (const bool recycle : {false, true}) {
    FixedAllocatorOptions options;
    options.alignment = 64;
    options.recycle = recycle;
    FixedAllocator blocks(40, 0, source, options);
    std::vector<void*> live;
    for (int i = 0; i < 10; ++i) live.push_back(blocks.allocate());
    for (void* const p : live) blocks.deallocate(p);
    EXPECT_TRUE(blocks.check());
  }
  EXPECT_TRUE(source.chunks.empty());
  tarn::StaticBuffer<1000> buffer;
  FixedAllocatorOptions words;
  words.alignment = 8;
  {
    FixedAllocator blocks(24, 0, buffer, words);
    void* const p = blocks.allocate();
    static_cast<void>(blocks.allocate());
    blocks.deallocate(p);
    EXPECT_EQ(blocks.allocate(), p);
    blocks.deallocate(p);
  }
  EXPECT_TRUE(buffer.check());
}

TEST(FixedAllocator, RecyclesIfAsked) {
  CountingSource source;
  FixedAllocatorOptions options;
  options.recycle = true;
  {
    FixedAllocator blocks(40, 0, source, options);
    void* const a = blocks.allocate();
    static_cast<void>(blocks.allocate());
    blocks.deallocate(a);
    EXPECT_EQ(source.chunks.size(), 2u);
    EXPECT_EQ(blocks.allocate(), a);
    EXPECT_EQ(source.calls, 2u);
    blocks.deallocate(a);
    EXPECT_TRUE(blocks.check());
  }
  EXPECT_EQ(source.released, 1u);  // Live ones stay what they are.
  EXPECT_EQ(source.chunks.size(), 1u);
  std::free(source.chunks.begin()->first);
}

TEST(FixedAllocator, AnExhaustedPoolCountsRight) {
  CountingSource source;
  FixedAllocatorOptions options;
  options.name = "packets";
  FixedAllocator pool(100, 5, source, options);
  EXPECT_STREQ(pool.name(), "packets");
  EXPECT_EQ(pool.block_bytes(), 100u);
  EXPECT_EQ(pool.block_count(), 5u);
  std::vector<void*> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(pool.allocate());
  for (int i = 0; i < 3; ++i) {
    errno = 0;
    EXPECT_EQ(pool.try_allocate(), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
  EXPECT_THROW(static_cast<void>(pool.allocate()), std::bad_alloc);
  EXPECT_EQ(pool.blocks_in_use(), 5u);
  EXPECT_EQ(pool.allocations(), 5u);
  EXPECT_EQ(pool.failures(), 4u);
  pool.deallocate(blocks[2]);
  EXPECT_EQ(pool.allocate(), blocks[2]);
  EXPECT_EQ(pool.deallocations(), 1u);
  EXPECT_EQ(pool.blocks_in_use_peak(), 5u);
  EXPECT_EQ(source.calls, 1u);
  EXPECT_TRUE(pool.check());
}

TEST(FixedAllocator, MemoryOfOnesOwn) {
  alignas(16) static unsigned char memory[10 * 32];
  FixedAllocator pool(32, 0, memory, sizeof memory);
  EXPECT_EQ(pool.block_count(), 10u);
  EXPECT_EQ(pool.allocate(), static_cast<void*>(memory));
  EXPECT_TRUE(pool.owns(memory + 31));
  EXPECT_FALSE(pool.owns(memory + 32));
  FixedAllocator crooked(32, 0, memory + 1, sizeof memory - 1);
  EXPECT_EQ(crooked.block_count(), 9u);
  EXPECT_TRUE(tarn::is_aligned(crooked.allocate(), sizeof(void*)));
  FixedAllocator few(32, 3, memory, sizeof memory);
  EXPECT_EQ(few.block_count(), 3u);
}

// What is aligned to less than a pointer is not rounded up to one, and each free is proved.
TEST(FixedAllocator, SmallAlignmentsLoseNothing) {
  alignas(16) static unsigned char memory[21 * 12];
  alignas(16) static unsigned char other_memory[21 * 12];
  CountingSource source;
  FixedAllocatorOptions options;
  for (const std::size_t alignment : {1u, 2u, 4u}) {
    options.alignment = alignment;
    FixedAllocator own(12, 0, memory, sizeof memory, options);
    EXPECT_EQ(own.block_count(), 21u);
    FixedAllocator pool(12, 21, source, options);
    EXPECT_NE(pool.get()->live_bits, nullptr);
    FixedAllocator few(12, 20, other_memory, sizeof other_memory, options);
    EXPECT_NE(few.get()->live_bits, nullptr);
    for (FixedAllocator* const blocks : {&own, &pool, &few}) {
      std::vector<unsigned char*> live;
      while (void* const p = blocks->try_allocate()) live.push_back(static_cast<unsigned char*>(p));
      for (std::size_t i = 0; i < live.size(); ++i) {
        EXPECT_EQ(live[i], live[0] + i * 12);
        std::memset(live[i], 0xff, 12);
      }
      EXPECT_TRUE(blocks->check());
      for (unsigned char* const p : live) blocks->deallocate(p);
      EXPECT_EQ(blocks->try_allocate(), live.back());
      EXPECT_TRUE(blocks->check());
    }
  }
  FixedAllocator small(3, 0, memory, sizeof memory, options);  // Room for a link.
  EXPECT_EQ(small.block_count(), sizeof memory / sizeof(void*));
}

TEST(FixedAllocator, RefusesWhatMakesNoSense) {
  alignas(16) static unsigned char memory[16];
  EXPECT_THROW(FixedAllocator(0), tarn::InvalidOptions);
  EXPECT_THROW(FixedAllocator(SIZE_MAX), tarn::InvalidOptions);
  EXPECT_THROW(FixedAllocator(17, 0, memory, 16), tarn::InvalidOptions);
  EXPECT_THROW(FixedAllocator(16, 0, memory + 1, 15), tarn::InvalidOptions);
  EXPECT_THROW(FixedAllocator(16, 0, nullptr, 0), tarn::InvalidOptions);
  EXPECT_THROW(FixedAllocator(16, 0, nullptr, 16), tarn::InvalidOptions);
  FixedAllocatorOptions options;
  options.alignment = 24;
  EXPECT_THROW(FixedAllocator(16, 0, options), tarn::InvalidOptions);
  EXPECT_THROW(FixedAllocator(16, SIZE_MAX / 16), std::bad_alloc);
  EXPECT_THROW(FixedAllocator(16, SIZE_MAX / 8), std::bad_alloc);
  tarn_fixed_allocator none;
  EXPECT_EQ(tarn_fixed_allocator_init(&none, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(tarn_fixed_allocator_allocate(&none), nullptr);
  tarn_fixed_allocator_destroy(&none);
}

struct Packet {
  double time;
  char text[20];
};

TEST(FixedAllocatorDeathTest, FreesOfWhatIsNoBlock) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  static tarn::FixedAllocatorFor<Packet, 100> packets("packets");
  EXPECT_NE(packets.allocator().get()->live_bits, nullptr);
  auto* const a = static_cast<char*>(packets.allocate());
  static_cast<void>(packets.allocate());
  EXPECT_EQ(packets.allocator().block_count(), 100u);
  EXPECT_EXIT(packets.deallocate(a + 8), testing::KilledBySignal(SIGABRT),
              "^tarn: invalid free: .*the pool \"packets\"");
  EXPECT_DEATH(packets.deallocate(a + 50 * sizeof(Packet)), "tarn: invalid free: ");
  int elsewhere = 0;
  EXPECT_DEATH(packets.deallocate(&elsewhere), "tarn: invalid free: ");
  packets.deallocate(a);
  packets.deallocate(nullptr);
  EXPECT_DEATH(packets.deallocate(a), "tarn: double free: .*the pool \"packets\"");

  FixedAllocatorOptions recycling;
  recycling.recycle = true;
  FixedAllocator blocks(40, 0, recycling);
  void* const only = blocks.allocate();
  blocks.deallocate(only);  // It is kept: the source does not know.
  EXPECT_DEATH(blocks.deallocate(only), "tarn: double free: ");
}

struct OfHeapBlocks {
  static constexpr std::size_t bytes_max = 100, alignment_max = 16, blocks = 300;
  static constexpr bool frees = true, knows = false;
  FixedAllocator allocator{100};
};
struct OfHeapPool {
  static constexpr std::size_t bytes_max = 100, alignment_max = 16, blocks = 300;
  static constexpr bool frees = true;
  FixedAllocator allocator{100, 300};
};
struct OfStaticPool {
  static constexpr std::size_t bytes_max = 100, alignment_max = 8, blocks = 300;
  static constexpr bool frees = true;
  alignas(16) unsigned char memory[300 * 104];
  FixedAllocator allocator{100, 0, memory, sizeof memory};
};

using Places = testing::Types<OfHeapBlocks, OfHeapPool, OfStaticPool>;

}  // namespace
}  // namespace pools

namespace conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(FixedAllocator, BlockAllocators, pools::Places);
}
