// Kept stacks: each once, whoever keeps it; what has no room or no depth is its site.
//
// SPDX-License-Identifier: MIT
#include "platform/stack/stacks.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "child.hpp"
#include "platform/os/fake/fake.hpp"
#include "platform/stack/unwind.hpp"

namespace tarn {
namespace {

const void* call(std::size_t number) { return reinterpret_cast<const void*>(number + 4096); }

std::vector<const void*> calls_of(const void* at) {
  const CallStack stack(at);
  std::vector<const void*> calls;
  for (std::size_t i = 0; i < stack.size(); ++i) calls.push_back(stack[i]);
  EXPECT_TRUE(std::equal(calls.begin(), calls.end(), stack.calls()));
  return calls;
}

class StacksTest : public testing::Test {
 protected:
  ~StacksTest() override { stacks.set_depth(0); }
};

TEST_F(StacksTest, ASiteStandsForItself) {
  EXPECT_EQ(calls_of(call(1)), std::vector{call(1)});
  EXPECT_TRUE(calls_of(nullptr).empty());
  EXPECT_EQ(stacks.at(nullptr), nullptr);
  const void* const site = __builtin_return_address(0);
  for (const std::size_t depth : {0u, 1u}) {
    stacks.set_depth(depth);
    EXPECT_EQ(stacks.at(site), site);
    EXPECT_EQ(stacks.here(), nullptr);
  }
}

TEST_F(StacksTest, EachIsKeptOnce) {
  std::array<const void*, Stacks::depth_most> calls{};
  for (std::size_t i = 0; i < calls.size(); ++i) calls[i] = call(i);
  std::set<const void*> kept;
  for (std::size_t count = 2; count <= calls.size(); ++count) {
    const void* const at = stacks.keep(calls.data(), count);
    EXPECT_EQ(calls_of(at), std::vector(calls.data(), calls.data() + count));
    EXPECT_EQ(stacks.keep(calls.data(), count), at);
    EXPECT_TRUE(kept.insert(at).second);
    EXPECT_EQ(stacks.at(at), at);
  }
  EXPECT_EQ(stacks.keep(calls.data(), 1), calls[0]);
  EXPECT_EQ(stacks.keep(calls.data(), 0), nullptr);
  const std::size_t bytes = stacks.kept_bytes();
  in_unrepaired_child([&] {
    EXPECT_EQ(*kept.begin(), stacks.keep(calls.data(), calls_of(*kept.begin()).size()));
    EXPECT_EQ(stacks.kept_bytes(), bytes);
  });
}

[[gnu::noinline]] const void* noted(std::size_t depth) {
  stacks.set_depth(depth);
  return stacks.at(__builtin_return_address(0));
}

TEST_F(StacksTest, BeginsWithTheCallOfTheLibrary) {
  const std::vector<const void*> all = calls_of(noted(Stacks::depth_most));
  ASSERT_GT(all.size(), 5u);
  const std::vector<const void*> three = calls_of(noted(3));
  ASSERT_EQ(three.size(), 3u);
  EXPECT_EQ(three[1], all[1]);
  EXPECT_EQ(three[2], all[2]);
  EXPECT_GE(calls_of(stacks.here()).size(), 2u);
}

// Functions with frames of several lengths call each other by the digits of a number, and the last
// one notes how it came there.
void go(unsigned number);

[[gnu::noinline]] void look() {
  const void* const site = __builtin_return_address(0);
  std::array<const void*, 16> calls{};
  const std::size_t count = unwind_from(site, calls.data(), nullptr, calls.size());
  EXPECT_EQ(calls_of(stacks.at(site)), std::vector(calls.data(), calls.data() + count));
}

template <std::size_t bytes>
[[gnu::noinline]] void through(unsigned number) {
  volatile char room[bytes];
  room[0] = static_cast<char>(number);
  go(number / 4);
  room[bytes - 1] = room[0];
}

[[gnu::noinline]] void through_any(unsigned number) {
  auto* const room = static_cast<volatile char*>(__builtin_alloca(number % 300 + 1));
  room[0] = 1;
  go(number / 4);
  room[number % 300] = room[0];
}

[[gnu::noinline]] void go(unsigned number) {
  if (number == 0) {
    look();
  } else if (number % 4 == 0) {
    through<16>(number);
  } else if (number % 4 == 1) {
    through<48>(number);
  } else if (number % 4 == 2) {
    through<16 + 48>(number);
  } else {
    through_any(number);
  }
  asm volatile("" ::: "memory");
}

TEST_F(StacksTest, WhatIsRememberedIsWhatIsThere) {
  stacks.set_depth(16);
  for (int turn = 0; turn < 3; ++turn) {
    for (unsigned number = 1; number < 5'000; ++number) go(number);
  }
}

TEST_F(StacksTest, ThreadsKeepTheSame) {
  constexpr std::size_t stack_count = 2'000;
  constexpr std::size_t threads = 4;
  std::array<std::vector<const void*>, threads> kept;
  const auto keep_all = [&](std::size_t thread) {
    for (std::size_t i = 0; i < stack_count; ++i) {
      const std::size_t n = thread % 2 == 0 ? i : stack_count - 1 - i;
      const std::array<const void*, 3> calls{call(n), call(77), call(n % 13)};
      kept[thread].push_back(stacks.keep(calls.data(), calls.size()));
    }
    if (thread % 2 != 0) std::reverse(kept[thread].begin(), kept[thread].end());
  };
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < threads; ++t) running.emplace_back(keep_all, t);
  for (std::thread& t : running) t.join();
  for (const auto& of_thread : kept) EXPECT_EQ(of_thread, kept[0]);
  for (std::size_t i = 0; i < stack_count; ++i) {
    EXPECT_EQ(calls_of(kept[0][i])[0], call(i));
  }
}

// Last: what is kept stays.
TEST_F(StacksTest, WithoutRoomTheSiteIsNoted) {
  std::array<const void*, Stacks::depth_most> calls{};
  const void* const known = stacks.keep(calls.data(), 3);
  std::size_t kept = 0;
  const void* at = nullptr;
  do {
    calls[0] = call(1'000'000 + kept);
    at = stacks.keep(calls.data(), calls.size());
    ++kept;
  } while (at != calls[0] && kept < 1'000'000);
  EXPECT_EQ(at, calls[0]);
  EXPECT_GT(kept, 50'000u);
  EXPECT_LE(stacks.kept_bytes(), std::size_t{32} << 20);
  calls[0] = nullptr;
  EXPECT_EQ(stacks.keep(calls.data(), 3), known) << "what is there is found still";
}

}  // namespace
}  // namespace tarn
