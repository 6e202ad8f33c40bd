// sizes: what the family does with requests of nothing, of too much, and with products that wrap.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "family.h"
#include "pattern.h"

namespace {

constexpr std::size_t too_large[] = {std::size_t{PTRDIFF_MAX},
                                     std::size_t{PTRDIFF_MAX} + 1,
                                     SIZE_MAX / 4 * 3,
                                     SIZE_MAX - (std::size_t{1} << 32),
                                     SIZE_MAX - 65536,
                                     SIZE_MAX - 4096,
                                     SIZE_MAX - 4095,
                                     SIZE_MAX - 64,
                                     SIZE_MAX - 16,
                                     SIZE_MAX - 15,
                                     SIZE_MAX - 7,
                                     SIZE_MAX - 1,
                                     SIZE_MAX};

struct Product {
  std::size_t count;
  std::size_t size;
};

constexpr Product wrapping[] = {{SIZE_MAX, 2},
                                {2, SIZE_MAX},
                                {SIZE_MAX / 2 + 1, 2},
                                {SIZE_MAX / 16 + 1, 16},
                                {std::size_t{1} << 32, std::size_t{1} << 32},
                                {(std::size_t{1} << 33) + 1, (std::size_t{1} << 33) + 1},
                                {SIZE_MAX, SIZE_MAX},
                                {PTRDIFF_MAX, 2},
                                {3, SIZE_MAX / 3 + 1}};

// Fails unless `call` returns null and says ENOMEM, whatever errno said before.
#define EXPECT_NO_MEMORY(call)           \
  do {                                   \
    errno = EDOM;                        \
    EXPECT_EQ((call), nullptr) << #call; \
    EXPECT_EQ(errno, ENOMEM) << #call;   \
  } while (false)

TEST(Sizes, ZeroIsAUniqueBlock) {
  const std::size_t zero = opaque(0);
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) {
    blocks.push_back(FAMILY(malloc)(zero));
    blocks.push_back(FAMILY(calloc)(zero, zero));
    blocks.push_back(FAMILY(calloc)(opaque(8), zero));
    blocks.push_back(FAMILY(calloc)(zero, opaque(SIZE_MAX)));
    blocks.push_back(FAMILY(realloc)(nullptr, zero));
    blocks.push_back(FAMILY(reallocarray)(nullptr, zero, opaque(16)));
    blocks.push_back(FAMILY(memalign)(64, zero));
    blocks.push_back(FAMILY(aligned_alloc)(64, zero));
    blocks.push_back(FAMILY(valloc)(zero));
    blocks.push_back(FAMILY(pvalloc)(zero));
    void* block = nullptr;
    ASSERT_EQ(FAMILY(posix_memalign)(&block, 32, zero), 0);
    blocks.push_back(block);
  }
  for (void* block : blocks) ASSERT_NE(block, nullptr);
  std::vector<void*> sorted = blocks;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
  for (void* block : blocks) FAMILY(free)(block);
}

TEST(Sizes, TooLargeIsNoMemory) {
  for (const std::size_t size : too_large) {
    const std::size_t request = opaque(size);
    SCOPED_TRACE(size);
    EXPECT_NO_MEMORY(FAMILY(malloc)(request));
    EXPECT_NO_MEMORY(FAMILY(calloc)(1, request));
    EXPECT_NO_MEMORY(FAMILY(calloc)(request, 1));
    EXPECT_NO_MEMORY(FAMILY(realloc)(nullptr, request));
    EXPECT_NO_MEMORY(FAMILY(reallocarray)(nullptr, request, 1));
    EXPECT_NO_MEMORY(FAMILY(memalign)(8, request));
    EXPECT_NO_MEMORY(FAMILY(memalign)(64, request));
    EXPECT_NO_MEMORY(FAMILY(memalign)(1 << 20, request));
    EXPECT_NO_MEMORY(FAMILY(aligned_alloc)(16, request));
    EXPECT_NO_MEMORY(FAMILY(aligned_alloc)(8192, request));
    EXPECT_NO_MEMORY(FAMILY(valloc)(request));
    EXPECT_NO_MEMORY(FAMILY(pvalloc)(request));
  }
}

