// Disposal of trees of many shapes and sizes, with and without nodes that are asked: all blocks go,
// who is asked finds all above it as it was, and the order is that of a model.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tarn/tree/tree.h"

namespace {

using Parents = std::vector<std::size_t>;  // Of node i; node 0 is the root.

std::vector<std::size_t> asked;
std::size_t vetoed = SIZE_MAX;  // The one that stays.

struct Bytes {
  std::size_t number;
  std::size_t parent;
};

int note_end(void* node) {
  const auto* below = static_cast<const Bytes*>(node);
  asked.push_back(below->number);
  for (const void* above = tarn_tree_parent(node); above != nullptr;
       above = tarn_tree_parent(above)) {
    const auto* const bytes = static_cast<const Bytes*>(above);
    EXPECT_EQ(below->parent, bytes->number);
    below = bytes;
  }
  EXPECT_EQ(below->number, 0u);
  return vetoed == static_cast<const Bytes*>(node)->number ? 1 : 0;
}

enum class Shape { wide, deep, binary, caterpillar, records, random };

std::size_t parent_in(Shape shape, std::size_t i, std::mt19937& random) {
  switch (shape) {
    case Shape::wide: return 0;
    case Shape::deep: return i - 1;
    case Shape::binary: return (i - 1) / 2;
    case Shape::caterpillar:  // Each fourth one goes on; its newest child has two.
      return i % 4 == 3 || i % 4 == 0 ? i - i % 4 - (i % 4 == 0 ? 2 : 1) : i - i % 4;
    case Shape::records: return i % 4 == 1 ? 0 : i - (i + 3) % 4;
    case Shape::random: return random() % i;
  }
  return 0;
}

Parents plan(Shape shape, std::size_t count, std::mt19937& random) {
  Parents parents{0};
  for (std::size_t i = 1; i < count; ++i) {
    const std::size_t parent = parent_in(shape, i, random);
    parents.push_back(parent < i ? parent : i - 1);
  }
  return parents;
}

// Depth first, the newest child first, children before parents.
std::vector<std::size_t> order_of(const Parents& parents, const std::vector<bool>& asks) {
  std::vector<std::vector<std::size_t>> children(parents.size());
  for (std::size_t i = 1; i < parents.size(); ++i) children[parents[i]].push_back(i);
  std::vector<std::size_t> path{0};
  std::vector<std::size_t> order;
  while (!path.empty()) {
    const std::size_t node = path.back();
    if (!children[node].empty()) {
      path.push_back(children[node].back());
      children[node].pop_back();
      continue;
    }
    if (asks[node]) order.push_back(node);
    path.pop_back();
  }
  return order;
}

class Disposals : public testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    heap_ = tarn_heap_create(nullptr);
    ASSERT_NE(heap_.record, nullptr);
    vetoed = SIZE_MAX;
  }
  void TearDown() override { EXPECT_EQ(tarn_heap_destroy(heap_), 0); }

  std::uint64_t live_blocks() const {
    tarn_heap_stats stats = TARN_HEAP_STATS();
    EXPECT_EQ(tarn_heap_get_stats(heap_, &stats), 0);
    return stats.live_blocks;
  }

  // Of nodes that are counted by the heap, which is the thread's default meanwhile.
  std::vector<void*> build(const Parents& parents, const std::vector<bool>& asks) {
    asked.clear();
    const tarn_heap before = tarn_heap_set_default(heap_);
    std::vector<void*> nodes;
    for (std::size_t i = 0; i < parents.size(); ++i) {
      void* const parent = i == 0 ? nullptr : nodes[parents[i]];
      nodes.push_back(asks[i] ? tarn_tree_allocate_object(parent, 16, sizeof(Bytes), note_end)
                              : tarn_tree_allocate(parent, sizeof(Bytes)));
      *static_cast<Bytes*>(nodes.back()) = {i, parents[i]};
    }
    tarn_heap_set_default(before);
    EXPECT_EQ(live_blocks(), parents.size());
    return nodes;
  }

  std::mt19937 random_{7};
  tarn_heap heap_{};
};
INSTANTIATE_TEST_SUITE_P(Shapes, Disposals,
                         testing::Values(Shape::wide, Shape::deep, Shape::binary,
                                         Shape::caterpillar, Shape::records, Shape::random));

