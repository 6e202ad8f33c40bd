// What tarn/arena/arena.hpp promises, in fast arenas and in those that look closer.
//
// SPDX-License-Identifier: MIT
#include "tarn/arena/arena.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "conformance.hpp"
#include "sources.hpp"
#include "tarn/pool/pool.hpp"

namespace pools {
namespace {

using tarn::Arena;
using tarn::ArenaOptions;
using tarn::ArenaScope;
using tarn::Mode;

constexpr std::size_t kib = 1024;

// Sanitizers make checked arenas of fast ones, which put more between their blocks.
bool is_fast(Arena& arena) { return (arena.get()->state & 3) == 0; }

class EachArena : public InEachMode<ArenaOptions> {};
INSTANTIATE_TEST_SUITE_P(Modes, EachArena, every_mode, mode_name);

TEST(Arena, MovesAPointer) {
  CountingSource source;
  Arena arena(source);
  if (!is_fast(arena)) return;
  auto* const a = static_cast<char*>(arena.allocate(24, 8));
  EXPECT_EQ(arena.allocate(1, 1), a + 24);
  EXPECT_EQ(arena.allocate(8, 8), a + 32);
  auto* const wide = static_cast<char*>(arena.allocate(8, 256));
  EXPECT_TRUE(tarn::is_aligned(wide, 256));
  EXPECT_LT(wide, a + 40 + 256);
  EXPECT_EQ(source.calls, 1u);
}

TEST_P(EachArena, AlignsAddresses) {
  CountingSource source;
  Arena arena(source, options());
  for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2) {
    for (const int size : {1, 3, 8, 100, 5000}) {
      const auto bytes = static_cast<std::size_t>(size);
      static_cast<void>(arena.allocate(1, 1));
      void* const p = arena.allocate(bytes, alignment);
      EXPECT_TRUE(tarn::is_aligned(p, alignment)) << bytes << " " << alignment;
      std::memset(p, 1, bytes);
    }
  }
  EXPECT_TRUE(arena.check());
  EXPECT_TRUE(tarn::is_aligned(arena.allocate(3, 3), 8));
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{24}, SIZE_MAX}) {
    errno = 0;
    EXPECT_EQ(arena.try_allocate(8, alignment), nullptr) << alignment;
    EXPECT_EQ(errno, EINVAL);
  }
}

TEST_P(EachArena, GrowsByAQuarter) {
  CountingSource source;
  Arena arena(source, options());
  std::size_t total = 0;
  while (total < 4000 * kib) total += (static_cast<void>(arena.allocate(100)), 100);
  EXPECT_LT(source.calls, 40u);
  const auto stats = arena.stats();
  EXPECT_LT(stats.held_bytes, stats.used_bytes * 5 / 4 + 32 * kib);
  EXPECT_TRUE(arena.check());
}

TEST_P(EachArena, ALargeBlockDoesNotMakeChunksLarge) {
  CountingSource source;
  Arena arena(source, options());
  static_cast<void>(arena.allocate(10));
  static_cast<void>(arena.allocate(40 * kib));
  auto* const after = static_cast<char*>(arena.allocate(10));
  EXPECT_TRUE(arena.owns(after));
  EXPECT_EQ(source.calls, 2u);  // The current chunk went on.
  EXPECT_EQ(arena.stats().large_blocks, 1u);
  EXPECT_TRUE(arena.check());
}

