// What a program is told that uses a pool's blocks wrongly: one crime per test, and the report is
// matched. Under a sanitizer it is that which reports first, and the pool's name comes with it.
//
// SPDX-License-Identifier: MIT
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "sources.hpp"
#include "tarn/arena/arena.hpp"
#include "tarn/pool/fixed_allocator.hpp"
#include "tarn/pool/pool.hpp"

namespace pools {
namespace {

using tarn::Mode;
using tarn::Pool;
using tarn::PoolOptions;

PoolOptions named(Mode mode) {
  PoolOptions options;
  options.name = "nodes";
  options.mode = mode;
  return options;
}

// owner_is_watched of kinds/sources/checked_blocks.hpp, in a Pool or an Arena.
template <class Owner>
bool is_watched(Owner& owner) {
  return (owner.get()->state & 16) != 0;
}

void* hidden(void* p) {
  asm volatile("" : "+r"(p));
  return p;
}

class CheckedPoolDeathTest : public testing::Test {
 protected:
  CheckedPoolDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // The report of the library, or of a sanitizer with the library's words on the block.
  void expect(void (*crime)(Pool&), const char* report) {
    CountingSource source;
    Pool pool(40, source, named(Mode::checked));
    if (is_watched(pool)) {
      EXPECT_DEATH(crime(pool), "AddressSanitizer(.|\n)*the pool \"nodes\"");
      return;
    }
    EXPECT_EXIT(crime(pool), testing::KilledBySignal(SIGABRT), report);
  }
};

TEST_F(CheckedPoolDeathTest, DoubleFree) {
  expect(
      [](Pool& pool) {
        void* const p = pool.allocate();
        static_cast<void>(pool.allocate());
        pool.deallocate(p);
        pool.deallocate(hidden(p));
      },
      "^tarn: double free: tarn_pool_deallocate\\(0x[0-9a-f]+\\): .*the pool \"nodes\"\n"
      "tarn:   allocated at .*\ntarn:   freed at .*\ntarn:   now at ");
}

TEST_F(CheckedPoolDeathTest, InteriorFree) {
  CountingSource source;
  Pool pool(40, source, named(Mode::checked));
  auto* const p = static_cast<char*>(pool.allocate());
  EXPECT_DEATH(pool.deallocate(hidden(p + 8)),
               "tarn: invalid free: .*8 bytes into a block of 40 bytes of the pool \"nodes\"");
}

TEST_F(CheckedPoolDeathTest, ForeignFree) {
  CountingSource source;
  Pool pool(40, source, named(Mode::checked));
  Pool other(40, source, named(Mode::checked));
  static_cast<void>(pool.allocate());
  void* const p = other.allocate();
  int local = 0;
  EXPECT_DEATH(pool.deallocate(hidden(p)), "tarn: invalid free: .*the pool \"nodes\"");
  EXPECT_DEATH(pool.deallocate(hidden(&local)), "tarn: invalid free: .*not the start of a block");
  EXPECT_DEATH(pool.deallocate(hidden(reinterpret_cast<void*>(4096))), "tarn: invalid free: ");
  EXPECT_DEATH(pool.deallocate(hidden(reinterpret_cast<void*>(UINTPTR_MAX))), "invalid free: ");
}

TEST_F(CheckedPoolDeathTest, NeverHandedOut) {
  CountingSource source;
  Pool pool(40, source, named(Mode::checked));
  auto* const p = static_cast<char*>(pool.allocate());
  const std::size_t stride = pool.stats().stride_bytes;
  EXPECT_DEATH(pool.deallocate(hidden(p + stride)), "tarn: invalid free: ");
}

TEST_F(CheckedPoolDeathTest, Overrun) {
  expect(
      [](Pool& pool) {
        auto* const p = static_cast<char*>(hidden(pool.allocate()));
        p[41] = 1;
        pool.deallocate(p);
      },
      "^tarn: overrun: tarn_pool_deallocate: .*41 bytes into a block of 40 bytes of the pool "
      "\"nodes\"\ntarn:   allocated at ");
}

TEST_F(CheckedPoolDeathTest, OverrunFoundAtTheEnd) {
  expect(
      [](Pool& pool) {
        auto* const p = static_cast<char*>(hidden(pool.allocate()));
        p[40] = 1;
        pool.walk([](void*) {});
      },
      "^tarn: overrun: tarn_pool_walk: ");
  expect(
      [](Pool& pool) {
        auto* const p = static_cast<char*>(hidden(pool.allocate()));
        p[40] = 1;
        pool.clear();
      },
      "^tarn: overrun: tarn_pool_clear: ");
  expect(
      [](Pool& pool) {
        auto* const p = static_cast<char*>(hidden(pool.allocate()));
        p[40] = 1;
        tarn_pool_destroy(pool.get());
      },
      "^tarn: overrun: tarn_pool_destroy: ");
}

TEST_F(CheckedPoolDeathTest, UseAfterFree) {
  expect(
      [](Pool& pool) {
        auto* const p = static_cast<char*>(hidden(pool.allocate()));
        static_cast<void>(pool.allocate());
        pool.deallocate(p);
        p[9] = 1;
        for (int i = 0; i < 100'000; ++i) static_cast<void>(pool.allocate());
      },
      "^tarn: use after free: .*9 bytes into a block of 40 bytes of the pool \"nodes\"\n"
      "tarn:   allocated at .*\ntarn:   freed at ");
}

void write_late(Pool& pool) {
  auto* const p = static_cast<char*>(hidden(pool.allocate()));
  static_cast<void>(pool.allocate());
  pool.deallocate(p);
  p[9] = 1;
}

// Not before the block is used again, if nobody looks; else then.
TEST_F(CheckedPoolDeathTest, UseAfterFreeFoundByWhoLooks) {
  expect(
      [](Pool& pool) {
        write_late(pool);
        (void)pool.check();
      },
      "^tarn: use after free: tarn_pool_check: .*9 bytes into a block of 40 bytes of the pool "
      "\"nodes\"\ntarn:   allocated at .*\ntarn:   freed at ");
  expect(
      [](Pool& pool) {
        write_late(pool);
        pool.walk([](void*) {});
      },
      "^tarn: use after free: tarn_pool_walk: ");
  expect(
      [](Pool& pool) {
        write_late(pool);
        pool.walk([&](void* p) { pool.deallocate(p); });  // Its chunk goes.
      },
      "^tarn: use after free: tarn_pool_walk: ");
  expect(
      [](Pool& pool) {
        write_late(pool);
        pool.clear();
      },
      "^tarn: use after free: tarn_pool_clear: ");
  expect(
      [](Pool& pool) {
        write_late(pool);
        tarn_pool_destroy(pool.get());
      },
      "^tarn: use after free: tarn_pool_destroy: ");
}

// Chunks that go back take what was written to them along, so it is looked at before.
TEST_F(CheckedPoolDeathTest, UseAfterFreeInAChunkThatGoes) {
  expect(
      [](Pool& pool) {
        std::vector<char*> blocks;
        for (int i = 0; i < 10'000; ++i) {
          blocks.push_back(static_cast<char*>(hidden(pool.allocate())));
        }
        for (char* p : blocks) {
          pool.deallocate(p);
          if (p == blocks[0]) p[0] = 1;
        }
      },
      "^tarn: use after free: tarn_pool_deallocate: .*0 bytes into a block of 40 bytes");
  expect(
      [](Pool& pool) {
        auto* const p = static_cast<char*>(hidden(pool.allocate()));
        pool.deallocate(p);
        p[3] = 1;
        (void)pool.trim();
      },
      "^tarn: use after free: tarn_pool_trim: .*3 bytes into a block of 40 bytes");
}

// What a fast pool finds because it comes by.
TEST(FastPoolDeathTest, FreesOfWhatCannotBe) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  CountingSource source;
  Pool pool(40, source, named(Mode::fast));
  void* const p = pool.allocate();
  pool.deallocate(p);
  EXPECT_DEATH(pool.deallocate(hidden(p)), "tarn: (invalid|double) free: .*the pool \"nodes\"");
  Pool ended(40, source);
  tarn_pool_destroy(ended.get());
  EXPECT_DEATH(ended.deallocate(hidden(p)), "tarn: invalid free: ");
}

TEST(FastPoolDeathTest, DoubleFreeInAWalk) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  CountingSource source;
  Pool pool(40, source, named(Mode::fast));
  for (int i = 0; i < 3; ++i) static_cast<void>(pool.allocate());
  const auto crime = [&] {
    pool.walk([&](void* p) {
      pool.deallocate(p);
      pool.deallocate(hidden(p));
    });
  };
  EXPECT_DEATH(crime(), "tarn: double free: .*the pool \"nodes\"");
}

TEST(SourceDeathTest, AChunkThatIsTooSmall) {
  struct Liar {
    tarn::Chunk acquire(std::size_t, std::size_t) noexcept { return {memory, 16}; }
    void release(tarn::Chunk) noexcept {}
    alignas(4096) char memory[16];
  } liar;
  const std::string complaint = "^tarn: invalid chunk: a source was asked for .* and gave 16 at ";
  Pool pool(40, liar);
  EXPECT_EXIT(static_cast<void>(pool.allocate()), testing::KilledBySignal(SIGABRT), complaint);
  tarn::Arena arena{tarn::SourceRef(liar)};
  EXPECT_EXIT(static_cast<void>(arena.allocate(40)), testing::KilledBySignal(SIGABRT), complaint);
  tarn::FixedAllocator blocks(40, 0, liar);
  EXPECT_EXIT(static_cast<void>(blocks.allocate()), testing::KilledBySignal(SIGABRT), complaint);
}

TEST(GuardedPoolDeathTest, FaultsBehindABlockAndInAFreeOne) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Pool pool(48, named(Mode::guarded));
  auto* const p = static_cast<char*>(hidden(pool.allocate()));
  std::memset(p, 1, 48);
  EXPECT_DEATH(p[48] = 1, "");
  void* const kept = pool.allocate();
  pool.deallocate(p);
  EXPECT_DEATH(p[0] = 1, "");
  EXPECT_DEATH(pool.deallocate(p), "tarn: invalid free: .*the pool \"nodes\"");
  pool.deallocate(kept);
  EXPECT_EQ(pool.stats().chunks, 0u);
}