// Around what is looked at together (kinds/trees/plain.hpp), and far above that.
constexpr std::size_t counts[] = {1, 2, 3, 7, 8, 9, 253, 254, 255, 256, 257, 258, 600, 5000};

TEST_P(Disposals, OfNodesThatNobodyAsksAbout) {
  for (const std::size_t count : counts) {
    const Parents parents = plan(GetParam(), count, random_);
    const std::vector<void*> nodes = build(parents, std::vector<bool>(count));
    EXPECT_EQ(tarn_tree_check(nodes[0]), 1);
    EXPECT_EQ(tarn_tree_dispose(nodes[0]), 0);
    EXPECT_EQ(live_blocks(), 0u) << count;
  }
}

TEST_P(Disposals, AskInTheOrderOfTheTree) {
  for (const std::size_t count : counts) {
    for (const std::size_t each : {std::size_t{1}, std::size_t{2}, std::size_t{40}, count}) {
      const Parents parents = plan(GetParam(), count, random_);
      std::vector<bool> asks(count);
      for (std::size_t i = 0; i < count; ++i) asks[i] = random_() % each == 0;
      const std::vector<void*> nodes = build(parents, asks);
      EXPECT_EQ(tarn_tree_dispose(nodes[0]), 0);
      EXPECT_EQ(live_blocks(), 0u) << count;
      EXPECT_EQ(asked, order_of(parents, asks)) << count;
    }
  }
}

TEST_P(Disposals, OfPartsLeaveTheRest) {
  for (const std::size_t count : counts) {
    const Parents parents = plan(GetParam(), count, random_);
    const std::vector<void*> nodes = build(parents, std::vector<bool>(count));
    const std::size_t part = random_() % count;
    std::size_t gone = 1;  // A subtree is what comes after its root and leads to it.
    std::vector<bool> goes(count);
    goes[part] = true;
    for (std::size_t i = part + 1; i < count; ++i) {
      goes[i] = goes[parents[i]];
      gone += goes[i] ? 1 : 0;
    }
    EXPECT_EQ(tarn_tree_dispose_children(nodes[part]), 0);
    EXPECT_EQ(live_blocks(), count - gone + 1);
    EXPECT_EQ(tarn_tree_first_child(nodes[part]), nullptr);
    EXPECT_EQ(tarn_tree_check(nodes[0]), 1);
    if (part != 0) {
      EXPECT_EQ(tarn_tree_dispose(nodes[part]), 0);
      EXPECT_EQ(tarn_tree_check(nodes[0]), 1);
    }
    EXPECT_EQ(tarn_tree_dispose(nodes[0]), 0);
    EXPECT_EQ(live_blocks(), 0u);
  }
}

// What was visited before it is gone; it stays, with all above it and what is older.
TEST_P(Disposals, ThatAreStoppedLeaveATree) {
  for (const std::size_t count : counts) {
    const Parents parents = plan(GetParam(), count, random_);
    std::vector<bool> asks(count);
    for (std::size_t i = 0; i < count; i += 50) asks[i] = true;
    const std::vector<void*> nodes = build(parents, asks);
    vetoed = random_() % count / 50 * 50;
    void* stayed = nullptr;
    EXPECT_EQ(tarn_tree_try_dispose(nodes[0], &stayed), -1);
    EXPECT_EQ(errno, EBUSY);
    EXPECT_EQ(stayed, nodes[vetoed]);
    EXPECT_EQ(tarn_tree_first_child(stayed), nullptr);
    EXPECT_EQ(tarn_tree_check(nodes[0]), 1);
    tarn_tree_stats stats = TARN_TREE_STATS();
    EXPECT_EQ(tarn_tree_get_stats(nodes[0], &stats), 0);
    EXPECT_EQ(stats.nodes, live_blocks());
    vetoed = SIZE_MAX;
    EXPECT_EQ(tarn_tree_dispose(nodes[0]), 0);
    EXPECT_EQ(live_blocks(), 0u);
  }
}

}  // namespace
