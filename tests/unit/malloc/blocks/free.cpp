// free of what is not in the calling thread's own pages: each kind of block goes where it came
// from.
//
// SPDX-License-Identifier: MIT
#include "malloc/blocks/free.hpp"

#include <cstring>
#include <vector>

#include "actor.hpp"
#include "engine/threads/gathering.hpp"
#include "heaps/blocks/allocate.hpp"
#include "heaps/operations/life.hpp"
#include "platform/os/system_malloc.hpp"

namespace tarn {
namespace {

class FreeTest : public testing::Test {
 protected:
  ~FreeTest() override {
    trim(0);
    EXPECT_TRUE(store.check());
  }
  static tarn_heap make(const tarn_heap_options& options) {
    const tarn_heap heap = heap_create(&options);
    EXPECT_NE(heap.record, nullptr);
    return heap;
  }
  static HeapRecord& record_at(tarn_heap heap) { return *static_cast<HeapRecord*>(heap.record); }
  static Page* page_of(const void* p) { return static_cast<Page*>(page_map.span_of(p)); }
};
using FreeDeathTest = FreeTest;

TEST_F(FreeTest, OfNullDoesNothing) {
  deallocate(nullptr);
  deallocate_sized(nullptr, 0);
  deallocate_sized(nullptr, SIZE_MAX);
}

TEST_F(FreeTest, OfALargeBlockGivesItsSpanBack) {
  const std::size_t before = store.totals().committed_bytes;
  void* const p = allocate(3 << 20);
  ASSERT_EQ(page_of(p)->kind_now(), SpanKind::large);
  EXPECT_GE(store.totals().committed_bytes, before + (3 << 20));
  deallocate(p);
  trim(0);
  EXPECT_LE(store.totals().committed_bytes, before);
  EXPECT_NE(page_of(p)->kind_now(), SpanKind::large);
}

TEST_F(FreeTest, OfAnotherThreadsBlockWaitsForItsOwner) {
  Actor owner;
  void* const p = owner.allocate(100);
  Page* const page = page_of(p);
  const std::uint32_t pending = pending_of(page);
  deallocate(p);
  give_gathered(*current_thread);
  EXPECT_EQ(pending_of(page), pending + 1);
  owner.end();
}

TEST_F(FreeTest, OfAMixedFirstPageIsCountedAtOnce) {
  const tarn_heap heap = make(TARN_HEAP_OPTIONS());
  void* const p = heap_allocate(heap, 100, "test");
  void* const q = heap_allocate(heap, 100, "test");
  ASSERT_EQ(page_of(p)->kind_now(), SpanKind::mixed);
  EXPECT_EQ(record_at(heap).mixed.live_blocks(), 2u);
  deallocate(p);
  EXPECT_EQ(record_at(heap).mixed.live_blocks(), 1u);
  EXPECT_EQ(heap_allocate(heap, 100, "test"), p) << "its place is used again";
  deallocate(p);
  deallocate(q);
  EXPECT_TRUE(record_at(heap).mixed.empty());
  EXPECT_TRUE(heap_clear(heap, true, "test"));
}

TEST_F(FreeTest, OfASerialisedHeapIsUnderItsLock) {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.threads = TARN_HEAP_SERIALISED;
  const tarn_heap heap = make(options);
  record_at(heap).young = false;
  Actor actor;
  std::vector<void*> blocks;
  for (int i = 0; i < 300; ++i) blocks.push_back(heap_allocate(heap, 2'000, "test"));
  ASSERT_EQ(page_of(blocks[0])->owner.load(), &locked_owner);
  const std::size_t committed = record_at(heap).limits.committed;
  for (std::size_t i = 0; i < blocks.size(); i += 2) deallocate(blocks[i]);
  actor.run([&] {
    for (std::size_t i = 1; i < blocks.size(); i += 2) deallocate(blocks[i]);
  });
  EXPECT_LT(record_at(heap).limits.committed, committed) << "empty pages went";
  EXPECT_FALSE(record_at(heap).lock.is_held());
  actor.end();
  EXPECT_TRUE(heap_clear(heap, true, "test"));
}

TEST_F(FreeTest, OfASecretHeapWipesTheBlock) {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.threads = TARN_HEAP_SERIALISED;
  options.flags = TARN_HEAP_SECRET;
  const tarn_heap heap = make(options);
  record_at(heap).young = false;
  auto* const p = static_cast<unsigned char*>(heap_allocate(heap, 200, "test"));
  void* const other = heap_allocate(heap, 200, "test");  // The page stays.
  std::memset(p, 0xA5, 200);
  deallocate(p);
  for (std::size_t i = sizeof(void*); i < 200; ++i) ASSERT_EQ(p[i], 0) << i;
  deallocate(other);
  EXPECT_TRUE(heap_clear(heap, true, "test"));
}

// The last block of a heap that was deleted takes what is left of it along.
TEST_F(FreeTest, OfTheLastBlockOfADeletedHeap) {
  for (const int threads : {TARN_HEAP_SHARED, TARN_HEAP_SERIALISED}) {
    trim(0);
    const std::size_t before = store.totals().committed_bytes;
    tarn_heap_options options = TARN_HEAP_OPTIONS();
    options.threads = threads;
    const tarn_heap heap = make(options);
    record_at(heap).young = false;
    std::vector<void*> blocks;
    for (int i = 0; i < 100; ++i) blocks.push_back(heap_allocate(heap, 1'000, "test"));
    blocks.push_back(heap_allocate(heap, 1 << 20, "test"));
    ASSERT_TRUE(heap_delete(heap));
    for (void* const p : blocks) {
      std::memset(p, 1, 1'000);
      deallocate(p);
    }
    trim(0);
    EXPECT_LE(store.totals().committed_bytes, before) << threads;
  }
}

TEST_F(FreeTest, OfAPassedOnBlockGoesToTheSystemsMalloc) {
  if (!system_malloc_known()) GTEST_SKIP() << "it is not known here";
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.mode = TARN_MODE_PASSTHROUGH;
  const tarn_heap heap = make(options);
  void* const p = heap_allocate(heap, 100, "test");
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(page_of(p)->kind_now(), SpanKind::idle);
  deallocate(p);
  EXPECT_TRUE(heap_clear(heap, true, "test"));
}

TEST_F(FreeDeathTest, AgainIsReportedOfEachKind) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto twice = [](void* p) {
    deallocate(p);
    deallocate(p);
  };
  EXPECT_DEATH(twice(allocate(3 << 20)), "free");
  const tarn_heap heap = make(TARN_HEAP_OPTIONS());
  void* const mixed = heap_allocate(heap, 100, "test");
  EXPECT_DEATH(twice(mixed), "double free|invalid");
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.mode = TARN_MODE_CHECKED;
  const tarn_heap checked = make(options);
  void* const p = heap_allocate(checked, 100, "test");
  EXPECT_DEATH(twice(p), "double free");
  EXPECT_DEATH(deallocate_sized(p, 99), "size");
  deallocate_sized(p, 100);
  EXPECT_TRUE(heap_clear(heap, true, "test"));
  EXPECT_TRUE(heap_clear(checked, true, "test"));
}

TEST_F(FreeDeathTest, WhatIsNoBlockIsReported) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  int on_the_stack = 0;
  EXPECT_DEATH(deallocate(&on_the_stack), "free");
  auto* const large = static_cast<std::byte*>(allocate(3 << 20));
  EXPECT_DEATH(deallocate(large + 64), "free");
  deallocate(large);
}

}  // namespace
}  // namespace tarn