TEST(Sizes, PosixMemalignReturnsItsErrorAndLeavesThePointerAlone) {
  char witness = 0;
  void* const before = &witness;
  for (const std::size_t size : too_large) {
    for (const std::size_t alignment : {std::size_t{8}, std::size_t{64}, std::size_t{1} << 21}) {
      void* block = before;
      errno = 0;
      EXPECT_EQ(FAMILY(posix_memalign)(&block, alignment, opaque(size)), ENOMEM) << size;
      EXPECT_EQ(block, before);
      EXPECT_EQ(errno, ENOMEM) << "as glibc";
    }
  }
}

TEST(Sizes, WrappingProductsAreNoMemory) {
  for (const Product& product : wrapping) {
    const std::size_t count = opaque(product.count);
    const std::size_t size = opaque(product.size);
    SCOPED_TRACE(testing::Message() << count << " * " << size);
    EXPECT_NO_MEMORY(FAMILY(calloc)(count, size));
    EXPECT_NO_MEMORY(FAMILY(reallocarray)(nullptr, count, size));
  }
}

TEST(Sizes, FailureLeavesTheOldBlockAlone) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{48}, std::size_t{5000},
                                 std::size_t{200000}, std::size_t{3} << 20}) {
    void* block = FAMILY(malloc)(size);
    ASSERT_NE(block, nullptr);
    pattern_fill(block, size, 7);
    for (const std::size_t request : too_large) {
      EXPECT_NO_MEMORY(FAMILY(realloc)(opaque_block(block), opaque(request)));
      EXPECT_NO_MEMORY(FAMILY(reallocarray)(opaque_block(block), opaque(request), 1));
    }
    for (const Product& product : wrapping) {
      EXPECT_NO_MEMORY(
          FAMILY(reallocarray)(opaque_block(block), opaque(product.count), opaque(product.size)));
    }
    EXPECT_TRUE(pattern_holds(block, size, 7));
    FAMILY(free)(block);
  }
}

TEST(Sizes, ServesAgainAfterFailure) {
  for (int round = 0; round < 1000; ++round) {
    EXPECT_EQ(FAMILY(malloc)(opaque(SIZE_MAX - 32)), nullptr);
    void* block = FAMILY(malloc)(opaque(100));
    ASSERT_NE(block, nullptr);
    FAMILY(free)(block);
  }
}

TEST(Sizes, EverySizeUpToThePageLimitIsUsable) {
  constexpr std::size_t size_end = 40000;
  for (std::size_t size = 1; size < size_end; size += size < 2100 ? 1 : 37) {
    void* block = FAMILY(malloc)(size);
    ASSERT_NE(block, nullptr);
    const std::size_t usable = FAMILY(malloc_usable_size)(block);
    ASSERT_GE(usable, size);
    pattern_fill(block, usable, static_cast<unsigned>(size));
    ASSERT_TRUE(pattern_holds(block, usable, static_cast<unsigned>(size)));
    FAMILY(free)(block);
  }
}

TEST(Sizes, UsableSizeOfNothingIsNothing) { EXPECT_EQ(FAMILY(malloc_usable_size)(nullptr), 0u); }

// The waste that a request of any size may carry: the C library's own is below these bounds too.
TEST(Sizes, UsableSizeIsNotExtravagant) {
  for (std::size_t size = 16; size <= (std::size_t{64} << 20); size += size / 3 + 1) {
    void* block = FAMILY(malloc)(size);
    ASSERT_NE(block, nullptr);
    EXPECT_LE(FAMILY(malloc_usable_size)(block), size + size / 3 + 8192) << size;
    FAMILY(free)(block);
  }
}

}  // namespace