TEST_P(EachArena, RewindsToMarks) {
  CountingSource source;
  Arena arena(source, options());
  auto* const kept = static_cast<char*>(arena.allocate(100));
  std::memset(kept, 7, 100);
  for (int round = 0; round < 20; ++round) {
    const auto mark = arena.mark();
    const std::size_t used = arena.stats().used_bytes;
    for (int i = 0; i < 1000; ++i) {
      ArenaScope scope(arena);
      static_cast<void>(arena.allocate(200));
      static_cast<void>(arena.allocate(10'000));
    }
    for (int i = 0; i < 300; ++i) static_cast<void>(arena.allocate(1000));
    arena.rewind(mark);
    EXPECT_EQ(arena.stats().used_bytes, used);
    EXPECT_EQ(arena.stats().large_blocks, 0u);
    EXPECT_TRUE(arena.check());
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(kept[i], 7);
  EXPECT_GE(arena.stats().used_peak, 300'000u);
  EXPECT_LT(arena.stats().used_peak, 400'000u);
}

TEST_P(EachArena, KeepsWhatItIsTold) {
  CountingSource source;
  const auto fill = [](Arena& arena) {
    for (int i = 0; i < 1000; ++i) static_cast<void>(arena.allocate(1000));
  };
  Arena arena(source, options());
  fill(arena);
  const std::size_t held = arena.stats().held_bytes;
  arena.reset(tarn::keep_all);
  EXPECT_EQ(arena.stats().held_bytes, held);
  EXPECT_EQ(arena.stats().used_bytes, 0u);
  const std::size_t calls = source.calls;
  fill(arena);
  EXPECT_EQ(source.calls, calls);
  arena.reset(100 * kib);
  EXPECT_LE(arena.stats().held_bytes, 100 * kib);
  EXPECT_GT(arena.stats().held_bytes, 50 * kib);
  fill(arena);
  arena.reset(tarn::keep_nothing);
  EXPECT_EQ(source.chunks.size(), 0u);
  EXPECT_NE(arena.allocate(1), nullptr);
  EXPECT_TRUE(arena.check());
  EXPECT_GT(arena.stats().chunks_released, 0u);
}

// One use in twenty is a hundred times as large as the others: it is not what is kept.
TEST_P(EachArena, KeepsWhatIsTypical) {
  CountingSource source;
  Arena arena(source, options());
  std::size_t most = 0;
  for (int use = 0; use < 2000; ++use) {
    const int blocks = use % 20 == 19 ? 10'000 : 100;
    for (int i = 0; i < blocks; ++i) static_cast<void>(arena.allocate(1000));
    arena.reset();
    if (use > 500) most = std::max(most, std::size_t{arena.stats().held_bytes});
  }
  EXPECT_LT(most, 400'000u);
  EXPECT_GE(arena.stats().typical_bytes, 100'000u);
  // When all uses are large, it learns that.
  for (int use = 0; use < 100; ++use) {
    for (int i = 0; i < 5000; ++i) static_cast<void>(arena.allocate(1000));
    arena.reset();
  }
  EXPECT_GE(arena.stats().held_bytes, 5'000'000u);
  const std::size_t calls = source.calls;
  for (int i = 0; i < 5000; ++i) static_cast<void>(arena.allocate(1000));
  EXPECT_LE(source.calls, calls + 2);
}

TEST_P(EachArena, TheLastBlockGrowsInPlace) {
  CountingSource source;
  Arena arena(source, options());
  auto* text = static_cast<char*>(arena.allocate(10));
  std::memset(text, 'a', 10);
  for (std::size_t bytes = 11; bytes < 2000; ++bytes) {
    EXPECT_EQ(arena.resize(text, bytes - 1, bytes), text);
    text[bytes - 1] = 'a';
  }
  static_cast<void>(arena.allocate(1));
  auto* const moved = static_cast<char*>(arena.resize(text, 1999, 3000));
  EXPECT_NE(moved, text);
  EXPECT_EQ(std::string(moved, 1999), std::string(1999, 'a'));
  EXPECT_EQ(arena.resize(moved, 3000, 10), moved);
  EXPECT_EQ(arena.resize(moved, 10, 2990), moved);  // It was the last one again.
  EXPECT_TRUE(arena.check());
  EXPECT_NE(arena.resize(nullptr, 0, 20), nullptr);
}

// A vector that doubles does not leave all that it was behind.
TEST(Arena, ALargeBlockThatGrowsGivesBackWhatItLeaves) {
  CountingSource source;
  Arena arena(source);
  if (!is_fast(arena)) return;
  void* p = arena.allocate(16 * kib);
  std::size_t bytes = 16 * kib;
  for (; bytes < 8192 * kib; bytes *= 2) {
    std::memset(p, 3, bytes);
    p = arena.resize(p, bytes, 2 * bytes);
    EXPECT_EQ(static_cast<char*>(p)[bytes - 1], 3);
  }
  EXPECT_LT(arena.stats().held_bytes, bytes + 100 * kib);
  EXPECT_EQ(arena.stats().large_blocks, 1u);
  arena.deallocate(p, bytes);
  EXPECT_EQ(arena.stats().large_blocks, 0u);
  EXPECT_TRUE(arena.check());
}

TEST_P(EachArena, TakesTheLastBlockBack) {
  CountingSource source;
  Arena arena(source, options());
  static_cast<void>(arena.allocate(10));
  void* const p = arena.allocate(100);
  arena.deallocate(p, 100);
  EXPECT_EQ(arena.allocate(50), p);
  arena.deallocate(nullptr, 5);
  EXPECT_TRUE(arena.check());
}

TEST_P(EachArena, KeepsItsLimit) {
  CountingSource source;
  ArenaOptions wanted = options();
  wanted.limit_bytes = 200 * kib;
  Arena arena(source, wanted);
  std::size_t got = 0;
  while (arena.try_allocate(1000) != nullptr) got += 1000;
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_GT(got, 160 * kib);
  EXPECT_LE(arena.stats().held_bytes, 200 * kib);
  EXPECT_EQ(arena.try_allocate(100 * kib), nullptr);
  EXPECT_THROW(static_cast<void>(arena.allocate(100 * kib)), std::bad_alloc);
  arena.reset(tarn::keep_nothing);
  EXPECT_NE(arena.try_allocate(100 * kib), nullptr);
  EXPECT_TRUE(arena.check());
}

struct Noisy {
  Noisy(std::string& to, char letter, bool fails = false) : log(&to), own(letter) {
    if (fails) throw std::runtime_error("no");
  }
  ~Noisy() { *log += own; }
  std::string* log;
  char own;
};

TEST_P(EachArena, RunsDestructorsBackwards) {
  std::string log;
  CountingSource source;
  {
    Arena arena(source, options());
    Noisy* const a = arena.create<Noisy>(log, 'a');
    EXPECT_EQ(a->own, 'a');
    static_cast<void>(arena.create<int>(5));
    {
      ArenaScope scope(arena);
      static_cast<void>(arena.create<Noisy>(log, 'b'));
      static_cast<void>(arena.create<Noisy>(log, 'c'));
      EXPECT_THROW(static_cast<void>(arena.create<Noisy>(log, 'x', true)), std::runtime_error);
    }
    EXPECT_EQ(log, "cb");
    arena.on_release([&log] { log += '!'; });
    static_cast<void>(arena.create<Noisy>(log, 'd'));
    arena.reset();
    EXPECT_EQ(log, "cbd!a");
    static_cast<void>(arena.create<Noisy>(log, 'e'));
    // One that asks for more when it runs.
    arena.on_release([&] { arena.on_release([&log] { log += '2'; }); });
  }
  EXPECT_EQ(log, "cbd!a2e");
}

struct Part {
  static inline int alive = 0;
  static inline int fails_at = -1;
  Part() {
    if (alive == fails_at) throw std::runtime_error("no");
    ++alive;
  }
  ~Part() { --alive; }
  std::string text = "something that is longer than a short string";
};

TEST_P(EachArena, Arrays) {
  CountingSource source;
  {
    Arena arena(source, options());
    const int* const numbers = arena.create_array<int>(1000);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(numbers[i], 0);
    static_cast<void>(arena.create_array<Part>(10));
    EXPECT_EQ(Part::alive, 10);
    Part::fails_at = 15;
    EXPECT_THROW(static_cast<void>(arena.create_array<Part>(10)), std::runtime_error);
    Part::fails_at = -1;
    EXPECT_EQ(Part::alive, 10);
    EXPECT_NE(arena.create_array<Part>(0), nullptr);
    EXPECT_THROW(static_cast<void>(arena.create_array<int>(SIZE_MAX / 2)), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(arena.create_array<Part>(SIZE_MAX / 8)), std::bad_alloc);
    const int three[] = {1, 2, 3};
    const int* const copy = arena.copy(three, 3);
    EXPECT_EQ(copy[2], 3);
  }
  EXPECT_EQ(Part::alive, 0);
}

TEST_P(EachArena, Strings) {
  CountingSource source;
  Arena arena(source, options());
  EXPECT_STREQ(arena.copy("hello"), "hello");
  EXPECT_STREQ(arena.copy(""), "");
  EXPECT_STREQ(arena.copy_string("hello", 3), "hel");
  EXPECT_STREQ(arena.copy_string("hello", 30), "hello");
  EXPECT_STREQ(arena.format("%d-%s", 42, "x"), "42-x");
  const std::string big(50'000, 'y');
  EXPECT_EQ(arena.format("%s%s", big.c_str(), "z"), big + "z");
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(arena.format("line %d", i), "line " + std::to_string(i));
  EXPECT_TRUE(arena.check());
}

TEST_P(EachArena, IsASource) {
  CountingSource source;
  Arena arena(source, options());
  {
    tarn::PoolOptions wanted;
    wanted.chunk_bytes = 1024;
    tarn::ObjectPool<Part> pool(arena, wanted);
    for (int i = 0; i < 100; ++i) static_cast<void>(pool.create());
    EXPECT_EQ(Part::alive, 100);
  }
  EXPECT_EQ(Part::alive, 0);
  EXPECT_TRUE(arena.check());
}

TEST_P(EachArena, Moves) {
  CountingSource source;
  std::string log;
  Arena arena(source, options());
  static_cast<void>(arena.create<Noisy>(log, 'a'));
  Arena moved(std::move(arena));
  EXPECT_EQ(arena.try_allocate(1), nullptr);  // NOLINT: what is left is defined.
  EXPECT_FALSE(arena);
  Arena other;
  static_cast<void>(other.create<Noisy>(log, 'b'));
  other = std::move(moved);
  EXPECT_EQ(log, "b");
  EXPECT_TRUE(other.check());
  other.reset();
  EXPECT_EQ(log, "ba");
}

TEST(ArenaOptions, ThatMakeNoSense) {
  tarn_arena arena;
  tarn_arena_options options{};
  const auto refused = [&] {
    errno = 0;
    const bool is = tarn_arena_init(&arena, &options) == -1 && errno == EINVAL &&
                    tarn_arena_allocate(&arena, 1) == nullptr;
    tarn_arena_destroy(&arena);
    return is;
  };
  EXPECT_TRUE(refused());
  options.bytes = sizeof options;
  EXPECT_FALSE(refused());
  options.mode = 4;
  EXPECT_TRUE(refused());
  options.mode = 0;
  options.chunk_bytes = SIZE_MAX;
  EXPECT_TRUE(refused());
  options.chunk_bytes = 4096;
  options.chunk_bytes_max = 4095;
  EXPECT_TRUE(refused());
  ArenaOptions wanted;
  wanted.chunk_bytes = 10;
  wanted.chunk_bytes_max = 5;
  EXPECT_THROW(Arena{wanted}, tarn::InvalidOptions);
}

// The n-th call of the source fails, for every n.
TEST_P(EachArena, SurvivesEveryFailure) {
  for (std::size_t n = 0; n < 12; ++n) {
    CountingSource source;
    source.allowed = n;
    Arena arena(source, options());
    std::size_t got = 0;
    for (int i = 0; i < 600; ++i) {
      const std::size_t bytes = i % 10 == 9 ? 20'000 : 100;
      if (arena.try_allocate(bytes) != nullptr) ++got;
    }
    EXPECT_EQ(got == 0, n == 0);
    EXPECT_TRUE(arena.check());
    source.allowed = SIZE_MAX;
    EXPECT_NE(arena.try_allocate(100), nullptr);
    arena.reset();
    EXPECT_TRUE(arena.check());
  }
}

TEST_P(EachArena, TakesWhatTheSourceHas) {
  CountingSource source;
  source.bytes_max = 2000;
  Arena arena(source, options());
  for (int i = 0; i < 100; ++i) EXPECT_NE(arena.try_allocate(300), nullptr);
  EXPECT_EQ(arena.try_allocate(2100), nullptr);
  EXPECT_TRUE(arena.check());
}

TEST(GuardedArena, EachBlockAlone) {
  for (const Mode mode : {Mode::guarded, Mode::passthrough}) {
    ArenaOptions wanted;
    wanted.mode = mode;
    Arena arena(wanted);
    for (int i = 1; i < 200; ++i)
      std::memset(arena.allocate(static_cast<std::size_t>(i)), 1, static_cast<std::size_t>(i));
    EXPECT_EQ(arena.stats().chunks, 199u);
    EXPECT_TRUE(arena.check());
    void* const p = arena.allocate(10);
    EXPECT_FALSE(arena.try_expand(p, 10, 12));
    EXPECT_TRUE(arena.try_expand(p, 10, 8));
    std::memset(arena.resize(p, 10, 14), 1, 14);
    arena.reset();
    EXPECT_EQ(arena.stats().chunks, 0u);
  }
}

template <Mode mode>
struct OfArena {
  static ArenaOptions options() {
    ArenaOptions options;
    options.mode = mode;
    return options;
  }
  static constexpr std::size_t bytes_max = 3000;
  static constexpr std::size_t alignment_max = 4096;
  static constexpr std::size_t blocks = 500;
  static constexpr bool frees = false;
  Arena allocator{options()};
};

using Arenas = testing::Types<OfArena<Mode::fast>, OfArena<Mode::checked>, OfArena<Mode::guarded>,
                              OfArena<Mode::passthrough>>;

}  // namespace
}  // namespace pools

namespace conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(Arena, BlockAllocators, pools::Arenas);
}
