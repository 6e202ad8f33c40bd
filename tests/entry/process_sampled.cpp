// A process of which one of twenty blocks is guarded, by TARN_OPTIONS=guard_every=20.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <malloc.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "tarn/heap/heap.h"

namespace {

constexpr std::size_t every = 20;
constexpr std::size_t enough = 4000;

template <class T>
T* opaque(T* p) {
  __asm__ volatile("" : "+r"(p) : : "memory");
  return p;
}

bool is_guarded(const void* p) { return tarn_heap_owns(tarn_heap_main(), p) != 1; }

using Take = std::function<void*()>;

// How many of so many blocks are guarded. All of them can be written to.
std::size_t guarded_of(std::size_t blocks, std::size_t bytes, const Take& take) {
  std::vector<void*> all;
  std::size_t guarded = 0;
  for (std::size_t i = 0; i < blocks; ++i) {
    void* const p = opaque(take());
    if (p == nullptr) ADD_FAILURE() << "no memory";
    memset(p, 1, bytes);
    guarded += is_guarded(p) ? 1 : 0;
    all.push_back(p);
  }
  for (void* const p : all) std::free(p);
  return guarded;
}

// The next block that is guarded.
char* take_guarded(std::size_t bytes) {
  for (;;) {
    void* const p = opaque(std::malloc(bytes));
    if (is_guarded(p)) return static_cast<char*>(p);
    std::free(p);
  }
}

// A drawn distance is 20 in the mean, 11 its deviation: 200 of them are 4,000, give or take 160.
void expect_about_one_of_twenty(std::size_t guarded, std::size_t blocks) {
  EXPECT_GT(guarded, blocks / every * 3 / 4);
  EXPECT_LT(guarded, blocks / every * 5 / 4);
}

TEST(ProcessSampled, OneOfSoManyIsGuardedWhateverTheForm) {
  for (const std::size_t bytes : {1u, 100u, 1000u, 3000u, 40000u, 200000u}) {
    SCOPED_TRACE(bytes);
    expect_about_one_of_twenty(guarded_of(enough, bytes, [=] { return std::malloc(bytes); }),
                               enough);
  }
  const std::size_t zeroed = guarded_of(enough, 64, [] {
    auto* const p = static_cast<char*>(opaque(std::calloc(4, 16)));
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(p[i], 0);
    return p;
  });
  expect_about_one_of_twenty(zeroed, enough);
  const std::size_t aligned = guarded_of(enough, 100, [] {
    void* const p = opaque(std::aligned_alloc(256, 100));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 256, 0u);
    return p;
  });
  expect_about_one_of_twenty(aligned, enough);
}

// It is also taken when nothing but blocks at hand would be used.
TEST(ProcessSampled, APairOverAndOver) {
  std::size_t guarded = 0;
  for (std::size_t i = 0; i < enough; ++i) {
    void* const p = opaque(std::malloc(48));
    guarded += is_guarded(p) ? 1 : 0;
    std::free(p);
  }
  expect_about_one_of_twenty(guarded, enough);
}

TEST(ProcessSampled, EachThreadDrawsItsOwn) {
  std::vector<std::size_t> firsts;
  for (int i = 0; i < 8; ++i) {
    std::thread([&] {
      std::size_t first = 0;
      void* p = opaque(std::malloc(48));
      for (; !is_guarded(p); ++first) {
        std::free(p);
        p = opaque(std::malloc(48));
      }
      std::free(p);
      firsts.push_back(first);
    }).join();
  }
  const bool all_alike = std::all_of(firsts.begin(), firsts.end(),
                                     [&](std::size_t first) { return first == firsts[0]; });
  EXPECT_FALSE(all_alike);
}

TEST(ProcessSampled, ABlockThatIsResizedKeepsItsContents) {
  char* p = take_guarded(100);
  memset(p, 7, 100);
  p = static_cast<char*>(opaque(std::realloc(p, 5000)));
  for (int i = 0; i < 100; ++i) ASSERT_EQ(p[i], 7);
  std::free(p);
  for (std::size_t i = 0; i < enough; ++i) {
    auto* q = static_cast<char*>(opaque(std::malloc(24)));
    memset(q, 5, 24);
    q = static_cast<char*>(opaque(std::realloc(q, 1000)));
    for (int j = 0; j < 24; ++j) ASSERT_EQ(q[j], 5);
    std::free(q);
  }
}

TEST(ProcessSampled, AThreadsDefaultHeapIsNotSampled) {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  const tarn_heap own = tarn_heap_create(&options);
  std::vector<void*> blocks;
  blocks.reserve(enough);
  EXPECT_EQ(tarn_heap_set_default(own).record, tarn_heap_main().record);
  for (std::size_t i = 0; i < enough; ++i) {
    blocks.push_back(opaque(std::malloc(48)));
    EXPECT_EQ(tarn_heap_owns(own, blocks.back()), 1);
  }
  for (void* const p : blocks) std::free(p);
  EXPECT_EQ(tarn_heap_set_default(tarn_heap{}).record, own.record);
  EXPECT_EQ(tarn_heap_destroy(own), 0);
  expect_about_one_of_twenty(guarded_of(enough, 48, [] { return std::malloc(48); }), enough);
}

TEST(ProcessSampled, MisuseOfAGuardedBlockIsReported) {
  GTEST_FLAG_SET(death_test_style, "fast");
  char* const p = take_guarded(96);
  EXPECT_EXIT(opaque(p)[96] = 1, testing::KilledBySignal(SIGSEGV), "tarn: overrun: a write");
  EXPECT_EXIT((std::free(p), opaque(p)[5] = 1), testing::KilledBySignal(SIGSEGV),
              "tarn: use after free: a write");
  EXPECT_EXIT((std::free(p), std::free(opaque(p))), testing::KilledBySignal(SIGABRT),
              "tarn: double free: .*96 bytes");
  std::free(p);
}

}  // namespace
