// What guarded heaps say of faults, and that the program's own handler has them as if tarn had
// none.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

#include "modes.hpp"

namespace heaps {
namespace {

#if defined(__x86_64__)
const std::string written = "a write";
const std::string read = "a read";
#else
const std::string written = "an access";
const std::string read = "an access";
#endif
const std::string site =
    "[^\n]*heaps_modes_faults\\+0x[0-9a-f]+ \\(0x[0-9a-f]+\\)[^\n]*\n(tarn: +by [^\n]*\n)*";

std::string beyond(std::size_t bytes, std::size_t at, const std::string& access) {
  return "tarn: overrun: " + access + " at 0x[0-9a-f]+: byte " + std::to_string(at) +
         ", beyond the end of the block of " + std::to_string(bytes) +
         " bytes at 0x[0-9a-f]+; the heap \"guarded\" \\(number [0-9]+\\)\n" +
         "tarn:   allocated at " + site + "tarn:   now at " + site;
}
std::string freed(std::size_t bytes, std::size_t at, const std::string& access) {
  return "tarn: use after free: " + access + " at 0x[0-9a-f]+: byte " + std::to_string(at) +
         " of the block of " + std::to_string(bytes) +
         " bytes at 0x[0-9a-f]+, which was freed before; the heap \"guarded\" \\(number "
         "[0-9]+\\)\n" +
         "tarn:   allocated at " + site + "tarn:   freed at " + site + "tarn:   now at " + site;
}

// Not inlined, so that the compiler does not see what is done to a block that was freed.
[[gnu::noinline]] void put(void* p, std::size_t at) {
  static_cast<volatile unsigned char*>(p)[opaque(at)] = 1;
}
[[gnu::noinline]] void look(void* p, std::size_t at) {
  static_cast<void>(static_cast<volatile unsigned char*>(p)[opaque(at)]);
}

// As the system ends a process; sanitizers have a handler of their own.
bool is_fault(int status) {
#ifdef TARN_SANITIZED
  return status != 0;
#else
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
#endif
}

class FaultsDeathTest : public testing::Test {
 protected:
  FaultsDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

tarn_heap_options wanted() { return in_mode(TARN_MODE_GUARDED, TARN_HEAP_SHARED, "guarded"); }

TEST_F(FaultsDeathTest, NameTheBlock) {
  const Heap heap(wanted());
  for (const std::size_t bytes : {16u, 3008u, 200'000u}) {
    void* const p = tarn_heap_allocate(heap, bytes);
    EXPECT_EXIT(put(p, bytes), is_fault, "^" + beyond(bytes, bytes, written));
    EXPECT_EXIT(look(p, bytes + 4095), is_fault, "^" + beyond(bytes, bytes + 4095, read));
    EXPECT_EXIT((tarn_free(p), put(p, 0)), is_fault, "^" + freed(bytes, 0, written));
    EXPECT_EXIT((tarn_free(p), look(p, bytes / 2)), is_fault, "^" + freed(bytes, bytes / 2, read));
    put(p, bytes - 1);
    tarn_free(p);
  }
}

TEST_F(FaultsDeathTest, NameALargeBlockAtTheFarEndOfItsGuard) {
  const Heap heap(wanted());
  constexpr std::size_t bytes = std::size_t{16} << 20;
  void* const p = tarn_heap_allocate(heap, bytes);
  EXPECT_EXIT(look(p, bytes + 4095), is_fault, "^" + beyond(bytes, bytes + 4095, read));
  tarn_free(p);
}

#ifndef TARN_SANITIZED  // Sanitizers have words of their own.
// What is none of tarn's is not spoken of.
TEST_F(FaultsDeathTest, OthersAreTheProgramsAlone) {
  const Heap heap(wanted());
  void* const page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EXIT(put(page, 0), is_fault, "^$");
  EXPECT_EXIT(raise(SIGSEGV), is_fault, "^$");
}
#endif

TEST_F(FaultsDeathTest, WhatWasIgnoredStaysSo) {
  const auto ignored = [] {
    signal(SIGSEGV, SIG_IGN);
    const Heap first(wanted());
    raise(SIGSEGV);
    put(tarn_heap_allocate(first, 16), 16);
  };
  EXPECT_EXIT(ignored(), is_fault, "^" + beyond(16, 16, written));
}

void exit_3(int) { _exit(3); }
void exit_4(int, siginfo_t* info, void* context) {
  _exit(info != nullptr && info->si_addr != nullptr && context != nullptr ? 4 : 5);
}

// Of no bytes: none.
bool use_signal_stack(char* start, std::size_t bytes) {
  stack_t own{};
  own.ss_sp = start;
  own.ss_size = bytes;
  own.ss_flags = bytes == 0 ? SS_DISABLE : 0;
  return sigaltstack(&own, nullptr) == 0;
}

// The program's handler, which was there before the first heap.
void set_handler(void (*plain)(int), void (*full)(int, siginfo_t*, void*), int flags) {
  struct sigaction action {};
  if (full != nullptr) {
    action.sa_sigaction = full;
    flags |= SA_SIGINFO;
  } else {
    action.sa_handler = plain;
  }
  action.sa_flags = flags;
  EXPECT_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
}

TEST_F(FaultsDeathTest, TheProgramsHandlerIsNext) {
  const auto fault = [](void (*plain)(int), void (*full)(int, siginfo_t*, void*)) {
    set_handler(plain, full, 0);
    const Heap heap(wanted());
    put(tarn_heap_allocate(heap, 16), 16);
  };
  EXPECT_EXIT(fault(exit_3, nullptr), testing::ExitedWithCode(3), "^" + beyond(16, 16, written));
  EXPECT_EXIT(fault(nullptr, exit_4), testing::ExitedWithCode(4), "^" + beyond(16, 16, written));
  const auto sent = [] {
    set_handler(exit_3, nullptr, 0);
    const Heap heap(wanted());
    raise(SIGSEGV);
  };
  EXPECT_EXIT(sent(), testing::ExitedWithCode(3), "^$");
}

sigjmp_buf back;
void jump_back(int) { siglongjmp(back, 1); }
int times = 0;
void count(int) {
  if (++times == 2) _exit(times);
}

TEST_F(FaultsDeathTest, TheProgramMayGoOn) {
  const auto jump = [] {
    set_handler(jump_back, nullptr, 0);
    const Heap heap(wanted());
    void* const p = tarn_heap_allocate(heap, 16);
    static int jumps;
    if (sigsetjmp(back, 1) != 0 && ++jumps == 2) _exit(7);
    put(p, 16);
  };
  EXPECT_EXIT(jump(), testing::ExitedWithCode(7),
              "^" + beyond(16, 16, written) + beyond(16, 16, written));
  // A handler that returns has the fault again, unless it was to be called once.
  const auto again = [](int flags) {
    set_handler(count, nullptr, flags);
    const Heap heap(wanted());
    put(tarn_heap_allocate(heap, 16), 16);
  };
  EXPECT_EXIT(again(0), testing::ExitedWithCode(2), beyond(16, 16, written));
  const auto once = static_cast<int>(SA_RESETHAND);
  EXPECT_EXIT(again(once), testing::KilledBySignal(SIGSEGV), beyond(16, 16, written));
}

TEST_F(FaultsDeathTest, TheStackForSignalsIsUsed) {
  static char stack[1 << 16];
  const auto on_own = [](int, siginfo_t*, void*) {
    const void* const here = __builtin_frame_address(0);  // Tools keep variables elsewhere.
    _exit(here >= stack && here < stack + sizeof stack ? 6 : 7);
  };
  const auto fault = [&] {
    EXPECT_TRUE(use_signal_stack(stack, sizeof stack));
    set_handler(nullptr, on_own, SA_ONSTACK);
    const Heap heap(wanted());
    put(tarn_heap_allocate(heap, 16), 16);
  };
  EXPECT_EXIT(fault(), testing::ExitedWithCode(6), "^" + beyond(16, 16, written));
}

#ifndef TARN_SANITIZED  // Their handlers take stacks of their own.
// What the kernel writes for a signal and the handler's call. AT_MINSIGSTKSZ is what it would be
// with all state in use that the processor has: with AMX 8 KiB more than usual.
std::size_t signal_frame_bytes() {
  static char stack[1 << 16];
  static char* reached;
  EXPECT_TRUE(use_signal_stack(stack, sizeof stack));
  struct sigaction action {};
  action.sa_handler = [](int) { reached = static_cast<char*>(__builtin_frame_address(0)); };
  action.sa_flags = SA_ONSTACK;
  EXPECT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  EXPECT_EQ(raise(SIGUSR1), 0);
  signal(SIGUSR1, SIG_DFL);
  EXPECT_TRUE(use_signal_stack(nullptr, 0));
  return static_cast<std::size_t>(std::end(stack) - reached);
}

// The report goes no further than the stack goes; it has room in the usual 8 KiB.
TEST_F(FaultsDeathTest, SmallStacksForSignalsAreNotOverrun) {
  const auto fault = [](std::size_t bytes) {
    static char memory[1 << 16];
    memset(memory, 'x', sizeof memory);
    char* const own = memory + sizeof memory / 2;
    if (!use_signal_stack(own, bytes)) _exit(9);
    set_handler(jump_back, nullptr, SA_ONSTACK);
    const Heap heap(wanted());
    void* const p = tarn_heap_allocate(heap, 16);
    if (sigsetjmp(back, 1) == 0) siglongjmp(back, 1);  // It is bound at its first call.
    if (sigsetjmp(back, 1) == 0) put(p, 16);
    const bool is_whole = std::all_of(memory, own, [](char c) { return c == 'x'; });
    _exit(is_whole ? 7 : 8);
  };
  EXPECT_EXIT(fault(8192), testing::ExitedWithCode(7), "^" + beyond(16, 16, written));
  EXPECT_EXIT(fault(signal_frame_bytes() + 2048), testing::ExitedWithCode(7), "^$");
}
#endif

// A signal that is ignored does not interrupt a call of the system.
TEST_F(FaultsDeathTest, WhatIsIgnoredInterruptsNothing) {
  const auto read_through_a_signal = [] {
    signal(SIGSEGV, SIG_IGN);
    const Heap heap(wanted());
    int ends[2];
    if (pipe(ends) != 0) _exit(9);
    const pthread_t reader = pthread_self();
    std::thread sender([&] {
      usleep(100'000);
      pthread_kill(reader, SIGSEGV);
      usleep(100'000);
      if (::write(ends[1], "a", 1) != 1) _exit(9);
    });
    char letter = 0;
    const ssize_t got = ::read(ends[0], &letter, 1);
    sender.join();
    _exit(got == 1 && letter == 'a' ? 3 : 4);
  };
  EXPECT_EXIT(read_through_a_signal(), testing::ExitedWithCode(3), "^$");
}

}  // namespace
}  // namespace heaps
