// operators_beside: operators new and delete of tarn in a program that keeps its malloc. Delete
// takes blocks of either.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <tarn/tarn.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "pattern.h"

namespace {

using std::align_val_t;
using std::nothrow;

// Ends a block by the form of this number; false when there are no more forms.
bool end_by_form(int form, void* p, std::size_t size) {
  switch (form) {
    case 0: ::operator delete(p); return true;
    case 1: ::operator delete[](p); return true;
    case 2: ::operator delete(p, size); return true;
    case 3: ::operator delete[](p, size); return true;
    case 4: ::operator delete(p, nothrow); return true;
    case 5: ::operator delete[](p, nothrow); return true;
    case 6: ::operator delete (p, align_val_t{64}); return true;
    case 7: ::operator delete[](p, align_val_t{64}); return true;
    case 8: ::operator delete (p, size, align_val_t{64}); return true;
    case 9: ::operator delete[](p, size, align_val_t{64}); return true;
    case 10: ::operator delete (p, align_val_t{64}, nothrow); return true;
    case 11: ::operator delete[](p, align_val_t{64}, nothrow); return true;
    default: return false;
  }
}

bool is_of_main(const void* p) { return tarn_heap_owns(tarn_heap_main(), p) == 1; }

tarn_heap heap_of_mode(int mode) {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.name = "other";
  options.mode = mode;
  return tarn_heap_create(&options);
}

std::uint64_t live_blocks(tarn_heap heap) {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  EXPECT_EQ(tarn_heap_get_stats(heap, &stats), 0);
  return stats.live_blocks;
}

TEST(OperatorsBeside, NewIsOfTarnAndMallocIsNot) {
  const auto one = std::make_unique<int>(1);
  EXPECT_TRUE(is_of_main(one.get()));
  // In the C++ library, too.
  const std::string text(1000, 'x');
  EXPECT_TRUE(is_of_main(text.data()));
  void* const other = opaque_block(std::malloc(1000));
  EXPECT_FALSE(is_of_main(other));
  std::free(other);
}

TEST(OperatorsBeside, BlocksOfTheProgramsMalloc) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{1} << 20}) {
    for (int form = 0;; ++form) {
      void* block = opaque_block(std::malloc(size));
      if (form % 2 != 0) block = opaque_block(std::realloc(block, 2 * size));
      ASSERT_NE(block, nullptr);
      std::memset(block, 'm', size);
      if (!end_by_form(form, block, size)) {
        std::free(block);
        break;
      }
    }
  }
  for (int i = 0; i < 1000; ++i) ::operator delete(opaque_block(strdup("of the C library")));
}

TEST(OperatorsBeside, BlocksOfHeaps) {
  for (const int mode : {TARN_MODE_FAST, TARN_MODE_CHECKED, TARN_MODE_PASSTHROUGH}) {
    const tarn_heap heap = heap_of_mode(mode);
    ASSERT_NE(heap.record, nullptr) << mode;
    for (const std::size_t size : {std::size_t{24}, std::size_t{4096}, std::size_t{1} << 20}) {
      for (int form = 0;; ++form) {
        void* const block = tarn_heap_allocate(heap, size);
        ASSERT_NE(block, nullptr);
        if (!end_by_form(form, block, size)) {
          tarn_heap_deallocate(block);
          break;
        }
      }
    }
    EXPECT_EQ(live_blocks(heap), 0u) << mode;
    EXPECT_EQ(tarn_heap_destroy(heap), 0);
  }
}

TEST(OperatorsBeside, NullIsIgnored) {
  for (int form = 0; end_by_form(form, nullptr, 0); ++form) {
  }
}

TEST(OperatorsBeside, FromAnotherThread) {
  std::vector<char*> blocks;
  for (int i = 0; i < 2000; ++i) {
    blocks.push_back(i % 2 == 0 ? new char[100] : static_cast<char*>(std::malloc(100)));
  }
  std::thread([&] {
    for (char* block : blocks) delete[] block;
  }).join();
}

TEST(OperatorsBeside, MisuseIsReported) {
  EXPECT_DEATH(
      {
        char* const inside = new char[1 << 28];  // Where no heap was that has ended meanwhile.
        ::operator delete(opaque_block(inside + 16));
      },
      "tarn: invalid free: ");
  const tarn_heap heap = heap_of_mode(TARN_MODE_CHECKED);
  void* const block = tarn_heap_allocate(heap, 100);
  void* const again = opaque_block(block);
  EXPECT_DEATH(::operator delete (block, std::size_t{50}), "tarn: size mismatch: .*other");
  ::operator delete(block);
  EXPECT_DEATH(::operator delete(again), "tarn: double free: .*other");
  EXPECT_EQ(tarn_heap_destroy(heap), 0);
}

}  // namespace
