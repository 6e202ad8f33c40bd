// Nodes in a heap that is a thread's default, also one in a region; nodes of threads that have
// ended.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <random>
#include <thread>
#include <vector>

#include "tarn/tree/tree.h"

namespace {

std::uint64_t live_blocks(tarn_heap heap) {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  EXPECT_EQ(tarn_heap_get_stats(heap, &stats), 0);
  return stats.live_blocks;
}

bool lies_in(tarn_heap heap, const void* node) {
  return tarn_heap_owns(heap, static_cast<const char*>(node) - 16) == 1;
}

class InDefaultHeap : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    tarn_heap_options options = TARN_HEAP_OPTIONS();
    if (GetParam()) {
      options.region = region_;
      options.region_bytes = sizeof region_;
    }
    heap_ = tarn_heap_create(&options);
    ASSERT_NE(heap_.record, nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(live_blocks(heap_), 0u);
    EXPECT_EQ(tarn_heap_destroy(heap_), 0);
  }

  // Served by the heap meanwhile.
  void* allocate_there(void* parent, std::size_t bytes) {
    const tarn_heap before = tarn_heap_set_default(heap_);
    void* const node = tarn_tree_allocate(parent, bytes);
    tarn_heap_set_default(before);
    return node;
  }

  alignas(4096) static char region_[1 << 20];
  tarn_heap heap_{};
};
alignas(4096) char InDefaultHeap::region_[1 << 20];
INSTANTIATE_TEST_SUITE_P(Regions, InDefaultHeap, testing::Bool());

TEST_P(InDefaultHeap, NodesOfSeveralHeapsAreOneTree) {
  std::mt19937 random(1);
  std::vector<void*> nodes{tarn_tree_allocate(nullptr, 8)};
  std::size_t there = 0;
  for (int i = 0; i < 1000; ++i) {
    void* const parent = nodes[random() % nodes.size()];
    const std::size_t bytes = random() % 60;
    const bool is_there = random() % 2 == 0;
    void* const node = is_there ? allocate_there(parent, bytes) : tarn_tree_allocate(parent, bytes);
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(lies_in(heap_, node), is_there);
    there += is_there ? 1 : 0;
    nodes.push_back(node);
  }
  // What nodes have besides is malloc's.
  EXPECT_EQ(live_blocks(heap_), there);
  for (int i = 0; i < 300; ++i) {
    void* const node = nodes[1 + random() % (nodes.size() - 1)];
    const int result = tarn_tree_steal(nodes[random() % nodes.size()], node);
    EXPECT_TRUE(result == 0 || errno == ELOOP);
  }
  EXPECT_EQ(live_blocks(heap_), there);
  EXPECT_EQ(tarn_tree_check(nodes[0]), 1);
  EXPECT_EQ(tarn_tree_dispose(nodes[0]), 0);
}

// What it served is freed by itself, whatever is the default then.
TEST_P(InDefaultHeap, NodesGoWithoutIt) {
  void* const root = allocate_there(nullptr, 8);
  for (int i = 0; i < 100; ++i) ASSERT_NE(allocate_there(root, 100), nullptr);
  void* const named = tarn_tree_first_child(root);
  ASSERT_EQ(tarn_tree_set_name(named, "named"), 0);
  EXPECT_EQ(live_blocks(heap_), 101u);
  void* const moved = tarn_tree_reallocate(named, 5000);
  ASSERT_NE(moved, nullptr);
  EXPECT_TRUE(lies_in(heap_, moved));  // Where it was.
  const tarn_heap before = tarn_heap_set_default(heap_);
  void* const elsewhere = tarn_tree_allocate(nullptr, 8);
  tarn_heap_set_default(before);
  EXPECT_EQ(tarn_tree_dispose(elsewhere), 0);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

TEST_P(InDefaultHeap, AFullRegionLeavesTheTreeAsItIs) {
  if (!GetParam()) GTEST_SKIP() << "it would use all memory";
  void* const root = tarn_tree_allocate(nullptr, 8);
  std::size_t nodes = 1;
  while (allocate_there(root, 1000) != nullptr) ++nodes;
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_GT(nodes, 100u);
  tarn_tree_stats stats = TARN_TREE_STATS();
  ASSERT_EQ(tarn_tree_get_stats(root, &stats), 0);
  EXPECT_EQ(stats.nodes, nodes);
  EXPECT_EQ(tarn_tree_check(root), 1);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

// Threads end; what they made lives on, is used by others, and goes.
TEST(OfEndedThreads, TreesLiveOn) {
  std::array<void*, 4> roots{};
  void* const all = tarn_tree_allocate(nullptr, 8);
  static int ended;
  ended = 0;
  for (void*& root : roots) {
    std::thread([&root] {
      root = tarn_tree_allocate(nullptr, 8);
      void* const parts[] = {root, tarn_tree_allocate_with_heap(root, 8, nullptr),
                             tarn_tree_allocate_with_arena(root, 8, nullptr)};
      for (int i = 0; i < 300; ++i) {
        void* const node = tarn_tree_allocate(parts[i % 3], 24);
        EXPECT_EQ(tarn_tree_set_destructor(node, [](void*) { return ++ended, 0; }), 0);
      }
      EXPECT_EQ(tarn_tree_hand_over(root), 0);
    }).join();
    EXPECT_EQ(tarn_tree_take_over(root), 0);
    EXPECT_EQ(tarn_tree_steal(all, root), 0);
    EXPECT_NE(tarn_tree_allocate(root, 100), nullptr);
    EXPECT_EQ(tarn_tree_check(all), 1);
  }
  std::thread([all] { EXPECT_EQ(tarn_tree_dispose_children(all), 0); }).join();
  EXPECT_EQ(ended, 1200);
  EXPECT_EQ(tarn_tree_dispose(all), 0);
}

}  // namespace
