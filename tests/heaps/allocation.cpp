// Allocation in a heap: every size, alignment, zeroing, and what cannot be had.
//
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "heap.hpp"

namespace heaps {
namespace {

class Allocation : public EachMode {
 protected:
  // Null with this error, and nothing has changed.
  void expect_refused(void* p, int error) {
    EXPECT_EQ(p, nullptr);
    EXPECT_EQ(errno, error);
    const tarn_heap_stats now = stats_of(heap_);
    EXPECT_EQ(now.live_blocks, 0u);
    EXPECT_EQ(now.committed_bytes, 0u);
    EXPECT_EQ(now.committed_bytes_peak, 0u);
    errno = 0;
  }
  Heap heap_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Modes, Allocation, every_mode);

std::vector<std::size_t> sizes() {
  std::vector<std::size_t> all;
  for (std::size_t bytes = 0; bytes <= 1100; ++bytes) all.push_back(bytes);
  for (std::size_t bytes = 1100; bytes < mib; bytes += bytes / 7) {
    all.push_back(bytes);
  }
  for (const std::size_t at : {2u * kib, 4u * kib, 64u * kib, 128u * kib, 1024u * kib}) {
    all.insert(all.end(), {at - 1, at, at + 1});
  }
  return all;
}

struct Block {
  void* p;
  std::size_t bytes;
};

void expect_apart(std::vector<Block> blocks) {
  std::sort(blocks.begin(), blocks.end(), [](Block a, Block b) { return a.p < b.p; });
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    ASSERT_LE(static_cast<char*>(blocks[i - 1].p) + usable(blocks[i - 1].p), blocks[i].p);
  }
}

TEST_P(Allocation, EachSizeHasItsBytesToItself) {
  std::vector<Block> blocks;
  unsigned seed = 0;
  for (const std::size_t bytes : sizes()) {
    void* const p = tarn_heap_allocate(heap_, bytes);
    ASSERT_NE(p, nullptr) << bytes;
    EXPECT_EQ(misaligned(p, 16), 0u) << bytes;
    ASSERT_GE(usable(p), bytes);
    EXPECT_EQ(tarn_heap_owns(heap_, p), 1) << bytes;
    fill(p, usable(p), ++seed);
    blocks.push_back({p, bytes});
  }
  expect_apart(blocks);
  EXPECT_EQ(stats_of(heap_).live_blocks, blocks.size());
  seed = 0;
  for (const Block& block : blocks) {
    EXPECT_TRUE(is_filled(block.p, usable(block.p), ++seed)) << block.bytes;
    tarn_heap_deallocate(block.p);
  }
  expect_empty(heap_);
}

TEST_P(Allocation, TheFirstBlocksOfAHeapAreOfAnySize) {
  for (const std::size_t bytes : sizes()) {
    const Heap heap(GetParam());
    void* const p = tarn_heap_allocate(heap, bytes);
    ASSERT_NE(p, nullptr);
    ASSERT_GE(usable(p), bytes);
    std::memset(p, 0x5a, usable(p));
    EXPECT_EQ(stats_of(heap).live_blocks, 1u) << bytes;
    EXPECT_EQ(stats_of(heap).live_bytes, usable(p)) << bytes;
  }
}

TEST_P(Allocation, BlocksOfNoBytesDiffer) {
  for (int grown_up = 0; grown_up < 2; ++grown_up) {
    void* const a = tarn_heap_allocate(heap_, 0);
    void* const b = tarn_heap_allocate_zeroed(heap_, 0, 5);
    void* const c = tarn_heap_allocate_zeroed(heap_, opaque(SIZE_MAX), 0);
    void* const d = tarn_heap_allocate_aligned(heap_, 64, 0);
    ASSERT_TRUE(a != nullptr && b != nullptr && c != nullptr && d != nullptr);
    EXPECT_TRUE(a != b && a != c && b != c && a != d && b != d && c != d);
    for (void* const p : {a, b, c, d}) tarn_heap_deallocate(p);
    make_grown_up(heap_);
  }
}

TEST_P(Allocation, MoreThanCanBe) {
  errno = 0;
  for (const std::size_t bytes :
       {SIZE_MAX, SIZE_MAX - 4095, std::size_t{PTRDIFF_MAX} + 1, std::size_t{PTRDIFF_MAX}}) {
    expect_refused(tarn_heap_allocate(heap_, opaque(bytes)), ENOMEM);
    expect_refused(tarn_heap_allocate_zeroed(heap_, 1, opaque(bytes)), ENOMEM);
    expect_refused(tarn_heap_allocate_zeroed(heap_, opaque(bytes), 1), ENOMEM);
    expect_refused(tarn_heap_allocate_aligned(heap_, 64, opaque(bytes)), ENOMEM);
    expect_refused(tarn_heap_allocate_aligned(heap_, mib, opaque(bytes)), ENOMEM);
    expect_refused(tarn_heap_reallocate(heap_, nullptr, opaque(bytes)), ENOMEM);
  }
}

TEST_P(Allocation, ProductsThatOverflow) {
  errno = 0;
  constexpr std::size_t half = SIZE_MAX / 2 + 1;
  expect_refused(tarn_heap_allocate_zeroed(heap_, opaque(half), 2), ENOMEM);
  expect_refused(tarn_heap_allocate_zeroed(heap_, 2, opaque(half)), ENOMEM);
  expect_refused(tarn_heap_allocate_zeroed(heap_, opaque(SIZE_MAX), opaque(SIZE_MAX)), ENOMEM);
  // The low bits of the product would be small.
  expect_refused(tarn_heap_allocate_zeroed(heap_, opaque(SIZE_MAX / 16 + 2), 16), ENOMEM);
}

TEST_P(Allocation, AlignmentsThatAreNone) {
  errno = 0;
  for (const std::size_t alignment : {0u, 3u, 24u, 48u, 4095u, 4097u}) {
    expect_refused(tarn_heap_allocate_aligned(heap_, opaque(alignment), 8), EINVAL);
  }
  expect_refused(tarn_heap_allocate_aligned(heap_, opaque(SIZE_MAX), 8), EINVAL);
  expect_refused(tarn_heap_allocate_aligned(heap_, opaque(SIZE_MAX / 2 + 1), 8), ENOMEM);
}

TEST_P(Allocation, Alignments) {
  for (int grown_up = 0; grown_up < 2; ++grown_up) {
    for (std::size_t alignment = 1; alignment <= mib; alignment *= 2) {
      std::vector<void*> blocks;
      for (const std::size_t bytes : {0u, 1u, 17u, 100u, 1000u, 1024u, 3000u, 130'000u, 200'000u}) {
        void* const p = tarn_heap_allocate_aligned(heap_, alignment, bytes);
        ASSERT_NE(p, nullptr) << alignment << ' ' << bytes;
        EXPECT_EQ(misaligned(p, alignment < 16 ? 16 : alignment), 0u) << alignment << ' ' << bytes;
        EXPECT_GE(usable(p), bytes);
        EXPECT_TRUE(same(tarn_heap_of(p), heap_)) << alignment << ' ' << bytes;
        fill(p, bytes, static_cast<unsigned>(bytes));
        blocks.push_back(p);
      }
      for (void* const p : blocks) tarn_heap_deallocate(p);
      if (grown_up != 0) continue;
      ASSERT_EQ(tarn_heap_clear(heap_), 0);
    }
    make_grown_up(heap_);
  }
  expect_empty(heap_);
}

TEST_P(Allocation, ZeroedAlsoFromMemoryThatWasUsed) {
  for (const std::size_t bytes :
       {1u, 16u, 100u, 1000u, 1024u, 5000u, 128u * 1024u, 130u * 1024u, 1u << 20u}) {
    const Heap heap(GetParam());
    for (int again = 0; again < 4; ++again) {
      std::vector<void*> blocks;
      for (int i = 0; i < 5; ++i) {
        void* const p = tarn_heap_allocate_zeroed(heap, 1, static_cast<std::size_t>(bytes));
        ASSERT_NE(p, nullptr);
        ASSERT_GE(usable(p), static_cast<std::size_t>(bytes));
        ASSERT_TRUE(is_zero(p, usable(p))) << bytes << ' ' << again;
        std::memset(p, 0xff, usable(p));
        blocks.push_back(p);
      }
      if (again == 1) {
        ASSERT_EQ(tarn_heap_clear(heap), 0);
      } else {
        for (void* const p : blocks) tarn_heap_deallocate(p);
      }
    }
  }
}

TEST_P(Allocation, ZeroedArrays) {
  auto* const p = static_cast<unsigned char*>(tarn_heap_allocate_zeroed(heap_, 37, 41));
  ASSERT_NE(p, nullptr);
  EXPECT_GE(usable(p), 37u * 41u);
  EXPECT_TRUE(is_zero(p, usable(p)));
}

}  // namespace
}  // namespace heaps
