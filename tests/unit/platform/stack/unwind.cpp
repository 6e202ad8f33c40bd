// Unwinding beside glibc's backtrace(), which is slow and right: through recursion, functions of
// libc, frames of unknown length, signal handlers; and from stacks that end early or lead nowhere.
//
// SPDX-License-Identifier: MIT
#include "platform/stack/unwind.hpp"

#include <algorithm>
#include <alloca.h>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <sys/mman.h>
#include <thread>
#include <ucontext.h>
#include <vector>

#include <gtest/gtest.h>

#include "platform/base/config.hpp"
#include "platform/os/code.hpp"
#include "platform/stack/frame_rule.hpp"

namespace tarn {
namespace {

using Calls = std::vector<const void*>;

Calls own;
Calls others;

[[gnu::noinline]] void compare() {
  std::array<const void*, 64> calls{};
  own.assign(calls.data(), calls.data() + unwind_from(__builtin_return_address(0), calls.data(),
                                                      nullptr, calls.size()));
  std::array<void*, 66> known{};
  const int count = backtrace(known.data(), static_cast<int>(known.size()));
  // Without this function, and what a sanitizer has in front of it.
  const auto end = known.begin() + count;
  others.assign(std::find(known.begin(), end, __builtin_return_address(0)), end);
}

void expect_same(const char* where) {
  ASSERT_FALSE(own.empty()) << where;
  EXPECT_EQ(own, others) << where;
}

[[gnu::noinline]] int recurse(int depth) {
  if (depth == 0) {
    compare();
    return 0;
  }
  volatile int below = recurse(depth - 1);
  return below + 1;
}

TEST(Unwind, FindsTheCallsThatBacktraceFinds) {
  for (const int depth : {0, 1, 5, 30}) {
    recurse(depth);
    expect_same("recursion");
  }
}

TEST(Unwind, TakesTheInnermostOnes) {
  std::array<const void*, 3> calls{};
  EXPECT_EQ(unwind_from(nullptr, calls.data(), nullptr, 3), 3u);
  EXPECT_EQ(unwind_from(nullptr, calls.data(), nullptr, 0), 0u);
  int not_code = 0;
  EXPECT_EQ(unwind_from(&not_code, calls.data(), nullptr, 3), 0u) << "nobody returns there";
}

[[gnu::noinline]] char of_unknown_length(std::size_t bytes) {
  auto* const room = static_cast<char*>(alloca(bytes));
  memset(room, 1, bytes);
  compare();
  return *const_cast<volatile char*>(room + bytes - 1);
}

[[gnu::noinline]] char aligned_to_64() {
  alignas(64) volatile char room[64] = {1};
  compare();
  return room[63];
}

TEST(Unwind, GoesThroughFramesOfAnyForm) {
  for (const std::size_t bytes : {1u, 100u, 60'000u}) {
    of_unknown_length(bytes);
    expect_same("alloca");
  }
  aligned_to_64();
  expect_same("a stack that is realigned");
}

TEST(Unwind, GoesThroughTheCLibrary) {
  std::array<int, 3> numbers{3, 1, 2};
  std::qsort(numbers.data(), numbers.size(), sizeof(int), [](const void* a, const void* b) {
    compare();
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  expect_same("qsort");
  std::thread([] { recurse(3); }).join();
  expect_same("a thread's");
}

// glibc notes what a signal interrupted by its address, here a return address stands for it.
void expect_same_but_for_a_signal(const char* where) {
  ASSERT_EQ(own.size(), others.size()) << where;
  int different = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i] == others[i]) continue;
    EXPECT_EQ(static_cast<const char*>(own[i]) - 1, others[i]) << where;
    ++different;
  }
  EXPECT_EQ(different, 1) << where;
}

TEST(Unwind, GoesOutOfASignalHandler) {
  struct sigaction action {};
  action.sa_handler = [](int) { recurse(2); };
  struct sigaction before {};
  sigaction(SIGUSR1, &action, &before);
  raise(SIGUSR1);
  expect_same_but_for_a_signal("on the stack itself");
  std::vector<char> room(1 << 16);
  stack_t stack{};
  stack.ss_sp = room.data();
  stack.ss_size = room.size();
  ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
  expect_same_but_for_a_signal("on a stack of its own");
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  sigaction(SIGUSR1, &before, nullptr);
}

ucontext_t here;
ucontext_t there;

TEST(Unwind, EndsWhereACoroutinesStackDoes) {
  std::vector<char> room(1 << 16);
  ASSERT_EQ(getcontext(&there), 0);
  there.uc_stack.ss_sp = room.data();
  there.uc_stack.ss_size = room.size();
  there.uc_link = &here;
  makecontext(
      &there, [] { recurse(4); }, 0);
  ASSERT_EQ(swapcontext(&here, &there), 0);
  expect_same("a coroutine's");
  recurse(4);
  expect_same("the thread's own, afterwards");
}

TEST(Unwind, WhatIsNoFrameEndsIt) {
  std::array<const void*, 8> calls{};
  const long page = sysconf(_SC_PAGESIZE);
  auto* const map =
      static_cast<char*>(mmap(nullptr, static_cast<std::size_t>(2 * page), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(map, MAP_FAILED);
  ASSERT_EQ(mprotect(map + page, static_cast<std::size_t>(page), PROT_NONE), 0);
  const auto end = reinterpret_cast<std::uintptr_t>(map + page);
  // No module is there, so the frame pointer is what is left; it may be anything.
  constexpr std::uintptr_t no_code = 0x123456;
  for (const std::uintptr_t fp :
       {end - 8, end, end + 8, end - 15, std::uintptr_t{0}, ~std::uintptr_t{0} - 7, end - 64}) {
    const std::size_t count = unwind({no_code, end - 32, fp}, true, calls.data(), calls.size());
    EXPECT_EQ(count, 1u) << fp;
  }
  // Frames that lead to each other without end.
  auto* const words = reinterpret_cast<std::uintptr_t*>(end - 32);
  words[0] = end - 16;
  words[1] = no_code;
  words[2] = end - 32;
  words[3] = no_code;
  EXPECT_EQ(unwind({no_code, end - 32, end - 32}, true, calls.data(), calls.size()), 3u);
  munmap(map, static_cast<std::size_t>(2 * page));
}

// What a frame pointer leads to may have been a stack, and be gone.
TEST(Unwind, AStackThatHasGoneIsNotRead) {
  std::array<const void*, 8> calls{};
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const map =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(map, MAP_FAILED);
  const auto end = reinterpret_cast<std::uintptr_t>(map) + page;
  auto* const frame = reinterpret_cast<std::uintptr_t*>(end + 64);
  constexpr std::uintptr_t no_code = 0x123456;
  frame[0] = 0;
  frame[1] = no_code;
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(unwind({no_code, end - 64, end + 64}, true, calls.data(), calls.size()), 2u);
  }
  munmap(reinterpret_cast<void*>(end), page);
  EXPECT_EQ(unwind({no_code, end - 64, end + 64}, true, calls.data(), calls.size()), 1u);
  munmap(map, page);
}

TEST(Unwind, KnowsWhatCanBeRead) {
  const long page = sysconf(_SC_PAGESIZE);
  auto* const map = static_cast<char*>(
      mmap(nullptr, static_cast<std::size_t>(page), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(map, MAP_FAILED);
  errno = 7;
  EXPECT_TRUE(os::is_readable(map));
  EXPECT_TRUE(os::is_readable(map + page - 1));
  EXPECT_EQ(errno, 7);
  mprotect(map, static_cast<std::size_t>(page), PROT_NONE);
  EXPECT_FALSE(os::is_readable(map));
  munmap(map, static_cast<std::size_t>(page));
  EXPECT_FALSE(os::is_readable(map));
  EXPECT_FALSE(os::is_readable(nullptr));
  EXPECT_EQ(errno, 7);
  sigset_t now{};
  sigset_t before{};
  sigprocmask(SIG_BLOCK, nullptr, &before);
  os::is_readable(&before);
  sigprocmask(SIG_BLOCK, nullptr, &now);
  EXPECT_EQ(memcmp(&now, &before, sizeof now), 0) << "no signal is blocked by asking";
}

#if defined(__x86_64__)

TEST(FrameRule, DamagedTablesGiveNone) {
  const auto code = reinterpret_cast<std::uintptr_t>(&std::qsort);
  std::array<std::byte, 4096> table{};
  EXPECT_EQ(read_frame_rule(table.data(), code).kind(), FrameRule::Kind::outermost);
  constexpr std::uint8_t head[] = {1, 0x1b, 0x03, 0x3b};
  memcpy(table.data(), head, sizeof head);
  EXPECT_EQ(read_frame_rule(table.data(), code).kind(), FrameRule::Kind::outermost)
      << "no function";
  // One function, whose entry is this table's end: entries of 0 bytes, of too many, of a CIE.
  const std::uint32_t count = 1;
  memcpy(table.data() + 8, &count, sizeof count);
  const std::int32_t pair[] = {INT32_MIN, 64};
  memcpy(table.data() + 12, pair, sizeof pair);
  const auto distance = reinterpret_cast<std::uintptr_t>(table.data());
  for (const std::uint32_t length : {0u, 3u, 4u, 16u, 0xffffffffu}) {
    for (const std::uint32_t back : {0u, 64u, 60u}) {
      memcpy(table.data() + 64, &length, sizeof length);
      memcpy(table.data() + 68, &back, sizeof back);
      EXPECT_EQ(read_frame_rule(table.data(), distance).kind(), FrameRule::Kind::outermost)
          << length << " " << back;
    }
  }
}

TEST(FrameRule, IsTheSameWhenItIsRemembered) {
  const std::byte* const table = os::find_unwind_table(reinterpret_cast<const void*>(&std::qsort));
  ASSERT_NE(table, nullptr);
  const auto start = reinterpret_cast<std::uintptr_t>(&std::qsort);
  for (std::uintptr_t code = start - 20'000; code != start + 20'000; ++code) {
    const FrameRule read = read_frame_rule(table, code);
    EXPECT_EQ(frame_rule(code).word, read.word);
    EXPECT_EQ(frame_rule(code).word, read.word);
  }
  EXPECT_EQ(frame_rule(16).kind(), FrameRule::Kind::unknown);
}

#endif

}  // namespace
}  // namespace tarn
