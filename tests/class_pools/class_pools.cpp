// ClassPools: classes, places, lists and chunks; conformance; what a wrong free is told.
//
// SPDX-License-Identifier: MIT
#include "tarn/pool/class_pools.hpp"

#include <cerrno>
#include <csignal>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "conformance.hpp"
#include "sources.hpp"
#include "tarn/detail/align.hpp"
#include "tarn/source/buffer_source.hpp"

namespace pools {
namespace {

using tarn::ClassPools;
using tarn::ClassPoolsOptions;

volatile std::size_t too_much = SIZE_MAX;  // Not known to the compiler, which would warn.

ClassPoolsOptions tuned() {
  static constexpr std::size_t sizes[] = {396, 768};
  ClassPoolsOptions options;
  options.classes = sizes;
  options.name = "tuned";
  return options;
}

std::size_t class_of(const ClassPools& pools, std::size_t block_bytes) {
  for (std::size_t i = 0; i < pools.class_count(); ++i) {
    if (pools.class_stats(i).block_bytes == block_bytes) return i;
  }
  ADD_FAILURE() << "no class of " << block_bytes;
  return 0;
}

// The formula against a search, for all sizes up to 9,000 and around each power of two.
TEST(ClassPools, EachRequestHasTheSmallestClass) {
  CountingSource source;
  ClassPoolsOptions options;
  static constexpr std::size_t named[] = {1,   17,   24,   396,  397,  400,
                                          768, 1000, 3000, 3001, 3002, 5000};
  options.classes = named;
  ClassPools pools(source, options);
  ASSERT_TRUE(pools.check());
  std::vector<std::size_t> sizes(std::begin(named), std::end(named));
  for (std::size_t power = 16; power <= (std::size_t{1} << 20); power *= 2) sizes.push_back(power);
  const std::set<std::size_t> ordered(sizes.begin(), sizes.end());
  const auto expect = [&](std::size_t bytes) {
    void* const p = pools.allocate(bytes);
    ASSERT_EQ(pools.usable_bytes(p), *ordered.lower_bound(bytes)) << bytes;
    ASSERT_TRUE(tarn::is_aligned(p, 16)) << bytes;
    pools.deallocate(p);
  };
  for (std::size_t bytes = 0; bytes < 9000; ++bytes) expect(bytes == 0 ? 0 : bytes);
  for (std::size_t power = 8192; power <= (std::size_t{1} << 19); power *= 2) {
    expect(power - 1);
    expect(power);
    expect(power + 1);
  }
  EXPECT_TRUE(pools.check());
}

// (S4: 0 of 4096 pointers were.)
TEST(ClassPools, EachPointerIsAlignedAndApart) {
  ClassPools pools(tuned());
  std::map<char*, std::size_t> live;
  for (std::size_t i = 0; i < 4096; ++i) {
    const std::size_t bytes = i % 2 == 0 ? 1 : 1 + i;
    char* const p = static_cast<char*>(pools.allocate(bytes));
    ASSERT_TRUE(tarn::is_aligned(p, 16));
    std::memset(p, 0x5a, pools.usable_bytes(p));
    live[p] = pools.usable_bytes(p);
  }
  char* end = nullptr;
  for (const auto& [p, bytes] : live) {
    ASSERT_GE(p, end);
    end = p + bytes;
  }
  std::size_t seen = 0;
  EXPECT_TRUE(pools.walk([&](void* p, std::size_t bytes) {
    ASSERT_EQ(live[static_cast<char*>(p)], bytes);
    ++seen;
    pools.deallocate(p);
  }));
  EXPECT_EQ(seen, 4096u);
  EXPECT_EQ(pools.stats().in_use, 0u);
  EXPECT_TRUE(pools.check());
}

TEST(ClassPools, TheLastFreedComesFirst) {
  ClassPools pools;
  std::vector<void*> blocks;
  for (int i = 0; i < 2000; ++i) blocks.push_back(pools.allocate(100));
  for (std::size_t i = 1; i < blocks.size(); ++i) ASSERT_NE(blocks[i], blocks[i - 1]);
  for (const std::size_t i : {7u, 1900u, 500u, 8u}) {
    pools.deallocate(blocks[i]);
    void* const again = pools.allocate(65);
    EXPECT_EQ(again, blocks[i]);
  }
  pools.deallocate(blocks[20]);
  pools.deallocate(blocks[21]);
  EXPECT_EQ(pools.allocate(128), blocks[21]);
  EXPECT_EQ(pools.allocate(128), blocks[20]);
}

// The first blocks come in the order of addresses, and what is not used is not touched.
TEST(ClassPools, MemoryIsCarvedLazily) {
  static unsigned char memory[1 << 20];
  std::memset(memory, 0x77, sizeof memory);
  tarn::BufferSource buffer(memory, sizeof memory);
  ClassPoolsOptions options;
  options.block_bytes_max = 4096;
  options.chunk_bytes = options.chunk_bytes_max = 256 * 1024;
  char* a = nullptr;
  {
    ClassPools pools(buffer, options);
    a = static_cast<char*>(pools.allocate(4096));
    char* const b = static_cast<char*>(pools.allocate(4096));
    EXPECT_EQ(b, a + 4096);
    pools.deallocate(a);
    pools.deallocate(b);
  }
  std::size_t touched = 0;
  for (const unsigned char byte : memory) touched += byte != 0x77 ? 1 : 0;
  EXPECT_LT(touched, 4096u);  // Tables and a header: not one byte of a block.
  EXPECT_EQ(a[0], 0x77);
}

TEST(ClassPools, ChunksGoBackWithOneSpare) {
  CountingSource source;
  ClassPoolsOptions options;
  options.chunk_bytes = options.chunk_bytes_max = 4096;
  ClassPools pools(source, options);
  const std::size_t bare = source.chunks.size();
  std::vector<void*> blocks;
  for (int i = 0; i < 200; ++i) blocks.push_back(pools.allocate(256));
  const std::size_t chunks = source.chunks.size() - bare;
  EXPECT_GT(chunks, 10u);
  for (void* const p : blocks) pools.deallocate(p);
  EXPECT_EQ(source.chunks.size() - bare, 1u);
  const std::size_t calls = source.calls;
  for (int i = 0; i < 100; ++i) pools.deallocate(pools.allocate(256));
  EXPECT_EQ(source.calls, calls);
  // Back and forth over the end of a chunk.
  blocks.clear();
  do {
    blocks.push_back(pools.allocate(256));
  } while (source.chunks.size() - bare < 2);
  const std::size_t before = source.calls;
  for (int i = 0; i < 100; ++i) {
    pools.deallocate(blocks.back());
    blocks.back() = pools.allocate(256);
  }
  EXPECT_EQ(source.calls, before);
  EXPECT_EQ(source.released, chunks - 1);
  EXPECT_TRUE(pools.check());
  for (void* const p : blocks) pools.deallocate(p);
  EXPECT_GT(pools.trim(), 3900u);
  EXPECT_EQ(source.chunks.size(), bare);
  EXPECT_EQ(pools.stats().chunks, 0u);
  // A block far above the chunks goes back at once.
  void* const large = pools.allocate(100'000);
  EXPECT_EQ(source.chunks.size(), bare + 1);
  pools.deallocate(large);
  EXPECT_EQ(source.chunks.size(), bare);
}

TEST(ClassPools, KeepsAllIfAsked) {
  CountingSource source;
  {
    ClassPoolsOptions options;
    options.keep_chunks = true;
    ClassPools pools(source, options);
    std::vector<void*> blocks;
    for (int round = 0; round < 5; ++round) {
      for (std::size_t i = 0; i < 3000; ++i) blocks.push_back(pools.allocate(1 + i * 37 % 6000));
      blocks.push_back(pools.allocate(5'000'000));
      blocks.push_back(pools.allocate(10, 4096));  // Over-aligned ones are none of the list's.
      for (void* const p : blocks) pools.deallocate(p);
      blocks.clear();
      ASSERT_TRUE(pools.check());
      EXPECT_EQ(source.released, static_cast<std::size_t>(round + 1));
    }
    const std::size_t held = source.chunks.size();
    EXPECT_GT(pools.trim(), 8'000'000u);
    EXPECT_LT(source.chunks.size(), held);
  }
  EXPECT_TRUE(source.chunks.empty());
}

TEST(ClassPools, AlignmentsHold) {
  CountingSource source;
  ClassPools pools(source, tuned());
  std::vector<void*> blocks;
  for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2) {
    for (const std::size_t bytes : {0u, 1u, 48u, 390u, 700u, 5000u}) {
      for (int i = 0; i < 3; ++i) {
        void* const p = pools.allocate(bytes, alignment);
        ASSERT_TRUE(tarn::is_aligned(p, alignment)) << bytes << " " << alignment;
        ASSERT_GE(pools.usable_bytes(p), bytes);
        std::memset(p, 1, pools.usable_bytes(p));
        ASSERT_TRUE(pools.owns(p));
        blocks.push_back(p);
      }
    }
  }
  EXPECT_TRUE(pools.check());
  for (void* const p : blocks) pools.deallocate(p);
  EXPECT_TRUE(pools.check());
  errno = 0;
  EXPECT_EQ(tarn_class_pools_allocate_aligned(pools.get(), 24, 8), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(tarn_class_pools_allocate_aligned(pools.get(), 0, 8), nullptr);
  EXPECT_EQ(pools.try_allocate(1, std::size_t{1} << 63), nullptr);
  // The most that a class gives is the table's: tuned classes only, none with the alignment.
  ClassPoolsOptions odd;
  static constexpr std::size_t one[] = {396};
  odd.classes = one;
  odd.tuned_only = true;
  ClassPools few(odd);
  for (const std::size_t alignment : {32u, 64u, 128u}) {
    void* const p = few.allocate(396, alignment);
    EXPECT_TRUE(tarn::is_aligned(p, alignment));
    EXPECT_TRUE(few.check());
    few.deallocate(p);
  }
  EXPECT_EQ(few.try_allocate(397), nullptr);
  // A class far above that is aligned so by chance is not taken for it.
  static constexpr std::size_t apart[] = {48, 192, 1 << 20};
  odd.classes = apart;
  ClassPools sparse(odd);
  EXPECT_EQ(sparse.usable_bytes(sparse.allocate(40, 64)), 192u);
  for (const std::size_t bytes : {40u, 190u}) {
    void* const p = sparse.allocate(bytes, 128);
    EXPECT_LT(sparse.usable_bytes(p), 200u);
  }
  static constexpr std::size_t far[] = {48, 1 << 20};
  odd.classes = far;
  ClassPools sparser(odd);
  void* const p = sparser.allocate(40, 64);
  EXPECT_TRUE(tarn::is_aligned(p, 64));
  EXPECT_EQ(sparser.usable_bytes(p), 48u);
  EXPECT_LT(sparser.stats().held_bytes, 100'000u);
}

// (S4: xrealloc to a smaller size moves.)
TEST(ClassPools, ReallocatesInPlaceWhileTheClassSuffices) {
  ClassPools pools(tuned());
  auto* p = static_cast<unsigned char*>(pools.try_reallocate(nullptr, 700));
  for (int i = 0; i < 700; ++i) p[i] = static_cast<unsigned char>(i);
  for (const std::size_t bytes : {768u, 1u, 513u, 700u, 100u}) {
    ASSERT_EQ(pools.try_reallocate(p, bytes), p) << bytes;
  }
  auto* const moved = static_cast<unsigned char*>(pools.try_reallocate(p, 769));
  ASSERT_NE(moved, p);
  for (int i = 0; i < 700; ++i) ASSERT_EQ(moved[i], static_cast<unsigned char>(i));
  EXPECT_EQ(pools.usable_bytes(p), 0u);
  EXPECT_EQ(pools.try_reallocate(moved, too_much), nullptr);
  EXPECT_EQ(moved[699], static_cast<unsigned char>(699));
  EXPECT_THROW(static_cast<void>(pools.reallocate(moved, too_much)), std::bad_alloc);
  EXPECT_EQ(pools.reallocate(moved, 600), moved);
  EXPECT_EQ(pools.reallocate(moved, 0), nullptr);
  EXPECT_EQ(pools.stats().in_use, 0u);
}

TEST(ClassPools, ZeroedBlocksAreZero) {
  CountingSource source;  // Full of rubbish.
  ClassPools pools(source);
  for (int i = 0; i < 10; ++i) {
    auto* const p = static_cast<unsigned char*>(pools.try_allocate_zeroed(100, 10));
    for (int j = 0; j < 1000; ++j) ASSERT_EQ(p[j], 0);
    std::memset(p, 0xff, 1000);
    if (i % 2 == 0) pools.deallocate(p);
  }
  EXPECT_EQ(pools.try_allocate_zeroed(too_much / 2, 3), nullptr);
  EXPECT_THROW(static_cast<void>(pools.allocate_zeroed(too_much / 2, 3)), std::bad_alloc);
  auto* const none = static_cast<char*>(pools.try_allocate_zeroed(0, 8));
  EXPECT_NE(none, nullptr);
}

TEST(ClassPools, StatisticsAreExact) {
  ClassPools pools(tuned());
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < 100; ++i) blocks.push_back(pools.allocate(390 + i % 7));
  for (std::size_t i = 0; i < 30; ++i) pools.deallocate(blocks[i]);
  blocks.push_back(pools.allocate(385));
  tarn_class_pool_stats stats = pools.class_stats(class_of(pools, 396));
  EXPECT_EQ(stats.stride_bytes, 400u);
  EXPECT_EQ(stats.in_use, 71u);
  EXPECT_EQ(stats.in_use_peak, 100u);
  EXPECT_EQ(stats.allocations, 101u);
  EXPECT_EQ(stats.deallocations, 30u);
  EXPECT_EQ(stats.requested_bytes_min, 385u);
  EXPECT_EQ(stats.requested_bytes_max, 396u);
  std::uint64_t sum = 385;
  for (std::size_t i = 0; i < 100; ++i) sum += 390 + i % 7;
  EXPECT_EQ(stats.requested_bytes, sum);
  EXPECT_GE(stats.capacity, 100u);
  EXPECT_GE(stats.held_bytes, stats.capacity * 400);
  stats = pools.class_stats(class_of(pools, 512));
  EXPECT_EQ(stats.allocations + stats.in_use + stats.in_use_peak + stats.capacity, 0u);
  EXPECT_EQ(stats.requested_bytes_min, 0u);
  const tarn_class_pools_stats all = pools.stats();
  EXPECT_EQ(all.in_use, 71u);
  EXPECT_EQ(all.in_use_bytes, 71u * 396);
  EXPECT_EQ(all.allocations, 101u);
  EXPECT_EQ(all.classes, pools.class_count());
  EXPECT_EQ(pools.try_allocate(too_much), nullptr);
  EXPECT_EQ(pools.stats().failures, 1u);
  stats.bytes = 1;
  EXPECT_EQ(tarn_class_pools_get_class_stats(pools.get(), 0, &stats), -1);
  stats.bytes = sizeof stats;
  EXPECT_EQ(tarn_class_pools_get_class_stats(pools.get(), 1000, &stats), -1);
}

// Each block has a chunk of its own: to look at all of them for each question would take minutes.
TEST(ClassPools, StatisticsOfManyChunksAreAtHand) {
  CountingSource source;
  ClassPools pools(source, tuned());
  std::vector<void*> blocks(20'000);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = pools.allocate(1 + i % 2000, 128);
  const auto expect = [&] {
    std::uint64_t chunks = 0;
    std::uint64_t capacity = 0;
    std::uint64_t held = 0;
    for (std::size_t i = 0; i < pools.class_count(); ++i) {
      const tarn_class_pool_stats stats = pools.class_stats(i);
      chunks += stats.chunks;
      capacity += stats.capacity;
      held += stats.held_bytes;
    }
    ASSERT_EQ(chunks, pools.stats().chunks);
    ASSERT_GE(capacity, pools.stats().in_use);
    std::uint64_t granted = 0;
    for (const auto& [data, bytes] : source.chunks) granted += bytes;
    ASSERT_EQ(pools.stats().held_bytes, granted);
    ASSERT_EQ(held, granted - pools.get()->table.bytes - pools.get()->recents.bytes);
  };
  for (int i = 0; i < 200; ++i) expect();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(pools.check());
  for (std::size_t i = 0; i < blocks.size(); i += 2) pools.deallocate(blocks[i]);
  for (std::size_t i = 0; i < blocks.size(); i += 2) blocks[i] = pools.allocate(i % 3000);
  expect();
  for (void* const p : blocks) pools.deallocate(p);
  expect();
  pools.trim();
  expect();
  EXPECT_EQ(pools.stats().chunks, 0u);
  EXPECT_TRUE(pools.check());
}

// What one class keeps for its next blocks is there for another one when nothing else is.
TEST(ClassPools, SparesServeOtherClassesInTheEnd) {
  for (const bool keep : {false, true}) {
    tarn::StaticBuffer<20'000> buffer;
    ClassPoolsOptions options;
    options.block_bytes_max = 4096;
    options.chunk_bytes = 8192;
    options.keep_chunks = keep;
    ClassPools pools(buffer, options);
    std::size_t served = 0;
    for (std::size_t bytes = 16; bytes <= 4096; bytes *= 2) {
      void* const p = pools.try_allocate(bytes);
      if (p != nullptr) ++served;
      pools.deallocate(p);
      ASSERT_TRUE(pools.check());
    }
    if (keep) {
      EXPECT_LT(served, 9u);  // They were not to go.
    } else {
      EXPECT_EQ(served, 9u);
    }
    void* const aligned = pools.try_allocate(16, 1024);
    EXPECT_EQ(aligned != nullptr, !keep);
  }
}

TEST(ClassPools, AnyPointerMayBeAskedAbout) {
  ClassPools pools;
  auto* const p = static_cast<char*>(pools.allocate(100));
  auto* const q = static_cast<char*>(pools.allocate(100));
  EXPECT_TRUE(pools.owns(p + 127));
  EXPECT_EQ(pools.usable_bytes(p + 16), 0u);
  pools.deallocate(q);
  EXPECT_FALSE(pools.owns(q));
  EXPECT_EQ(pools.usable_bytes(q), 0u);
  std::mt19937_64 random(5);
  for (int i = 0; i < 100'000; ++i) {
    const std::uintptr_t near = tarn::address_of(p) + random() % 40'000 - 20'000;
    const std::uintptr_t far = random();
    for (const std::uintptr_t address : {near, far}) {
      void* const any = reinterpret_cast<void*>(address);
      ASSERT_EQ(pools.usable_bytes(any) != 0, any == p);
      ASSERT_EQ(pools.owns(any),
                address >= tarn::address_of(p) && address < tarn::address_of(p) + 128);
    }
  }
}

TEST(ClassPoolsDeathTest, WrongFreesAreReported) {
  ClassPools pools(tuned());
  auto* const p = static_cast<char*>(pools.allocate(390));
  auto* const q = static_cast<char*>(pools.allocate(390));
  auto* const last = static_cast<char*>(pools.allocate(5000));
  int local = 0;
  pools.deallocate(q);
  pools.deallocate(last);
  const auto dies = testing::KilledBySignal(SIGABRT);
  EXPECT_EXIT(pools.deallocate(q), dies,
              "tarn: double free: tarn_class_pools_deallocate.*the pool \"tuned\"");
  EXPECT_EXIT(pools.deallocate(last), dies, "tarn: double free");
  EXPECT_EXIT(pools.deallocate(p + 16), dies, "invalid free.*16 bytes into a block of 396");
  EXPECT_EXIT(pools.deallocate(p + 1), dies, "invalid free");
  EXPECT_EXIT(pools.deallocate(q + 400), dies, "invalid free");
  EXPECT_EXIT(pools.deallocate(&local), dies, "invalid free");
  EXPECT_EXIT(pools.deallocate(reinterpret_cast<void*>(8)), dies, "invalid free");
  EXPECT_EXIT(static_cast<void>(pools.try_reallocate(q, 10)), dies,
              "double free: tarn_class_pools_reallocate");
  ClassPools others;
  void* const theirs = others.allocate(10);
  EXPECT_EXIT(pools.deallocate(theirs), dies, "invalid free");
}

#ifdef TARN_TEST_WATCHED
TEST(ClassPoolsDeathTest, AddressSanitizerSeesEachBlock) {
  ClassPools pools(tuned());
  auto* volatile p = static_cast<volatile char*>(pools.allocate(396));
  p[395] = 1;
  EXPECT_DEATH(p[396] = 1, "AddressSanitizer: use-after-poison");
  EXPECT_DEATH(p[400] = 1, "AddressSanitizer: use-after-poison");
  pools.deallocate(const_cast<char*>(p));
  EXPECT_DEATH(p[0] = 1, "AddressSanitizer: use-after-poison");
}
#endif

struct PowersOfTwo {
  ClassPools allocator;
  static constexpr std::size_t bytes_max = 3000;
  static constexpr std::size_t alignment_max = 4096;
  static constexpr std::size_t blocks = 200;
  static constexpr bool frees = true;
};
struct Tuned : PowersOfTwo {
  ClassPools allocator{tuned()};
};
struct InBuffer {
  tarn::StaticBuffer<200'000> buffer;
  ClassPools allocator{buffer, options()};
  static ClassPoolsOptions options() {
    ClassPoolsOptions options;
    static constexpr std::size_t sizes[] = {24, 100};
    options.classes = sizes;
    options.block_bytes_max = 256;
    options.chunk_bytes = 1024;
    options.chunk_bytes_max = 4096;
    return options;
  }
  static constexpr std::size_t bytes_max = 256;
  static constexpr std::size_t alignment_max = 64;
  static constexpr std::size_t blocks = 100;
  static constexpr bool frees = true;
};
using Fixtures = testing::Types<PowersOfTwo, Tuned, InBuffer>;

}  // namespace
}  // namespace pools

namespace conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(ClassPools, BlockAllocators, pools::Fixtures);
}  // namespace conformance
