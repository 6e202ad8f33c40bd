// What a program is told that uses a node which has gone, or gives what is no node: by each
// function one crime, and the report is matched.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>

#include "tarn/tree/tree.h"

namespace {

void drop(void*) {}

class TreesDeathTest : public testing::Test {
 protected:
  TreesDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // A child that has gone: one that is not extended, one that is, one in an arena or a heap.
  static void* gone(void* parent, bool is_extended) {
    void* const node = tarn_tree_allocate(parent, 40);
    if (is_extended) {
      EXPECT_EQ(tarn_tree_set_name(node, "gone"), 0);
    }
    EXPECT_NE(tarn_tree_allocate(node, 40), nullptr);
    EXPECT_EQ(tarn_tree_dispose(node), 0);
    return node;
  }
};

#define EXPECT_REPORT(statement, pattern) \
  EXPECT_EXIT(statement, testing::KilledBySignal(SIGABRT), pattern)

constexpr char damage[] = "^tarn: damaged tree: the neighbours of the node at ";

TEST_F(TreesDeathTest, WhatHasGoneIsReported) {
  void* const root = tarn_tree_allocate(nullptr, 0);
  void* const other = tarn_tree_allocate(root, 0);
  void* const in_arena = tarn_tree_allocate_with_arena(root, 0, nullptr);
  void* const in_heap = tarn_tree_allocate_with_heap(root, 0, nullptr);
  for (void* const parent : {root, in_heap, in_arena}) {
    for (const bool is_extended : {false, true}) {
      void* const node = gone(parent, is_extended);
      EXPECT_REPORT(tarn_tree_dispose(node), damage);
      EXPECT_REPORT(tarn_tree_dispose_children(node), damage);
      EXPECT_REPORT(tarn_tree_steal(other, node), damage);
      EXPECT_REPORT(tarn_tree_steal(node, other), damage);
      EXPECT_REPORT(tarn_tree_reference(other, node), damage);
      EXPECT_REPORT(tarn_tree_reference(node, other), damage);
      EXPECT_REPORT(tarn_tree_unreference(parent, node), damage);
      EXPECT_REPORT(drop(tarn_tree_reallocate(node, 4000)), damage);
      EXPECT_REPORT(drop(tarn_tree_allocate(node, 16)), damage);
    }
  }
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

TEST_F(TreesDeathTest, ARootThatHasGoneIsReported) {
  void* const kept = tarn_tree_allocate(nullptr, 40);  // So that their page is not given back.
  void* const root = tarn_tree_allocate(nullptr, 40);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
  EXPECT_REPORT(tarn_tree_dispose(root), damage);
  EXPECT_EQ(tarn_tree_dispose(kept), 0);
}

TEST_F(TreesDeathTest, WhatWasWrittenOverIsReported) {
  void* const root = tarn_tree_allocate(nullptr, 0);
  auto* const a = static_cast<char*>(tarn_tree_allocate(root, 40));
  auto* const b = static_cast<char*>(tarn_tree_allocate(root, 40));
  ASSERT_NE(tarn_tree_allocate(root, 40), nullptr);
  EXPECT_REPORT((std::memcpy(b - 16, a - 16, 16), tarn_tree_dispose(b)), damage);
  EXPECT_REPORT((std::memcpy(b - 16, a - 16, 16), tarn_tree_steal(nullptr, b)), damage);
  EXPECT_REPORT((std::memcpy(b - 16, a - 16, 16), tarn_tree_dispose(root)), damage);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

TEST_F(TreesDeathTest, WhatWasWrittenOverBelowAPlainNodeIsReported) {
  void* const root = tarn_tree_allocate(nullptr, 0);
  auto* const a = static_cast<char*>(tarn_tree_allocate(root, 40));
  auto* const older = static_cast<char*>(tarn_tree_allocate(a, 40));
  auto* const newer = static_cast<char*>(tarn_tree_allocate(a, 40));
  ASSERT_NE(tarn_tree_allocate(older, 40), nullptr);
  ASSERT_NE(tarn_tree_allocate(newer, 40), nullptr);
  const auto copy = [](char* to, const char* from) { std::memcpy(to - 16, from - 16, 16); };
  EXPECT_REPORT((copy(older, a), tarn_tree_dispose(root)), damage);
  EXPECT_REPORT((copy(older, newer), tarn_tree_dispose(root)), damage);
  EXPECT_REPORT((copy(newer, older), tarn_tree_dispose(root)), damage);
  EXPECT_REPORT((copy(newer, a), tarn_tree_dispose(a)), damage);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

// It looks like a root; the heap does not know the block.
TEST_F(TreesDeathTest, WhatIsNoNodeIsReported) {
  alignas(16) static char no_block[64];
  EXPECT_REPORT(tarn_tree_dispose(no_block + 32), "^tarn: ");
}

}  // namespace
