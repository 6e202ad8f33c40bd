// What pointers and handles are asked: whose block, which heap, what name; the zero handle; the
// heap of malloc.
//
// SPDX-License-Identifier: MIT
#include <sys/mman.h>

#include "heap.hpp"

namespace heaps {
namespace {

class Handles : public EachMode {
 protected:
  void expect_owner(const void* p, tarn_heap owner) {
    EXPECT_TRUE(same(tarn_heap_of(p), owner));
    for (const tarn_heap heap : {heap_.handle(), other_.handle(), tarn_heap_main()}) {
      EXPECT_EQ(tarn_heap_owns(heap, p), same(heap, owner) ? 1 : 0);
    }
  }
  void expect_owner_of_start_alone(const void* p, std::initializer_list<std::size_t> inside) {
    expect_owner(p, heap_);
    for (const std::size_t offset : inside) {
      const void* const q = static_cast<const char*>(p) + offset;
      EXPECT_TRUE(is_none(tarn_heap_of(q))) << offset;
      EXPECT_EQ(tarn_heap_owns(heap_, q), 0) << offset;
    }
  }
  Heap heap_{GetParam()};
  Heap other_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Modes, Handles, every_mode);

TEST(Contexts, TheContextOfABlocksHeap) {
  int of_one = 0;
  const tarn::Heap one({.name = "one", .context = &of_one});
  const tarn::Heap other({.name = "other"});
  EXPECT_EQ(one.context(), &of_one);
  EXPECT_EQ(other.context(), nullptr);
  void* const p = one.allocate(100);
  EXPECT_EQ(tarn_heap_context(tarn_heap_of(p)), &of_one);
  EXPECT_EQ(tarn_heap_context(tarn_heap_main()), nullptr);
  errno = 0;
  EXPECT_EQ(tarn_heap_context(tarn_heap{}), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_P(Handles, BlocksOfTheMixedPage) {
  void* const p = tarn_heap_allocate(heap_, 100);
  expect_owner_of_start_alone(p, {1, 8, 16, 96, 111});
  void* const before = tarn_heap_allocate(other_, 100);
  expect_owner(before, other_);
  tarn_heap_deallocate(p);
  expect_owner(p, tarn_heap{});
  ASSERT_EQ(tarn_heap_clear(other_), 0);
  expect_owner(before, tarn_heap{});
}

TEST_P(Handles, BlocksOfPages) {
  make_grown_up(heap_);
  make_grown_up(other_);
  for (const std::size_t bytes : {48u, 1024u, 5'000u, 128u * 1024}) {
    void* const p = tarn_heap_allocate(heap_, bytes);
    expect_owner_of_start_alone(p, {1, 8, 16, 32, bytes - 1});
    expect_owner(tarn_heap_allocate(other_, bytes), other_);
  }
}

TEST_P(Handles, LargeBlocks) {
  void* const p = tarn_heap_allocate(heap_, mib);
  expect_owner_of_start_alone(p, {1, 16, slice, 2 * slice, mib - slice, mib - 1});
  void* const q = tarn_heap_allocate_aligned(heap_, mib, 10);
  expect_owner_of_start_alone(q, {1, 16, slice - 1});
  tarn_heap_deallocate(p);
  expect_owner(p, tarn_heap{});
}

TEST_P(Handles, NothingIsLeftOfTheBlocksOfHeapsThatEnded) {
  std::vector<void*> blocks;
  {
    const Heap ended(GetParam());
    blocks.push_back(tarn_heap_allocate(ended, 100));
    blocks.push_back(tarn_heap_allocate(ended, 5'000));
    blocks.push_back(tarn_heap_allocate(ended, 100));
    blocks.push_back(tarn_heap_allocate(ended, mib));
  }
  for (const void* p : blocks) expect_owner(p, tarn_heap{});
}

TEST_P(Handles, WhatIsNoBlock) {
  static int object = 0;
  int local = 0;
  void* const mapping =
      ::mmap(nullptr, slice, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapping, MAP_FAILED);
  const void* const low = reinterpret_cast<const void*>(std::uintptr_t{8});
  for (const void* p : {static_cast<const void*>(nullptr), static_cast<const void*>(&object),
                        static_cast<const void*>(&local), static_cast<const void*>(mapping), low}) {
    expect_owner(p, tarn_heap{});
  }
  ::munmap(mapping, slice);
}

TEST_P(Handles, BlocksOfMalloc) {
  for (const std::size_t bytes : {0u, 10u, 5'000u, 1u << 20}) {
    void* const p = tarn_malloc(bytes);
    expect_owner(p, tarn_heap_main());
    EXPECT_TRUE(is_none(tarn_heap_of(static_cast<char*>(p) + 1)));
    tarn_free(p);
  }
}

TEST(MainHeap, ServesAndNeverEnds) {
  const tarn_heap heap = tarn_heap_main();
  EXPECT_FALSE(is_none(heap));
  EXPECT_TRUE(same(heap, tarn_heap_main()));
  errno = 0;
  EXPECT_EQ(tarn_heap_destroy(heap), -1);
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_EQ(tarn_heap_clear(heap), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_STREQ(tarn_heap_name(heap), "malloc");

  for (const std::size_t bytes : {0u, 7u, 1'500u, 1u << 18}) {
    void* const p = tarn_heap_allocate(heap, bytes);
    ASSERT_NE(p, nullptr);
    EXPECT_GE(usable(p), bytes);
    EXPECT_TRUE(same(tarn_heap_of(p), heap));
    std::memset(p, 0xff, bytes);
    tarn_free(p);
    void* const zeroed = tarn_heap_allocate_zeroed(heap, 1, bytes);
    EXPECT_TRUE(is_zero(zeroed, bytes));
    tarn_free(zeroed);
    void* const aligned = tarn_heap_allocate_aligned(heap, 8 * kib, bytes);
    EXPECT_EQ(misaligned(aligned, 8 * kib), 0u);
    tarn_heap_deallocate(aligned);
  }
}

TEST(MainHeap, HasStatistics) {
  const tarn_heap_stats before = stats_of(tarn_heap_main());
  void* const small = tarn_malloc(100);
  void* const large = tarn_malloc(mib);
  const tarn_heap_stats now = stats_of(tarn_heap_main());
  EXPECT_EQ(now.live_blocks, before.live_blocks + 2);
  EXPECT_EQ(now.live_bytes, before.live_bytes + usable(small) + usable(large));
  EXPECT_EQ(now.large_blocks, before.large_blocks + 1);
  EXPECT_GE(now.committed_bytes, before.committed_bytes + mib);
  // What is in heaps is not malloc's.
  const Heap heap;
  tarn_heap_deallocate(tarn_heap_allocate(heap, 5'000));
  ASSERT_NE(tarn_heap_allocate(heap, 100), nullptr);
  ASSERT_NE(tarn_heap_allocate(heap, mib), nullptr);
  const tarn_heap_stats then = stats_of(tarn_heap_main());
  EXPECT_EQ(then.live_blocks, now.live_blocks);
  EXPECT_EQ(then.live_bytes, now.live_bytes);
  EXPECT_EQ(then.committed_bytes, now.committed_bytes);
  EXPECT_EQ(then.large_blocks, now.large_blocks);
  tarn_free(small);
  tarn_free(large);
}

TEST(MainHeap, MayBeAParent) {
  tarn_heap_options wanted = options();
  wanted.parent = tarn_heap_main();
  const Heap child(wanted);
  void* const p = tarn_heap_allocate(child, 100);
  EXPECT_TRUE(same(tarn_heap_of(p), child));
}

// Runs the call, which must fail with EINVAL.
template <class Call>
void expect_invalid(Call call, const char* what) {
  errno = 0;
  EXPECT_TRUE(call()) << what;
  EXPECT_EQ(errno, EINVAL) << what;
}

TEST(ZeroHandle, IsNoHeap) {
  const tarn_heap none{};
  EXPECT_EQ(tarn_heap_destroy(none), 0);
  expect_invalid([&] { return tarn_heap_clear(none) == -1; }, "clear");
  expect_invalid([&] { return tarn_heap_allocate(none, 8) == nullptr; }, "allocate");
  expect_invalid([&] { return tarn_heap_allocate(none, 8'000) == nullptr; }, "allocate more");
  expect_invalid([&] { return tarn_heap_allocate_zeroed(none, 1, 8) == nullptr; }, "zeroed");
  expect_invalid([&] { return tarn_heap_allocate_aligned(none, 64, 8) == nullptr; }, "aligned");
  expect_invalid([&] { return tarn_heap_reallocate(none, nullptr, 8) == nullptr; }, "reallocate");
  tarn_heap_stats stats = TARN_HEAP_STATS();
  expect_invalid([&] { return tarn_heap_get_stats(none, &stats) == -1; }, "statistics");
  expect_invalid([&] { return tarn_heap_name(none)[0] == '\0'; }, "name");
  void* const p = tarn_malloc(10);
  fill(p, 10, 1);
  expect_invalid([&] { return tarn_heap_reallocate(none, p, 80) == nullptr; }, "move");
  EXPECT_TRUE(is_filled(p, 10, 1));
  EXPECT_EQ(tarn_heap_owns(none, p), 0);
  EXPECT_EQ(tarn_heap_owns(none, nullptr), 0);
  tarn_free(p);
}

}  // namespace
}  // namespace heaps
