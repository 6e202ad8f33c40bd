// Heaps that are not fast where tarn is the process's malloc: passthrough blocks come from libc's
// own (in a static program there is none, and no such heap), and sized operators delete compare.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tarn/heap/heap.h"

namespace {

tarn_heap make(int mode) {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.name = "drop-in";
  options.mode = mode;
  return tarn_heap_create(&options);
}

TEST(Modes, PassthroughUsesLibcsOwnMalloc) {
  const tarn_heap heap = make(TARN_MODE_PASSTHROUGH);
  if (heap.record == nullptr) {
    EXPECT_EQ(errno, ENOTSUP);
    GTEST_SKIP() << "libc's own malloc is not to be had here";
  }
  void* const p = tarn_heap_allocate(heap, 100);
  void* const q = tarn_heap_allocate_aligned(heap, 1024, 100);
  ASSERT_NE(p, nullptr);
  ASSERT_NE(q, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(q) % 1024, 0u);
  std::memset(p, 5, 100);
  void* const r = std::realloc(p, 5000);
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(static_cast<unsigned char*>(r)[99], 5);
  EXPECT_EQ(tarn_heap_owns(heap, r), 1);
  EXPECT_EQ(tarn_heap_owns(tarn_heap_main(), r), 0);
  std::free(r);
  std::free(q);
  EXPECT_EQ(tarn_heap_owns(heap, q), 0);
  EXPECT_NE(tarn_heap_allocate(heap, 100'000), nullptr);
  EXPECT_EQ(tarn_heap_destroy(heap), 0);
}

TEST(Modes, OperatorsSayTheSize) {
  const tarn_heap heap = make(TARN_MODE_CHECKED);
  const tarn_heap before = tarn_heap_set_default(heap);
  void* const p = ::operator new(100);
  void* const q = ::operator new (100, std::align_val_t{256});
  void* const r = ::operator new[](100);
  tarn_heap_set_default(before);
  for (void* const block : {p, q, r}) EXPECT_EQ(tarn_heap_owns(heap, block), 1);
  const testing::KilledBySignal aborts(SIGABRT);
  EXPECT_EXIT(::operator delete (p, std::size_t{99}), aborts, "^tarn: size mismatch: .*drop-in");
  EXPECT_EXIT(::operator delete (q, std::size_t{99}, std::align_val_t{256}), aborts,
              "^tarn: size mismatch: .*drop-in");
  void* volatile again = p;  // The compiler would see it, too.
  EXPECT_EXIT((::operator delete(p), ::operator delete(again)), aborts, "^tarn: double free: ");
  ::operator delete (p, std::size_t{100});
  ::operator delete (q, std::size_t{100}, std::align_val_t{256});
  ::operator delete[](r, std::size_t{100});
  EXPECT_EQ(tarn_heap_destroy(heap), 0);
}

}  // namespace
