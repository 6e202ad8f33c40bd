// subjects_c: the makers of tarn/heap/malloc_table.h.
//
// SPDX-License-Identifier: MIT
#include <cstdlib>

#include "subjects.hpp"
#include "tarn/arena/shared_arena.h"
#include "tarn/pool/fixed_allocator.h"
#include "tarn/pool/object_cache.h"
#include "tarn/pool/region_array_pool.h"
#include "tarn/pool/shared_array_pool.h"
#include "tarn/pool/xalloc.h"
#include "tarn/tree/tree.h"

namespace tables {

namespace {

long long live_in(const tarn_heap& heap) {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  return tarn_heap_get_stats(heap, &stats) == 0 ? static_cast<long long>(stats.live_blocks) : -2;
}
long long live_in(const tarn_pool& pool) {
  tarn_pool_stats stats = TARN_POOL_STATS();
  return tarn_pool_get_stats(&pool, &stats) == 0 ? static_cast<long long>(stats.live_blocks) : -2;
}
long long live_below(const void* node) {
  tarn_tree_stats stats = TARN_TREE_STATS();
  return tarn_tree_get_stats(node, &stats) == 0 ? static_cast<long long>(stats.nodes) - 1 : -2;
}

struct Default : Subject {
  Default() { table = tarn_malloc_table_default(); }
};

struct Heap : Subject {
  explicit Heap(int mode) {
    tarn_heap_options options = TARN_HEAP_OPTIONS();
    options.mode = mode;
    heap = tarn_heap_create(&options);
    table = tarn_heap_malloc_table(&heap);
  }
  ~Heap() override { tarn_heap_destroy(heap); }
  long long live() const override { return live_in(heap); }
  bool is_sound() const override { return tarn_heap_check(heap) == 1; }
  tarn_heap heap;
};

// One that is full now and then.
struct HeapWithCeiling : Heap {
  HeapWithCeiling() : Heap(TARN_MODE_FAST) {}
  bool refuse(bool is_refused) override {
    return tarn_heap_set_ceiling(heap, is_refused ? 1 : 0) == 0;
  }
};

struct HeapOverSource : OverSource {
  explicit HeapOverSource(std::size_t n) : OverSource(n) {
    tarn_heap_options options = TARN_HEAP_OPTIONS();
    failing.source.chunk_bytes = 65536;
    options.source = &failing.source;
    heap = tarn_heap_create(&options);
    if (heap.record != nullptr) table = tarn_heap_malloc_table(&heap);
  }
  ~HeapOverSource() override { tarn_heap_destroy(heap); }
  long long live() const override { return live_in(heap); }
  bool is_sound() const override { return tarn_heap_check(heap) == 1; }
  tarn_heap heap;
};

struct Pool : OverSource {
  explicit Pool(std::size_t n) : OverSource(n) {
    tarn_pool_options options = TARN_POOL_OPTIONS();
    options.block_bytes = 208;
    options.chunk_bytes = 4096;
    options.source = &failing.source;
    tarn_pool_init(&pool, &options);
    table = tarn_pool_malloc_table(&pool);
    bytes_max = 208;
    alignment_max = 16;
  }
  ~Pool() override { tarn_pool_destroy(&pool); }
  long long live() const override { return live_in(pool); }
  bool is_sound() const override { return tarn_pool_check(&pool) == 1; }
  tarn_pool pool;
};

struct FixedAllocator : OverSource {
  explicit FixedAllocator(std::size_t n) : OverSource(n) {
    tarn_fixed_allocator_options options = TARN_FIXED_ALLOCATOR_OPTIONS();
    options.block_bytes = 100;
    options.alignment = 64;
    options.source = &failing.source;
    tarn_fixed_allocator_init(&blocks_, &options);
    table = tarn_fixed_allocator_malloc_table(&blocks_);
    bytes_max = 100;
    alignment_max = 64;
  }
  ~FixedAllocator() override { tarn_fixed_allocator_destroy(&blocks_); }
  bool is_sound() const override { return tarn_fixed_allocator_check(&blocks_) == 1; }
  tarn_fixed_allocator blocks_;
};

struct ObjectCache : OverSource {
  explicit ObjectCache(std::size_t n) : OverSource(n) {
    tarn_object_cache_options options = TARN_OBJECT_CACHE_OPTIONS();
    options.objects = TARN_POOL_OPTIONS();
    options.objects.block_bytes = 300;
    options.objects.chunk_bytes = 4096;
    options.objects.source = &failing.source;
    tarn_object_cache_init(&cache, &options);
    table = tarn_object_cache_malloc_table(&cache);
    bytes_max = 300;
    alignment_max = 16;
  }
  ~ObjectCache() override { tarn_object_cache_destroy(&cache); }
  long long live() const override { return live_in(cache.pool); }
  tarn_object_cache cache;
};

struct Arena : OverSource {
  explicit Arena(std::size_t n) : OverSource(n) {
    tarn_arena_options options = TARN_ARENA_OPTIONS();
    options.source = &failing.source;
    tarn_arena_init(&arena, &options);
    table = tarn_arena_malloc_table(&arena);
    frees = false;
  }
  ~Arena() override { tarn_arena_destroy(&arena); }
  bool is_sound() const override { return tarn_arena_check(&arena) == 1; }
  tarn_arena arena;
};

struct SharedArena : OverSource {
  explicit SharedArena(std::size_t n) : OverSource(n) {
    tarn_arena_options options = TARN_ARENA_OPTIONS();
    options.source = &failing.source;
    tarn_shared_arena_init(&shared, &options);
    table = tarn_shared_arena_malloc_table(&shared);
    frees = false;
  }
  ~SharedArena() override { tarn_shared_arena_destroy(&shared); }
  tarn_shared_arena shared;
};

struct Tree : Subject {
  Tree() {
    node = tarn_tree_allocate(nullptr, 8);
    table = tarn_tree_malloc_table(node);
  }
  ~Tree() override { tarn_tree_dispose(node); }
  long long live() const override { return live_below(node); }
  bool is_sound() const override { return tarn_tree_check(node) == 1; }
  void* node;
};

struct TreeOverSource : OverSource {
  explicit TreeOverSource(std::size_t n) : OverSource(n) {
    tarn_heap_options options = TARN_HEAP_OPTIONS();
    failing.source.chunk_bytes = 65536;
    options.source = &failing.source;
    node = tarn_tree_allocate_with_heap(nullptr, 8, &options);
    if (node != nullptr) table = tarn_tree_malloc_table(node);
  }
  ~TreeOverSource() override { tarn_tree_dispose(node); }
  long long live() const override { return live_below(node); }
  bool is_sound() const override { return tarn_tree_check(node) == 1; }
  void* node;
};

struct ArrayPool : Subject {
  ArrayPool() {
    bookkeeping.resize(tarn_array_pool_bytes(200, 208, TARN_ARRAY_EXACT));
    blocks_ = std::aligned_alloc(16, 200 * 208);
    const auto format =
        tarn_array_pool_format(bookkeeping.data(), bookkeeping.size(), 200, 208, TARN_ARRAY_EXACT);
    const auto attach =
        tarn_array_pool_attach(&pool, bookkeeping.data(), bookkeeping.size(), blocks_, 200 * 208);
    if (format == TARN_ARRAY_OK && attach == TARN_ARRAY_OK) {
      table = tarn_array_pool_malloc_table(&pool);
    }
    bytes_max = 208;
    alignment_max = 16;
  }
  ~ArrayPool() override { std::free(blocks_); }
  bool is_sound() const override { return tarn_array_pool_check(&pool) == 1; }
  std::vector<unsigned char> bookkeeping;
  void* blocks_;
  tarn_array_pool pool;
};

struct SharedArrayPool : Subject {
  SharedArrayPool() {
    const std::size_t bytes = tarn_shared_array_pool_bytes(2000, 208, 4);
    bookkeeping = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    blocks_ = std::aligned_alloc(16, 2000 * 208);
    const auto format = tarn_shared_array_pool_format(bookkeeping, bytes, 2000, 208, 4, 0);
    const auto attach =
        tarn_shared_array_pool_attach(&pool, bookkeeping, bytes, blocks_, 2000 * 208, 1);
    if (format == TARN_ARRAY_OK && attach == TARN_ARRAY_OK) {
      table = tarn_shared_array_pool_malloc_table(&pool);
    }
    bytes_max = 208;
    alignment_max = 16;
  }
  ~SharedArrayPool() override {
    tarn_shared_array_pool_leave(&pool);
    std::free(blocks_);
    std::free(bookkeeping);
  }
  bool is_sound() const override { return tarn_shared_array_pool_check(&pool) == 1; }
  void* bookkeeping;
  void* blocks_;
  tarn_shared_array_pool pool;
};

struct Xalloc : Subject {
  Xalloc() { table = tarn_xalloc_malloc_table(); }
  ~Xalloc() override { tarn_xalloc_destroy(); }
  long long live() const override {
    tarn_xalloc_class_stats stats = TARN_XALLOC_CLASS_STATS();
    long long sum = 0;
    for (std::size_t i = 0; tarn_xalloc_get_class_stats(i, &stats) == 0; ++i) {
      sum += static_cast<long long>(stats.in_use);
    }
    return sum;
  }
};

template <class S, int... argument>
std::unique_ptr<Subject> make() {
  return std::make_unique<S>(argument...);
}
template <class S>
std::unique_ptr<Subject> make_failing(std::size_t n) {
  return std::make_unique<S>(n);
}

}  // namespace

std::vector<Kind> kinds_in_c() {
  return {{"default", make<Default>, true},
          {"heap", make<Heap, TARN_MODE_FAST>, true, make_failing<HeapOverSource>},
          {"checked_heap", make<Heap, TARN_MODE_CHECKED>, true},
          {"heap_with_ceiling", make<HeapWithCeiling>, true},
          {"passthrough_heap", make<Heap, TARN_MODE_PASSTHROUGH>, true},
          {"pool", make<Pool, 0>, false, make_failing<Pool>},
          {"fixed_allocator", make<FixedAllocator, 0>, false, make_failing<FixedAllocator>},
          {"object_cache", make<ObjectCache, 0>, false, make_failing<ObjectCache>},
          {"arena", make<Arena, 0>, false, make_failing<Arena>},
          {"shared_arena", make<SharedArena, 0>, true, make_failing<SharedArena>},
          {"tree", make<Tree>, false, make_failing<TreeOverSource>},
          {"xalloc", make<Xalloc>, true},
          {"array_pool", make<ArrayPool>},
          {"shared_array_pool", make<SharedArrayPool>, true}};
}

}  // namespace tables
