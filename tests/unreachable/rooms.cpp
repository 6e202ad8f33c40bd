// What other rooms make of blocks: trees, whose links are no addresses; heaps whose memory lies in
// blocks; pools and arenas over a heap.
//
// SPDX-License-Identifier: MIT
#include "tarn/arena/arena.h"
#include "tarn/detail/watch.h"
#include "tarn/heap/heap_source.h"
#include "tarn/pool/pool.h"
#include "tarn/tree/tree.h"

#include <random>

#include "hidden.hpp"

namespace tarn {
namespace {

class UnreachableTrees : public CleanStack {};
class UnreachableHeaps : public CleanStack {};
class UnreachableRooms : public CleanStack {};

void* volatile root;

Hidden node_below(Hidden parent, std::size_t bytes, bool is_root = false) {
  return apart([=] {
    void* const p = tarn_tree_allocate(is_root ? nullptr : parent.get(), bytes);
    std::memset(p, 0, tarn_tree_size(p));
    return Hidden(p);
  });
}
void keep(Hidden p) {
  apart([=] { root = p.get(); });
}
void dispose(Hidden p) {
  apart([=] { tarn_tree_dispose(p.get()); });
}
void leave(Hidden p) {
  apart([=] { tarn_tree_unreference(nullptr, p.get()); });
}
void write(Hidden at, Hidden p, std::size_t offset = 0) {
  apart([=] { *at.get<void* volatile>() = p.get<char>() + offset; });
}
void erase(Hidden at) {
  apart([=] { *at.get<void* volatile>() = nullptr; });
}

// All that makes a node more than its links.
void extend(const Hidden* nodes, Hidden other) {
  apart([=] {
    tarn_tree_set_name(nodes[0].get(), "a name of its own, and long enough");
    tarn_tree_set_destructor(nodes[1].get(), [](void*) { return 0; });
    std::memset(tarn_tree_allocate_aligned(nodes[2].get(), 256, 500), 0, 500);
    tarn_tree_reference(nodes[0].get(), other.get());
  });
}

std::uint64_t lost_in_main() { return search_in({tarn_heap_main()}).blocks.size(); }

// A tree of so many nodes, of sizes that differ.
std::vector<Hidden> make_tree(std::size_t count, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<Hidden> nodes{node_below({}, 40, true)};
  for (std::size_t i = 1; i < count; ++i) {
    nodes.push_back(node_below(nodes[random() % i], random() % 300));
  }
  return nodes;
}

TEST_F(UnreachableTrees, ARootOrAnyNodeKeepsTheWholeTree) {
  const std::uint64_t before = lost_in_main();
  const std::vector<Hidden> nodes = make_tree(5000, 1);
  EXPECT_EQ(lost_in_main() - before, nodes.size());
  for (const std::size_t i : {0u, 1u, 17u, 2500u, 4999u}) {
    keep(nodes[i]);
    EXPECT_EQ(lost_in_main(), before) << "by node " << i;
  }
  root = nullptr;
  const SeenAll seen = search_in({tarn_heap_main()});
  EXPECT_EQ(seen.result.direct_blocks - before, 1u);  // A ring: all lead to all.
  dispose(nodes[0]);
  EXPECT_EQ(lost_in_main(), before);
}

TEST_F(UnreachableTrees, ShapesOfAllKinds) {
  const std::uint64_t before = lost_in_main();
  const Hidden alone = node_below({}, 8, true);
  keep(alone);
  EXPECT_EQ(lost_in_main(), before);
  const Hidden child = node_below(alone, 8);
  EXPECT_EQ(lost_in_main(), before);
  keep(child);
  EXPECT_EQ(lost_in_main(), before);
  const Hidden second = node_below(alone, 8), third = node_below(alone, 0);
  for (const Hidden p : {alone, child, second, third}) {
    keep(p);
    EXPECT_EQ(lost_in_main(), before);
  }
  root = nullptr;
  EXPECT_EQ(lost_in_main() - before, 4u);
  dispose(alone);
}

TEST_F(UnreachableTrees, NamesDestructorsAlignedNodesAndReferences) {
  const std::uint64_t before = lost_in_main();
  const std::vector<Hidden> nodes = make_tree(300, 2), others = make_tree(300, 3);
  for (std::size_t i = 0; i + 7 < 300; i += 7) extend(&nodes[i], others[i + 5]);
  EXPECT_GT(lost_in_main(), before + 600);
  for (const Hidden p : {nodes[0], nodes[150], others[0], others[299]}) {
    keep(p);
    EXPECT_EQ(lost_in_main(), before);
  }
  // What has other owners passes to them: it is below a reference then.
  keep(nodes[0]);
  leave(others[0]);
  EXPECT_EQ(lost_in_main(), before);
  root = nullptr;
  EXPECT_GT(lost_in_main(), before + 300);
  dispose(nodes[0]);
  EXPECT_EQ(lost_in_main(), before);
}

Hidden object_below(Hidden parent, std::size_t alignment, bool is_root = false) {
  return apart([=] {
    void* const p = tarn_tree_allocate_object(is_root ? nullptr : parent.get(), alignment, 100,
                                              [](void*) { return 0; });
    std::memset(p, 0, tarn_tree_size(p));
    return Hidden(p);
  });
}
void give_memory(Hidden node, bool arena) {
  const int result = apart([=] {
    return arena ? tarn_tree_give_arena(node.get(), nullptr)
                 : tarn_tree_give_heap(node.get(), nullptr);
  });
  EXPECT_EQ(result, 0);
}
void move_below(Hidden parent, Hidden node) {
  EXPECT_EQ(apart([=] { return tarn_tree_steal(parent.get(), node.get()); }), 0);
}

TEST_F(UnreachableTrees, ObjectsWhoseHeadersLieWithinTheirBlocks) {
  const std::uint64_t before = lost_in_main();
  const Hidden top = object_below({}, 16, true);
  std::vector<Hidden> nodes{top};
  for (std::size_t i = 1; i < 200; ++i) {
    const std::size_t alignment = std::size_t{16} << i % 9;
    nodes.push_back(object_below(nodes[i / 2], alignment));
  }
  for (const Hidden p : {nodes[0], nodes[7], nodes[199]}) {
    keep(p);
    EXPECT_EQ(lost_in_main(), before);
  }
  root = nullptr;
  EXPECT_EQ(lost_in_main(), before + 200);
  dispose(top);
  EXPECT_EQ(lost_in_main(), before);
}

TEST_F(UnreachableTrees, MemoryOfTheirOwnAndGuestsThere) {
  for (const bool arena : {false, true}) {
    if (arena && TARN_WATCH) continue;  // The search leaves chunks alone that a tool watches.
    const std::uint64_t before = lost_in_main();
    const Hidden top = node_below({}, 40, true);
    give_memory(top, arena);
    std::vector<Hidden> nodes{top};
    for (std::size_t i = 1; i < 500; ++i) nodes.push_back(node_below(nodes[i / 3], i % 200));
    // Of malloc's, known to nodes of the heap or the arena only.
    for (std::size_t i = 0; i < 20; ++i) {
      const Hidden guest = node_below({}, 50, true);
      node_below(guest, 10);
      move_below(nodes[20 * i + 7], guest);
    }
    EXPECT_GT(lost_in_main(), before + 40);
    for (const Hidden p : {nodes[0], nodes[450], nodes[7]}) {
      keep(p);
      EXPECT_EQ(lost_in_main(), before) << (arena ? "in an arena" : "in a heap");
    }
    root = nullptr;
    dispose(top);
    EXPECT_EQ(lost_in_main(), before);
  }
}

TEST_F(UnreachableTrees, WhatANodesBytesLeadTo) {
  const std::uint64_t before = lost_in_main();
  const Hidden top = node_below({}, 64, true), below = node_below(top, 64);
  const Hidden block = lose(tarn_heap_main(), 500);
  write(below, block);
  keep(top);
  EXPECT_EQ(lost_in_main(), before);
  erase(below);
  EXPECT_EQ(lost_in_main(), before + 1);
  root = nullptr;
  dispose(top);
  give(block);
}

void write_links(Hidden p, Hidden q) {
  apart([=] {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(q.get()) & 0x3'ffff'ffff;
    for (int word = 0; word < 4; ++word) {
      p.get<volatile std::uint32_t>()[word] = static_cast<std::uint32_t>(offset >> 2);
    }
  });
}

// Numbers that would be links, if what they lead to led back.
TEST_F(UnreachableTrees, NumbersAreNoLinks) {
  const Hidden p = lose(tarn_heap_main(), 32), q = lose(tarn_heap_main(), 96);
  write_links(p, q);
  keep(p);
  EXPECT_TRUE(search().has(q));
  root = nullptr;
  give(p);
  give(q);
}

tarn_heap make(void* region, std::size_t bytes, const tarn_source* source, unsigned flags = 0) {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.region = region;
  options.region_bytes = bytes;
  options.source = source;
  options.flags = flags;
  return tarn_heap_create(&options);
}

tarn_heap make_with(Hidden context) {
  return apart([=] {
    tarn_heap_options options = TARN_HEAP_OPTIONS();
    options.context = context.get();
    return tarn_heap_create(&options);
  });
}
tarn_heap make_in(Hidden region, std::size_t bytes) {
  return apart([=] { return make(region.get(), bytes, nullptr); });
}

void check_heap(tarn_heap heap) {
  std::vector<Hidden> blocks;
  for (std::size_t i = 0; i < 300; ++i) blocks.push_back(lose(heap, 16 + i * 7));
  EXPECT_EQ(search_in({heap}).blocks.size(), blocks.size());
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    write(blocks[i - 1], blocks[i], 5);
  }
  keep(blocks[0]);
  EXPECT_EQ(search_in({heap}).blocks.size(), 0u);
  erase(blocks[100]);
  EXPECT_EQ(search_in({heap}).blocks.size(), blocks.size() - 101);
  root = nullptr;
}

TEST_F(UnreachableHeaps, InARegionOfAnyKind) {
  {
    Pages pages(2 << 20);
    const tarn_heap heap = make(pages.get(), pages.bytes(), nullptr);
    check_heap(heap);
    destroy(heap);
  }
  alignas(4096) static char memory[1 << 20];
  const tarn_heap heap = make(memory, sizeof memory, nullptr);
  check_heap(heap);
  destroy(heap);
}

// The block is needed by a heap that lives; what it has of that heap's blocks is no root.
TEST_F(UnreachableHeaps, InBlocksOfAnotherHeap) {
  const tarn_heap outer = make(nullptr, 0, nullptr);
  {
    const Hidden region = lose(outer, 1 << 20);
    const tarn_heap heap = make_in(region, 1 << 20);
    check_heap(heap);
    EXPECT_EQ(search_in({outer}).blocks.size(), 0u);
    destroy(heap);
    EXPECT_EQ(search_in({outer}).blocks.size(), 1u);
    give(region);
  }
  const tarn_source source = tarn_heap_source(&outer);
  const tarn_heap heap = make(nullptr, 0, &source);
  check_heap(heap);
  EXPECT_EQ(search_in({outer}).blocks.size(), 0u);
  destroy(heap);
  destroy(outer);
}

TEST_F(UnreachableHeaps, SeparateSecretDeletedFrozen) {
  const tarn_heap separate = make(nullptr, 0, nullptr, TARN_HEAP_SEPARATE);
  check_heap(separate);
  destroy(separate);
  const tarn_heap secret = make(nullptr, 0, nullptr, TARN_HEAP_SECRET);
  if (secret.record != nullptr) check_heap(secret);
  destroy(secret);
  const tarn_heap frozen = make(nullptr, 0, nullptr);
  // Not the first block of its page: the page's address may be in many places.
  const Hidden first = lose(frozen, 5000), p = lose(frozen, 5000);
  ASSERT_EQ(tarn_heap_freeze(frozen), 0);
  EXPECT_TRUE(search_in({frozen}).has(p));
  tarn_heap_thaw(frozen);
  give(first);
  destroy(frozen);
  const tarn_heap deleted = make(nullptr, 0, nullptr);
  const Hidden young = lose(deleted, 100), large = lose(deleted, 400'000);
  ASSERT_EQ(tarn_heap_delete(deleted), 0);
  const SeenAll seen = search_in({tarn_heap_main()});
  EXPECT_TRUE(seen.has(young));
  EXPECT_TRUE(seen.has(large));
  give(young);
  give(large);
}

TEST_F(UnreachableHeaps, ContextsOfCallbacksAreKept) {
  const Hidden context = lose(tarn_heap_main(), 90'000);
  const tarn_heap heap = make_with(context);
  EXPECT_FALSE(search().has(context));
  destroy(heap);
  EXPECT_TRUE(search().has(context));
  give(context);
}

TEST_F(UnreachableRooms, ChunksOfPoolsAndArenasAreBlocks) {
  const tarn_heap heap = make(nullptr, 0, nullptr);
  const tarn_source source = tarn_heap_source(&heap);
  tarn_pool_options pool_options = TARN_POOL_OPTIONS();
  pool_options.block_bytes = 48;
  pool_options.source = &source;
  static tarn_pool pool;
  ASSERT_EQ(tarn_pool_init(&pool, &pool_options), 0);
  tarn_arena_options arena_options = TARN_ARENA_OPTIONS();
  arena_options.source = &source;
  static tarn_arena arena;
  ASSERT_EQ(tarn_arena_init(&arena, &arena_options), 0);
  apart([] {
    for (int i = 0; i < 20'000; ++i) {
      std::memset(tarn_pool_allocate(&pool), 0, 48);
      std::memset(tarn_arena_allocate(&arena, 100), 0, 100);
    }
  });
  EXPECT_EQ(search_in({heap}).blocks.size(), 0u);
  tarn_pool lost_pool = {};
  tarn_pool_move(&lost_pool, &pool);
  EXPECT_EQ(search_in({heap}).blocks.size(), 0u);
  tarn_pool_destroy(&lost_pool);
  tarn_arena_destroy(&arena);
  destroy(heap);
}

}  // namespace
}  // namespace tarn
