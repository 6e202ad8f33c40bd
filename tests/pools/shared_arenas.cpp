// Arenas of several threads, and those that each thread has for a moment.
//
// SPDX-License-Identifier: MIT
#include "tarn/arena/shared_arena.hpp"

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../support/child.hpp"
#include "../support/threads.hpp"
#include "sources.hpp"

namespace pools {
namespace {

struct Counted {
  explicit Counted(std::atomic<int>& all) : count(&all) { ++*count; }
  ~Counted() { --*count; }
  std::atomic<int>* count;
};

TEST(SharedArena, BlocksOutliveTheirFronts) {
  tarn::SharedArena shared;
  std::vector<std::vector<char*>> texts(4);
  std::atomic<int> objects{0};
  support::in_threads(std::size_t{4}, [&](std::size_t t) {
    tarn::ArenaFront arena(shared);
    for (int i = 0; i < 5000; ++i) {
      texts[t].push_back(arena->format("%zu:%d", t, i));
      static_cast<void>(arena->create<Counted>(objects));
    }
    static_cast<void>(arena->allocate(100'000));
  });
  EXPECT_EQ(objects, 0);  // They ended with the fronts; the memory did not.
  for (std::size_t t = 0; t < 4; ++t) {
    for (int i = 0; i < 5000; ++i) {
      const std::string expected = std::to_string(t) + ":" + std::to_string(i);
      ASSERT_EQ(texts[t][static_cast<std::size_t>(i)], expected);
    }
  }
  EXPECT_GT(shared.stats().used_bytes, 4 * 5000 * 40u);
  EXPECT_TRUE(tarn_arena_check(&shared.get()->arena));
  shared.reset();
  EXPECT_EQ(shared.stats().used_bytes, 0u);
}

// One that could not be made is nowhere in the library: its memory may be used for something else.
TEST(SharedArena, OptionsThatMakeNoSense) {
  tarn::ArenaOptions wanted;
  wanted.chunk_bytes = 1000;
  wanted.chunk_bytes_max = 100;
  alignas(tarn::SharedArena) unsigned char memory[sizeof(tarn::SharedArena)];
  EXPECT_THROW(::new (memory) tarn::SharedArena(wanted), tarn::InvalidOptions);
  std::memset(memory, 0x55, sizeof memory);
  {
    tarn::SharedArena other;
    EXPECT_NE(other.try_allocate(1), nullptr);
  }
  for (const unsigned char byte : memory) ASSERT_EQ(byte, 0x55);
  const int status = support::status_of_child([&] { return 0; });
  EXPECT_EQ(status, 0);

  tarn_arena_options options{};  // Without its size.
  tarn_shared_arena shared;
  EXPECT_EQ(tarn_shared_arena_init(&shared, &options), -1);
  EXPECT_EQ(tarn_shared_arena_allocate(&shared, 1, 1), nullptr);
  tarn_shared_arena_destroy(&shared);
  tarn_shared_arena_destroy(&shared);
}

TEST(SharedArena, KeepsItsLimitForAll) {
  tarn::ArenaOptions wanted;
  wanted.limit_bytes = 1024 * 1024;
  tarn::SharedArena shared(wanted);
  support::in_threads(4, [&] {
    tarn::ArenaFront arena(shared);
    std::size_t got = 0;
    while (arena->try_allocate(1000) != nullptr) got += 1000;
    EXPECT_LT(got, 1024u * 1024);
  });
  EXPECT_LE(shared.stats().held_bytes, 1024u * 1024);
  EXPECT_EQ(shared.try_allocate(1024 * 1024), nullptr);
}

// While others are inside.
TEST(SharedArena, SurvivesForks) {
  tarn::SharedArena shared;
  std::atomic<bool> stop{false};
  support::Threads threads(2, [&] {
    while (!stop) {
      tarn::ArenaFront arena(shared);
      for (int i = 0; i < 100; ++i) static_cast<void>(arena->allocate(3000));
    }
  });
  for (int round = 0; round < 20; ++round) {
    const int status = support::status_of_child([&] {
      alarm(20);
      tarn::ArenaFront arena(shared);
      bool ok = true;
      for (int i = 0; i < 100; ++i) ok = ok && arena->try_allocate(3000) != nullptr;
      tarn::SharedArena another;
      _exit(ok && another.try_allocate(10) != nullptr ? 0 : 1);
    });
    EXPECT_EQ(status, 0);
  }
  stop = true;
  threads.join();
}

std::size_t used(tarn::ArenaRef arena) { return arena.stats().used_bytes; }

// Puts its result into `to`, and needs temporary memory meanwhile.
char* join(tarn::ArenaRef to, const std::vector<std::string>& words) {
  tarn::ScratchArena scratch(to);
  char* joined = scratch->copy("");
  for (const std::string& word : words) joined = scratch->format("%s%s", joined, word.c_str());
  return to.copy(static_cast<const char*>(joined));
}

TEST(ScratchArena, ResultsAndTemporariesDoNotMix) {
  tarn::ScratchArena outer;
  const std::size_t before = used(*outer);
  char* const text = join(*outer, {"one ", "two ", "three"});
  EXPECT_STREQ(text, "one two three");
  EXPECT_LT(used(*outer), before + 100);
  {
    tarn::ScratchArena inner;
    EXPECT_EQ((*inner).get(), (*outer).get());
    static_cast<void>(inner->allocate(100'000));
  }
  EXPECT_LT(used(*outer), before + 100);
  EXPECT_STREQ(text, "one two three");
}

TEST(ScratchArena, EachThreadHasItsOwn) {
  tarn::ScratchArena mine;
  const tarn_arena* others = nullptr;
  std::thread([&] {
    tarn::ScratchArena scratch;
    others = (*scratch).get();
    static_cast<void>(scratch->allocate(1'000'000));
  }).join();
  EXPECT_NE(others, (*mine).get());
  for (int i = 0; i < 200; ++i) {  // They end with their threads.
    std::thread([] {
      tarn::ScratchArena scratch;
      std::memset(scratch->allocate(100'000), 1, 100'000);
    }).join();
  }
}

// A large block has a chunk of its own: an arena that has nothing else is not at its start.
TEST(ScratchArena, InnerOnesLeaveLargeBlocksAlone) {
  tarn::ScratchArena outer;
  auto* const large = static_cast<unsigned char*>(outer->allocate(1'000'000));
  std::memset(large, 7, 1'000'000);
  {
    tarn::ScratchArena inner;
    std::memset(inner->allocate(1'000'000), 8, 1'000'000);
  }
  EXPECT_TRUE(outer->owns(large));
  std::memset(outer->allocate(1'000'000), 9, 1'000'000);
  for (std::size_t i = 0; i < 1'000'000; ++i) ASSERT_EQ(large[i], 7);
}

TEST(ScratchArena, BothAreTaken) {
  tarn_scratch_arena first = tarn_scratch_arena_begin(nullptr, 0);
  const tarn_arena* conflicts[2] = {first.arena, nullptr};
  tarn_scratch_arena second = tarn_scratch_arena_begin(conflicts, 1);
  EXPECT_NE(first.arena, second.arena);
  conflicts[1] = second.arena;
  tarn_scratch_arena none = tarn_scratch_arena_begin(conflicts, 2);
  EXPECT_EQ(none.arena, nullptr);
  tarn_scratch_arena_end(&none);
  tarn_scratch_arena_end(&second);
  tarn_scratch_arena_end(&first);
}

}  // namespace
}  // namespace pools
