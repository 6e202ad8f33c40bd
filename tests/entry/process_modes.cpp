// A process whose malloc has a mode by TARN_OPTIONS: checked or guarded.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "tarn/heap/heap.h"
#include "tarn/heap/malloc.h"
#include "tarn/pool/xalloc.h"

namespace {

template <class T>
T* opaque(T* p) {
  __asm__ volatile("" : "+r"(p) : : "memory");
  return p;
}

char* take(std::size_t bytes) { return static_cast<char*>(opaque(std::malloc(bytes))); }

bool is_guarded() { return std::string(std::getenv("TARN_OPTIONS")) == "mode=guarded"; }

bool is_hardened() { return std::string(std::getenv("TARN_OPTIONS")) == "mode=hardened"; }

bool is_of_main(const void* p) { return tarn_heap_owns(tarn_heap_main(), p) == 1; }

TEST(ProcessModes, EveryFormComesFromTheHeapOfTheMode) {
  void* const aligned = opaque(std::aligned_alloc(4096, 8192));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 4096, 0u);
  void* blocks[] = {take(1),
                    take(5000),
                    take(3'000'000),
                    opaque(std::calloc(3, 100)),
                    opaque(std::calloc(1, 2'000'000)),
                    opaque(std::realloc(take(10), 10'000)),
                    aligned};
  for (void* const block : blocks) EXPECT_TRUE(is_of_main(block));
  for (void* const block : blocks) std::free(block);
  int* const number = opaque(new int(5));
  int* const numbers = opaque(new int[700]());
  EXPECT_TRUE(is_of_main(number) && is_of_main(numbers));
  EXPECT_EQ(numbers[699], 0);
  delete number;
  delete[] numbers;
  EXPECT_STREQ(tarn_heap_name(tarn_heap_main()), "malloc");
}

TEST(ProcessModes, ItsHeapIsTheProcesss) {
  const tarn_heap heap = tarn_heap_main();
  EXPECT_EQ(tarn_heap_destroy(heap), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(tarn_heap_clear(heap), -1);
  EXPECT_EQ(tarn_heap_delete(heap), -1);
  EXPECT_EQ(tarn_heap_check(heap), 1);
  tarn_heap_stats before = TARN_HEAP_STATS();
  ASSERT_EQ(tarn_heap_get_stats(heap, &before), 0);
  char* const p = take(12'345);
  tarn_heap_stats after = TARN_HEAP_STATS();
  ASSERT_EQ(tarn_heap_get_stats(heap, &after), 0);
  EXPECT_EQ(after.live_blocks, before.live_blocks + 1);
  if (is_hardened()) {
    EXPECT_GE(after.live_bytes, before.live_bytes + 12'345) << "what the page gives for it";
  } else {
    EXPECT_EQ(after.live_bytes, before.live_bytes + 12'345);
  }
  std::free(p);
}

TEST(ProcessModes, AThreadsDefaultHeapStandsInFront) {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  const tarn_heap own = tarn_heap_create(&options);
  const tarn_heap before = tarn_heap_set_default(own);
  char* const p = take(100);
  EXPECT_EQ(tarn_heap_owns(own, p), 1);
  EXPECT_EQ(before.record, tarn_heap_main().record);
  for (const tarn_heap next : {before, tarn_heap{}}) {
    EXPECT_EQ(tarn_heap_set_default(next).record, own.record);
    char* const q = take(100);
    EXPECT_TRUE(is_of_main(q));
    std::free(q);
    tarn_heap_set_default(own);
  }
  tarn_heap_set_default(before);
  std::free(p);
  EXPECT_EQ(tarn_heap_destroy(own), 0);
}

// Also its first allocation, and what its destructors allocate when libc has announced its end.
struct AtEnd {
  pthread_key_t key{};
  int rounds = 3;
  bool first = false;
  bool last = false;

  static bool serves() {
    char* const p = take(40);
    const bool result = is_of_main(p);
    std::free(p);
    return result;
  }
  static void run(void* self) {
    auto& at_end = *static_cast<AtEnd*>(self);
    at_end.last = serves();
    if (--at_end.rounds != 0) pthread_setspecific(at_end.key, self);
  }
};
TEST(ProcessModes, EachThreadIsServedFromItsFirstBlockToItsLast) {
  AtEnd at_end;
  ASSERT_EQ(pthread_key_create(&at_end.key, AtEnd::run), 0);
  std::thread([&] {
    at_end.first = AtEnd::serves();
    pthread_setspecific(at_end.key, &at_end);
  }).join();
  EXPECT_TRUE(at_end.first);
  EXPECT_TRUE(at_end.last);
  EXPECT_EQ(at_end.rounds, 0);
  pthread_key_delete(at_end.key);
}

TEST(ProcessModes, MisuseOfPlainCallsIsReported) {
  const testing::KilledBySignal aborts(SIGABRT);
  char* const p = take(100);
  EXPECT_EXIT((std::free(p), std::free(opaque(p))), aborts, "tarn: double free: .*100 bytes");
  EXPECT_EXIT(std::free(opaque(p + 16)), aborts, "tarn: invalid free: .*16 bytes into a block");
  void* const object = opaque(::operator new(100));
  EXPECT_EXIT(::operator delete (opaque(object), std::size_t{99}), aborts, "tarn: size mismatch: ");
  EXPECT_EXIT(::operator delete[](opaque(object)), aborts, "tarn: mismatched free: ");
  ::operator delete (object, std::size_t{100});
  if (is_guarded()) {
    EXPECT_EXIT(opaque(p)[112] = 1, testing::KilledBySignal(SIGSEGV), "tarn: overrun: a write");
    EXPECT_EXIT((std::free(p), opaque(p)[5] = 1), testing::KilledBySignal(SIGSEGV),
                "tarn: use after free: a write");
  }
  EXPECT_EXIT((opaque(p)[100] = 1, std::free(p)), aborts,
              "tarn: overrun: .*beyond its end, byte 100");
  std::free(p);
}

// Each family's blocks with each family's end: the same one's ends them, any other is reported.
TEST(ProcessModes, BlocksGoByTheFunctionsOfTheirFamily) {
  constexpr std::align_val_t wide{64};
  struct Functions {
    const char* pattern;  // Of what the report says is to free the block.
    void* (*take)();
    void (*give)(void*);
  };
  constexpr Functions families[] = {
      {"free; ", [] { return std::malloc(100); }, [](void* p) { std::free(p); }},
      {"operator delete; ", [] { return ::operator new(100); },
       [](void* p) { ::operator delete(p); }},
      {"operator delete\\[\\]; ", [] { return ::operator new[](5000); },
       [](void* p) { ::operator delete[](p); }},
      {"operator delete with", [] { return ::operator new(100, wide); },
       [](void* p) { ::operator delete(p, wide); }},
      {"operator delete\\[\\] with", [] { return ::operator new[](100, wide); },
       [](void* p) { ::operator delete[](p, wide); }},
      {"free; ", [] { return std::aligned_alloc(64, 128); },
       [](void* p) { std::free(std::realloc(p, 200)); }},
      {"operator delete; ", [] { return ::operator new(300'000, std::nothrow); },
       [](void* p) { ::operator delete (p, std::size_t{300'000}); }}};
  const testing::KilledBySignal aborts(SIGABRT);
  for (const Functions& from : families) {
    for (const Functions& to : families) {
      void* const p = opaque(from.take());
      if (std::strcmp(from.pattern, to.pattern) != 0) {
        EXPECT_EXIT(to.give(p), aborts,
                    std::string("tarn: mismatched free: .* is to be freed by ") + from.pattern +
                        (is_hardened() ? "" : ".*allocated at entry_process_modes") +
                        ".*(now at|by) entry_process_modes");
      } else if (to.take == from.take || to.take != families[6].take) {
        to.give(p);
        continue;
      }
      from.give(p);
    }
  }
  std::free(opaque(::strdup("of the C library")));
}

// Each alignment with each other: what is told is compared, and only that.
TEST(ProcessModes, BlocksGoByTheAlignmentThatWasAskedFor) {
  const testing::KilledBySignal aborts(SIGABRT);
  constexpr std::size_t alignments[] = {
      1, 16, 32, 4096, std::size_t{1} << 18, std::size_t{1} << 19};
  constexpr std::size_t told_apart = std::size_t{1} << 18;  // From here on all count as one.
  for (const std::size_t asked : alignments) {
    const std::align_val_t of_block{asked};
    for (const std::size_t said : alignments) {
      const std::align_val_t of_call{said};
      void* const p = opaque(::operator new(100, of_block));
      const bool good =
          said == asked || std::max(said, asked) <= 16 || std::min(said, asked) >= told_apart;
      if (good) {
        ::operator delete(p, of_call);
        continue;
      }
      const auto told = [told_apart](std::size_t alignment) {
        return std::to_string(std::clamp<std::size_t>(alignment, 16, told_apart));
      };
      const std::string report = "tarn: alignment mismatch: operator delete\\(.*an alignment of " +
                                 told(said) + ", allocated with " + told(asked) + "[^0-9]";
      EXPECT_EXIT(::operator delete(p, of_call), aborts, report);
      EXPECT_EXIT(::operator delete (p, std::size_t{100}, of_call), aborts, report);
      ::operator delete (p, std::size_t{100}, of_block);
    }
  }
  int* const numbers = opaque(static_cast<int*>(::operator new[](400, std::align_val_t{64})));
  EXPECT_EXIT(::operator delete[](opaque(numbers), std::align_val_t{128}), aborts,
              "tarn: alignment mismatch: operator delete\\[\\]\\(");
  ::operator delete[](numbers, std::align_val_t{64});
  void* const p = opaque(std::aligned_alloc(64, 128));
  EXPECT_EXIT(tarn_free_aligned_sized(opaque(p), 32, 128), aborts,
              "tarn: alignment mismatch: free");
  std::free(p);  // Says nothing.
  tarn_free_aligned_sized(opaque(std::aligned_alloc(64, 128)), 64, 128);
}

TEST(ProcessModes, XfreeTakesWhatMallocGave) {
  for (const std::size_t bytes : {0u, 100u, 5'000u, 2'000'000u}) {
    tarn_xfree(take(bytes));
    tarn_xfree(tarn_xrealloc(take(bytes), 3 * bytes + 1));
    std::free(tarn_xmalloc(bytes));
  }
}

// What the report says of a block that is taken again is what the program wrote, and where.
TEST(ProcessModes, AWriteAfterTheFreeIsReportedAtItsByte) {
  const testing::KilledBySignal aborts(SIGABRT);
  if (!is_hardened()) GTEST_SKIP() << "a quarantine tells it later";
  struct Write {
    std::size_t bytes;
    std::size_t byte;
  };
  constexpr Write writes[] = {{100, 0},     {100, 3},     {100, 9},        {100, 40},
                              {3000, 2999}, {3000, 1023}, {40'000, 39'950}};
  for (const Write& one : writes) {
    const auto write = [&one] {
      char* const p = take(one.bytes);
      std::free(p);
      opaque(p)[one.byte] = 1;
      for (int i = 0; i < 100'000; ++i) std::free(take(one.bytes));
    };
    EXPECT_EXIT(write(), aborts,
                "tarn: use after free: .*" + std::to_string(one.bytes) + " bytes.*byte " +
                    std::to_string(one.byte) + ";");
  }
}

// Also of the first block of a page that is handed out.
TEST(ProcessModes, AWriteInFrontOfABlockIsReportedAtTheEnd) {
  if (!is_hardened()) GTEST_SKIP() << "the page in front of a first block is no block's";
  for (const std::size_t bytes : {24u, 200u, 3000u}) {
    for (int i = 0; i < 25; ++i) {
      char* const p = take(bytes);
      const std::string said = "tarn: underrun: [a-z ]*: .*" + std::to_string(bytes) + " bytes";
      EXPECT_EXIT((opaque(p)[-1] ^= 1, std::exit(0)), testing::KilledBySignal(SIGABRT),
                  said + ".* before its start, 1 byte");
      EXPECT_EXIT((opaque(p)[-3] ^= 1, std::exit(0)), testing::KilledBySignal(SIGABRT),
                  said + ".* before its start, 3 byte");
      // Not freed: the next one is another.
    }
  }
}

// Also where the block's page goes back to the system before the process ends. (Of a size that no
// other test asks for: each block in front is one that was taken, or nobody's.)
TEST(ProcessModes, AWriteInFrontOfABlockIsReportedBeforeItsPageGoes) {
  if (!is_hardened()) GTEST_SKIP() << "the page in front of a first block is no block's";
  const testing::KilledBySignal aborts(SIGABRT);
  std::vector<char*> blocks(24);
  for (char*& p : blocks) p = take(3400);
  for (char* const changed : blocks) {
    const auto end_without_a_last_look = [&] {
      for (char* const p : blocks) std::free(p);
      malloc_trim(0);
      ::_exit(0);
    };
    EXPECT_EXIT((opaque(changed)[-1] ^= 1, end_without_a_last_look()), aborts,
                "tarn: underrun: .* 3400 bytes.* before its start, 1 byte");
    EXPECT_EXIT((std::memset(opaque(changed) - 8, 0, 8), end_without_a_last_look()), aborts,
                "tarn: (underrun: .* 3400|overrun: .* 3576) bytes");
  }
  for (char* const p : blocks) std::free(p);
}

TEST(ProcessModes, AFreedBlockOfItsOwnIsOutOfReach) {
  const testing::KilledBySignal faults(SIGSEGV);
  if (!is_hardened() && !is_guarded()) GTEST_SKIP() << "checked: told by the quarantine";
  char* const p = take(500'000);
  std::memset(p, 1, 500'000);
  const std::string said = "tarn: use after free: a ";
  EXPECT_EXIT((std::free(p), opaque(p)[250'000] = 1), faults, said + "write.*500000 bytes");
  EXPECT_EXIT((std::free(p), std::exit(opaque(p)[499'999])), faults, said + "read.*500000 bytes");
  std::free(p);
  for (int i = 0; i < 100; ++i) {
    char* const next = take(500'000 + static_cast<std::size_t>(i) * 1000);
    std::memset(next, 1, 500'000);
    std::free(next);
  }
}

// A block that nobody frees, and one that nobody takes again.
TEST(ProcessModes, TheProcessLooksOnceMoreWhenItEnds) {
  const testing::KilledBySignal aborts(SIGABRT);
  char* const p = take(100);
  EXPECT_EXIT((opaque(p)[100] = 1, std::exit(0)), aborts, "tarn: overrun: exit: ");
  if (!is_guarded()) {
    EXPECT_EXIT((std::free(p), opaque(p)[3] = 1, std::exit(0)), aborts, "tarn: use after free: ");
  }
  EXPECT_EXIT(std::exit(7), testing::ExitedWithCode(7), "");
  std::free(p);
}

// Blocks that no thread holds back any more: their pages have them.
TEST(ProcessModes, TheProcessLooksAtFreeBlocksOfPagesWhenItEnds) {
  if (!is_hardened()) GTEST_SKIP() << "a quarantine has them, or nobody";
  std::vector<char*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(take(100));
  for (std::size_t i = 0; i < blocks.size(); i += 2) std::free(blocks[i]);
  for (const std::size_t byte : {9u, 40u, 99u}) {
    EXPECT_EXIT((opaque(blocks[10])[byte] = 1, std::exit(0)), testing::KilledBySignal(SIGABRT),
                "tarn: use after free: .*100 bytes.*byte " + std::to_string(byte) + ";");
  }
  for (std::size_t i = 1; i < blocks.size(); i += 2) std::free(blocks[i]);
}

// A block that shrinks and grows again in its place has nothing of what it gave up. (Of a large one
// that gives up more than a little, others may have had it meanwhile.)
TEST(ProcessModes, WhatABlockGivesUpIsGone) {
  if (!is_hardened()) GTEST_SKIP() << "the others say nothing of it";
  for (const std::size_t bytes : {100u, 3000u, 40'000u, 900'000u, 3'000'000u}) {
    const std::size_t less = bytes / 20 * 19;
    char* const p = take(bytes);
    std::memset(p, 1, bytes);
    ASSERT_EQ(opaque(std::realloc(p, less)), p);
    ASSERT_EQ(opaque(std::realloc(p, bytes)), p);
    EXPECT_EQ(p[less - 1], 1);
    for (std::size_t i = less; i < bytes; ++i) ASSERT_EQ(p[i], 0) << bytes << " byte " << i;
    std::free(p);
  }
}

TEST(ProcessModes, TheChildOfAForkGoesOnAlike) {
  char* const before = take(200);
  const pid_t child = fork();
  if (child == 0) {
    char* const p = take(300);
    const bool good = is_of_main(p) && is_of_main(before) && tarn_heap_check(tarn_heap_main()) == 1;
    std::free(before);
    std::free(p);
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::free(before);
}

}  // namespace