TEST(PassthroughPool, TakesEachBlockFromMalloc) {
  Pool pool(40, named(Mode::passthrough));
  void* const a = pool.allocate();
  void* const b = pool.allocate();
  EXPECT_EQ(pool.stats().chunks, 2u);
  EXPECT_TRUE(pool.owns(a));
  std::memset(a, 1, 40);
  pool.deallocate(a);
  EXPECT_EQ(pool.stats().chunks, 1u);
  EXPECT_FALSE(pool.owns(a));
  EXPECT_TRUE(pool.check());
  pool.deallocate(b);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(pool.deallocate(hidden(b)), "tarn: invalid free: .*the pool \"nodes\"");
}

class ArenaDeathTest : public testing::Test {
 protected:
  ArenaDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  void expect(void (*crime)(tarn::Arena&), const char* report, const char* words) {
    CountingSource source;
    tarn::ArenaOptions options;
    options.name = "document";
    options.mode = tarn::Mode::checked;
    tarn::Arena arena(source, options);
    const bool watched = is_watched(arena);
    const std::string seen = std::string("AddressSanitizer(.|\n)*") + words;
    EXPECT_DEATH(crime(arena), watched ? seen.c_str() : report);
  }
};

TEST_F(ArenaDeathTest, Overrun) {
  const auto overrun = [](tarn::Arena& arena) {
    auto* const p = static_cast<char*>(hidden(arena.allocate(20)));
    static_cast<void>(arena.allocate(20));
    p[21] = 1;
    arena.reset();
  };
  expect(overrun,
         "^tarn: overrun: tarn_arena_reset: .*21 bytes into a block of 20 bytes of the arena "
         "\"document\"\ntarn:   allocated at ",
         "21 bytes into a block of 20 bytes of the arena \"document\"");
  const auto at_rewind = [](tarn::Arena& arena) {
    const auto mark = arena.mark();
    auto* const p = static_cast<char*>(hidden(arena.allocate(20'000)));
    p[20'000] = 1;
    arena.rewind(mark);
  };
  expect(at_rewind, "^tarn: overrun: tarn_arena_rewind: ", "the arena \"document\"");
}

TEST_F(ArenaDeathTest, UseAfterRewind) {
  CountingSource source;
  tarn::ArenaOptions options;
  options.name = "document";
  options.mode = tarn::Mode::checked;
  tarn::Arena arena(source, options);
  const auto mark = arena.mark();
  auto* const p = static_cast<volatile unsigned char*>(hidden(arena.allocate(20)));
  *p = 5;
  arena.rewind(mark);
  if (is_watched(arena)) {
    EXPECT_DEATH(*p = 6, "AddressSanitizer(.|\n)*in memory of the arena \"document\" that is no ");
  } else {
    EXPECT_EQ(*p, 0xdf);
  }
}

TEST_F(ArenaDeathTest, InvalidMark) {
  tarn::ArenaOptions options;
  options.name = "document";
  tarn::Arena arena(options);
  tarn::Arena other(options);
  static_cast<void>(other.allocate(1));
  const auto foreign = other.mark();
  EXPECT_EXIT(arena.rewind(foreign), testing::KilledBySignal(SIGABRT),
              "^tarn: invalid mark: tarn_arena_rewind: .*the arena \"document\"");
  const auto early = arena.mark();
  static_cast<void>(arena.allocate(1));
  const auto late = arena.mark();
  arena.rewind(early);
  arena.trim();
  EXPECT_DEATH(arena.rewind(late), "tarn: invalid mark: ");
}

}  // namespace
}  // namespace pools
