// sources: heaps, pools and arenas over somebody's malloc table, and what the makers refuse.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tarn/arena/arena.h"
#include "tarn/heap/heap.h"
#include "tarn/heap/malloc_table.h"
#include "tarn/pool/pool.h"
#include "tarn/pool/region_array_pool.h"
#include "tarn/tree/tree.h"

namespace {

// A program's hooks: they count, and refuse the n-th request and all later ones (0: none).
struct Hooks {
  std::size_t live = 0;
  std::size_t calls = 0;
  std::size_t failing = 0;

  void* take(std::size_t bytes, std::size_t alignment) {
    if (++calls >= failing && failing != 0) return nullptr;
    ++live;
    return alignment == 0 ? std::malloc(bytes) : std::aligned_alloc(alignment, bytes);
  }

  static void* allocate(void* self, std::size_t bytes) {
    return static_cast<Hooks*>(self)->take(bytes, 0);
  }
  static void* allocate_aligned(void* self, std::size_t alignment, std::size_t bytes) {
    return static_cast<Hooks*>(self)->take(bytes, alignment);
  }
  static void deallocate(void* self, void* p) {
    if (p != nullptr) --static_cast<Hooks*>(self)->live;
    std::free(p);
  }

  tarn_malloc_table table(bool aligns) {
    tarn_malloc_table made = TARN_MALLOC_TABLE_FIELDS();
    made.allocate = allocate;
    made.allocate_aligned = aligns ? allocate_aligned : nullptr;
    made.deallocate = deallocate;
    made.context = this;
    return made;
  }
};

class TableSources : public testing::TestWithParam<bool> {
 protected:
  Hooks hooks;
  tarn_malloc_table table = hooks.table(GetParam());
  tarn_source source = tarn_malloc_table_source(&table);
};

TEST_P(TableSources, GiveAlignedChunks) {
  for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2) {
    const tarn_chunk chunk = source.acquire(source.context, 65536, alignment);
    ASSERT_NE(chunk.data, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(chunk.data) % alignment, 0u);
    EXPECT_GE(chunk.bytes, 65536u);
    std::memset(chunk.data, 1, chunk.bytes);
    source.release(source.context, chunk);
  }
  EXPECT_EQ(hooks.live, 0u);
  EXPECT_EQ(source.acquire(source.context, SIZE_MAX, 16).data, nullptr);
  EXPECT_EQ(source.acquire(source.context, 100, 3).data, nullptr);
  EXPECT_EQ(source.acquire(source.context, 100, SIZE_MAX / 2 + 1).data, nullptr);
  source.release(source.context, tarn_chunk{nullptr, 0});
}

TEST_P(TableSources, CarryHeapsPoolsAndArenas) {
  tarn_heap_options heap_options = TARN_HEAP_OPTIONS();
  heap_options.source = &source;
  const tarn_heap heap = tarn_heap_create(&heap_options);
  ASSERT_NE(heap.record, nullptr);
  tarn_pool_options pool_options = TARN_POOL_OPTIONS();
  pool_options.block_bytes = 48;
  pool_options.source = &source;
  tarn_pool pool;
  ASSERT_EQ(tarn_pool_init(&pool, &pool_options), 0);
  tarn_arena_options arena_options = TARN_ARENA_OPTIONS();
  arena_options.source = &source;
  tarn_arena arena;
  ASSERT_EQ(tarn_arena_init(&arena, &arena_options), 0);
  for (int i = 0; i < 1000; ++i) {
    void* const a = tarn_heap_allocate(heap, 3000);
    void* const b = tarn_pool_allocate(&pool);
    void* const c = tarn_arena_allocate(&arena, 500);
    ASSERT_TRUE(a != nullptr && b != nullptr && c != nullptr);
    std::memset(a, 1, 3000);
    std::memset(b, 2, 48);
    std::memset(c, 3, 500);
  }
  EXPECT_GE(hooks.live, 3u);
  tarn_heap_destroy(heap);
  tarn_pool_destroy(&pool);
  tarn_arena_destroy(&arena);
  EXPECT_EQ(hooks.live, 0u);
}

