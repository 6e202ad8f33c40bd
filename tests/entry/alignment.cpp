// alignment: where blocks begin, for every function that promises something about it.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <vector>

#include "family.h"
#include "pattern.h"

namespace {

std::size_t os_page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// An object of n bytes needs no more alignment than the largest power of two in n, and never more
// than 16 where nothing else is asked for.
std::size_t alignment_due(std::size_t size) { return size >= 16 ? 16 : std::bit_floor(size); }

TEST(Alignment, PlainBlocksSuitEveryObjectOfTheirSize) {
  for (std::size_t size = 1; size < 70000; size += size < 2100 ? 1 : 101) {
    void* blocks[4] = {FAMILY(malloc)(size), FAMILY(calloc)(1, size),
                       FAMILY(realloc)(nullptr, size), FAMILY(reallocarray)(nullptr, 1, size)};
    for (void* block : blocks) {
      ASSERT_NE(block, nullptr);
      ASSERT_TRUE(is_aligned(block, alignment_due(size))) << size << " at " << block;
    }
    for (void* block : blocks) FAMILY(free)(block);
  }
}

TEST(Alignment, LargePlainBlocksAreAlignedToo) {
  for (std::size_t size = 70000; size < (std::size_t{256} << 20); size += size / 2 + 13) {
    void* block = FAMILY(malloc)(size);
    ASSERT_NE(block, nullptr);
    EXPECT_TRUE(is_aligned(block, 16)) << size;
    FAMILY(free)(block);
  }
}

struct Aligned {
  void* block;
  std::size_t size;
  unsigned seed;
};

void take_three_ways(std::vector<Aligned>& live, std::size_t alignment, std::size_t size) {
  void* by_posix = nullptr;
  ASSERT_EQ(FAMILY(posix_memalign)(&by_posix, alignment, size), 0);
  void* const blocks[3] = {by_posix, FAMILY(memalign)(alignment, size),
                           FAMILY(aligned_alloc)(alignment, size)};
  for (void* block : blocks) {
    ASSERT_NE(block, nullptr) << alignment << ' ' << size;
    ASSERT_TRUE(is_aligned(block, alignment)) << alignment << ' ' << size << " at " << block;
    ASSERT_GE(FAMILY(malloc_usable_size)(block), size);
    live.push_back({block, size, static_cast<unsigned>(live.size())});
    pattern_fill(block, size, live.back().seed);
  }
}

TEST(Alignment, EveryPowerOfTwoIsHonouredAndBlocksDoNotOverlap) {
  std::vector<Aligned> live;
  for (std::size_t alignment = sizeof(void*); alignment <= (std::size_t{4} << 20); alignment *= 2) {
    const std::size_t sizes[] = {1, 24, alignment - 1, alignment, alignment + 1, 3 * alignment / 2};
    for (const std::size_t size : sizes) {
      for (int again = 0; again < 2; ++again) take_three_ways(live, alignment, size);
    }
  }
  for (const Aligned& entry : live) {
    EXPECT_TRUE(pattern_holds(entry.block, entry.size, entry.seed)) << entry.size;
  }
  for (const Aligned& entry : live) FAMILY(free)(entry.block);
}

TEST(Alignment, AlignmentsBeyondAnySegmentAreHonoured) {
  for (const std::size_t alignment :
       {std::size_t{32} << 20, std::size_t{256} << 20, std::size_t{1} << 30}) {
    void* block = nullptr;
    ASSERT_EQ(FAMILY(posix_memalign)(&block, alignment, 100), 0) << alignment;
    EXPECT_TRUE(is_aligned(block, alignment));
    pattern_fill(block, 100, 3);
    EXPECT_TRUE(pattern_holds(block, 100, 3));
    FAMILY(free)(block);
  }
}

TEST(Alignment, SmallAlignmentsGiveOrdinaryBlocks) {
  for (std::size_t alignment = 1; alignment <= 8; alignment *= 2) {
    void* by_memalign = FAMILY(memalign)(alignment, 100);
    void* by_standard = FAMILY(aligned_alloc)(alignment, 100);
    ASSERT_NE(by_memalign, nullptr);
    ASSERT_NE(by_standard, nullptr);
    EXPECT_TRUE(is_aligned(by_memalign, 16));
    EXPECT_TRUE(is_aligned(by_standard, 16));
    FAMILY(free)(by_memalign);
    FAMILY(free)(by_standard);
  }
}

TEST(Alignment, AlignedAllocRefusesWhatIsNoPowerOfTwo) {
  for (const std::size_t alignment :
       {std::size_t{0}, std::size_t{3}, std::size_t{12}, std::size_t{24}, std::size_t{48},
        std::size_t{4097}, std::size_t{SIZE_MAX}, SIZE_MAX / 2 + 2}) {
    errno = 0;
    EXPECT_EQ(FAMILY(aligned_alloc)(opaque(alignment), 64), nullptr) << alignment;
    EXPECT_EQ(errno, EINVAL) << alignment;
  }
}

TEST(Alignment, AlignedAllocTakesSizesThatAreNoMultiple) {
  void* block = FAMILY(aligned_alloc)(256, opaque(100));
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(is_aligned(block, 256));
  FAMILY(free)(block);
}

TEST(Alignment, PosixMemalignRefusesBadAlignmentsAndLeavesThePointerAlone) {
  char witness = 0;
  for (const std::size_t alignment :
       {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{12},
        std::size_t{24}, std::size_t{40}, std::size_t{4097}, SIZE_MAX}) {
    void* block = &witness;
    EXPECT_EQ(FAMILY(posix_memalign)(&block, opaque(alignment), 64), EINVAL) << alignment;
    EXPECT_EQ(block, static_cast<void*>(&witness));
  }
}

// memalign is glibc's own: an alignment that is no power of two counts as the next one.
TEST(Alignment, MemalignRoundsUpAsTheCLibraryDoes) {
  for (const std::size_t alignment :
       {std::size_t{0}, std::size_t{24}, std::size_t{33}, std::size_t{100}, std::size_t{5000}}) {
    void* block = FAMILY(memalign)(opaque(alignment), 64);
    ASSERT_NE(block, nullptr) << alignment;
    EXPECT_TRUE(is_aligned(block, std::bit_ceil(alignment))) << alignment;
    FAMILY(free)(block);
  }
}

TEST(Alignment, ImpossibleAlignmentsFailWithAReason) {
  for (const std::size_t alignment : {std::size_t{1} << 62, std::size_t{1} << 63}) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{4096}, std::size_t{1} << 63}) {
      errno = 0;
      EXPECT_EQ(FAMILY(memalign)(opaque(alignment), opaque(size)), nullptr);
      EXPECT_TRUE(errno == ENOMEM || errno == EINVAL) << errno;
      errno = 0;
      EXPECT_EQ(FAMILY(aligned_alloc)(opaque(alignment), opaque(size)), nullptr);
      EXPECT_TRUE(errno == ENOMEM || errno == EINVAL) << errno;
      void* block = nullptr;
      EXPECT_NE(FAMILY(posix_memalign)(&block, opaque(alignment), opaque(size)), 0);
    }
  }
  errno = 0;
  EXPECT_EQ(FAMILY(memalign)(opaque(SIZE_MAX), 64), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST(Alignment, PageFunctionsGiveWholePages) {
  const std::size_t page = os_page_bytes();
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, page - 1, page, page + 1,
                                 5 * page - 8, std::size_t{1} << 20}) {
    void* by_valloc = FAMILY(valloc)(size);
    void* by_pvalloc = FAMILY(pvalloc)(size);
    ASSERT_NE(by_valloc, nullptr);
    ASSERT_NE(by_pvalloc, nullptr);
    EXPECT_TRUE(is_aligned(by_valloc, page)) << size;
    EXPECT_TRUE(is_aligned(by_pvalloc, page)) << size;
    EXPECT_GE(FAMILY(malloc_usable_size)(by_valloc), size);
    EXPECT_GE(FAMILY(malloc_usable_size)(by_pvalloc), (size + page - 1) / page * page);
    FAMILY(free)(by_valloc);
    FAMILY(free)(by_pvalloc);
  }
}

TEST(Alignment, AlignedBlocksGoBackThroughEveryFree) {
  for (int round = 0; round < 2000; ++round) {
    const std::size_t alignment = std::size_t{16} << (round % 12);
    const std::size_t size = static_cast<std::size_t>(round) * 3 + 1;
    void* sized = FAMILY(malloc)(size);
    void* aligned = FAMILY(aligned_alloc)(alignment, size);
    ASSERT_NE(sized, nullptr);
    ASSERT_NE(aligned, nullptr);
    FAMILY(free_sized)(sized, size);
    FAMILY(free_aligned_sized)(aligned, alignment, size);
  }
  FAMILY(free_sized)(nullptr, 10);
  FAMILY(free_aligned_sized)(nullptr, 64, 10);
}

}  // namespace