TEST_P(TableSources, PassRefusalsOn) {
  for (std::size_t n = 1; n <= 4; ++n) {
    hooks = Hooks{0, 0, n};
    tarn_arena_options options = TARN_ARENA_OPTIONS();
    options.source = &source;
    options.chunk_bytes = options.chunk_bytes_max = 4096;
    tarn_arena arena;
    ASSERT_EQ(tarn_arena_init(&arena, &options), 0);
    int refused = 0;
    for (int i = 0; i < 100; ++i) {
      errno = 0;
      if (tarn_arena_allocate(&arena, 400) != nullptr) continue;
      EXPECT_EQ(errno, ENOMEM);
      ++refused;
    }
    EXPECT_EQ(hooks.live, n - 1);
    EXPECT_TRUE(refused > 0 && refused <= 100 - 5 * static_cast<int>(n - 1)) << refused;
    tarn_arena_destroy(&arena);
    EXPECT_EQ(hooks.live, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(All, TableSources, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "aligned" : "plain");
});

TEST(TableSourcesRefuse, WhatIsNoTable) {
  Hooks hooks;
  EXPECT_EQ(tarn_malloc_table_source(nullptr).acquire, nullptr);
  tarn_malloc_table table = hooks.table(true);
  table.bytes -= 8;
  EXPECT_EQ(tarn_malloc_table_source(&table).acquire, nullptr);
  table = hooks.table(true);
  table.allocate = nullptr;
  EXPECT_EQ(tarn_malloc_table_source(&table).acquire, nullptr);
  table = hooks.table(true);
  table.deallocate = nullptr;
  EXPECT_EQ(tarn_malloc_table_source(&table).acquire, nullptr);
}

TEST(MallocTables, RefuseNullAndSmallAlignments) {
  EXPECT_EQ(tarn_heap_malloc_table(nullptr).allocate, nullptr);
  EXPECT_EQ(tarn_pool_malloc_table(nullptr).allocate, nullptr);
  EXPECT_EQ(tarn_fixed_allocator_malloc_table(nullptr).allocate, nullptr);
  EXPECT_EQ(tarn_object_cache_malloc_table(nullptr).allocate, nullptr);
  EXPECT_EQ(tarn_array_pool_malloc_table(nullptr).allocate, nullptr);
  EXPECT_EQ(tarn_shared_array_pool_malloc_table(nullptr).allocate, nullptr);
  EXPECT_EQ(tarn_arena_malloc_table(nullptr).allocate, nullptr);
  EXPECT_EQ(tarn_shared_arena_malloc_table(nullptr).allocate, nullptr);
  tarn_pool_options options = TARN_POOL_OPTIONS();
  options.block_bytes = 24;  // Aligned to 8.
  tarn_pool pool;
  ASSERT_EQ(tarn_pool_init(&pool, &options), 0);
  EXPECT_EQ(tarn_pool_malloc_table(&pool).allocate, nullptr);
  tarn_pool_destroy(&pool);
}

// What a heap's table gives is the heap's: it counts there, keeps its ceiling, and ends with it.
TEST(MallocTables, OfAHeapAreTheHeap) {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.ceiling_bytes = 1 << 20;
  tarn_heap heap = tarn_heap_create(&options);
  const tarn_malloc_table table = tarn_heap_malloc_table(&heap);
  void* const p = table.allocate(table.context, 1000);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(tarn_heap_of(p).id, heap.id);
  errno = 0;
  EXPECT_EQ(table.allocate(table.context, 2 << 20), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  tarn_heap_stats stats = TARN_HEAP_STATS();
  ASSERT_EQ(tarn_heap_get_stats(heap, &stats), 0);
  EXPECT_EQ(stats.live_blocks, 1u);
  EXPECT_EQ(stats.live_bytes, table.usable_size(table.context, p));
  EXPECT_EQ(tarn_heap_destroy(heap), 0);
}

TEST(MallocTables, OfANodeMakeChildren) {
  void* const node = tarn_tree_allocate(nullptr, 1);
  const tarn_malloc_table table = tarn_tree_malloc_table(node);
  void* const p = table.allocate(table.context, 10);
  void* const q = table.allocate_aligned(table.context, 256, 10);
  EXPECT_EQ(tarn_tree_parent(p), node);
  EXPECT_EQ(tarn_tree_parent(q), node);
  EXPECT_EQ(tarn_tree_parent(table.reallocate(table.context, q, 5000)), node);
  tarn_tree_dispose(node);
}

}  // namespace
