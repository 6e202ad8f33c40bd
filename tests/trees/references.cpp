// References: nodes with several owners, and the cycles that are refused.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "tarn/heap/malloc.h"
#include "tarn/tree/tree.h"

namespace {

int ended;

void* counted(void* parent) {
  void* const node = tarn_tree_allocate(parent, 8);
  EXPECT_EQ(tarn_tree_set_destructor(node, [](void*) { return ++ended, 0; }), 0);
  return node;
}

class References : public testing::Test {
 protected:
  void SetUp() override { ended = 0; }
};

TEST_F(References, ANodeLivesUntilItsLastOwnerGoes) {
  void* const a = tarn_tree_allocate(nullptr, 8);
  void* const b = tarn_tree_allocate(nullptr, 8);
  void* const c = tarn_tree_allocate(nullptr, 8);
  void* const node = counted(a);
  EXPECT_EQ(tarn_tree_owners(node), 1u);
  EXPECT_EQ(tarn_tree_reference(b, node), 0);
  EXPECT_EQ(tarn_tree_reference(c, node), 0);
  EXPECT_EQ(tarn_tree_owners(node), 3u);
  EXPECT_EQ(tarn_tree_first_child(b), nullptr);
  errno = 0;
  EXPECT_EQ(tarn_tree_dispose(node), -1);
  EXPECT_EQ(errno, EBUSY);
  errno = 0;
  EXPECT_EQ(tarn_tree_reference(b, node), -1);
  EXPECT_EQ(errno, EEXIST);
  EXPECT_EQ(tarn_tree_reference(a, node), -1);

  EXPECT_EQ(tarn_tree_dispose(a), 0);
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(tarn_tree_parent(node), b);
  EXPECT_EQ(tarn_tree_first_child(b), node);
  EXPECT_EQ(tarn_tree_check(b), 1);
  EXPECT_EQ(tarn_tree_dispose(c), 0);
  EXPECT_EQ(tarn_tree_owners(node), 1u);
  EXPECT_EQ(tarn_tree_dispose(b), 0);
  EXPECT_EQ(ended, 1);
}

TEST_F(References, OwnersCanLetGo) {
  void* const a = tarn_tree_allocate(nullptr, 8);
  void* const b = tarn_tree_allocate(nullptr, 8);
  void* const node = counted(a);
  void* const below = counted(node);
  EXPECT_EQ(tarn_tree_reference(b, node), 0);
  errno = 0;
  EXPECT_EQ(tarn_tree_unreference(below, node), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(tarn_tree_unreference(a, node), 0);  // The parent.
  EXPECT_EQ(tarn_tree_parent(node), b);
  EXPECT_EQ(tarn_tree_reference(a, node), 0);
  EXPECT_EQ(tarn_tree_unreference(b, node), 0);  // Again the parent, by a reference.
  EXPECT_EQ(tarn_tree_parent(node), a);
  EXPECT_EQ(tarn_tree_reference(b, node), 0);
  EXPECT_EQ(tarn_tree_unreference(b, node), 0);  // Not the parent.
  EXPECT_EQ(tarn_tree_check(a), 1);
  EXPECT_EQ(tarn_tree_check(b), 1);
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(tarn_tree_unreference(a, node), 0);  // The last one.
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(tarn_tree_first_child(a), nullptr);
  EXPECT_EQ(tarn_tree_unreference(nullptr, a), 0);
  EXPECT_EQ(tarn_tree_dispose(b), 0);
}

TEST_F(References, CyclesAreRefused) {
  void* const a = tarn_tree_allocate(nullptr, 8);
  void* const b = tarn_tree_allocate(nullptr, 8);
  void* const c = tarn_tree_allocate(nullptr, 8);
  void* const in_a = tarn_tree_allocate(a, 8);
  void* const in_b = tarn_tree_allocate(b, 8);
  const auto loops = [](int result) {
    EXPECT_EQ(result, -1);
    EXPECT_EQ(errno, ELOOP);
    errno = 0;
  };
  loops(tarn_tree_reference(a, a));
  loops(tarn_tree_reference(in_a, a));
  EXPECT_EQ(tarn_tree_reference(in_a, b), 0);
  loops(tarn_tree_reference(in_b, a));
  loops(tarn_tree_reference(b, in_a));
  loops(tarn_tree_steal(in_b, a));
  EXPECT_EQ(tarn_tree_reference(in_b, c), 0);
  loops(tarn_tree_reference(c, a));
  loops(tarn_tree_reference(c, in_a));
  EXPECT_EQ(tarn_tree_reference(a, c), 0);  // A second way is no cycle.
  EXPECT_EQ(tarn_tree_unreference(in_a, b), 0);
  EXPECT_EQ(tarn_tree_unreference(a, c), 0);
  EXPECT_EQ(tarn_tree_reference(c, a), 0);
  for (void* const node : {a, b, c}) EXPECT_EQ(tarn_tree_check(node), 1);
  EXPECT_EQ(tarn_tree_dispose(b), 0);
  EXPECT_EQ(tarn_tree_dispose(c), 0);
  EXPECT_EQ(tarn_tree_dispose(a), 0);  // A root is the program's: it stayed.
}

// Each layer is referenced twice by the one above it: 2^40 ways down.
TEST_F(References, ManyWaysAreLookedAtOnce) {
  std::vector<void*> left, right;
  void* const root = tarn_tree_allocate(nullptr, 8);
  for (int i = 0; i < 40; ++i) {
    left.push_back(tarn_tree_allocate(root, 8));
    right.push_back(tarn_tree_allocate(root, 8));
    if (i == 0) continue;
    const auto below = static_cast<std::size_t>(i);
    for (void* const above : {left[below - 1], right[below - 1]}) {
      ASSERT_EQ(tarn_tree_reference(above, left[below]), 0);
      ASSERT_EQ(tarn_tree_reference(above, right[below]), 0);
    }
  }
  EXPECT_EQ(tarn_tree_reference(left.back(), left.front()), -1);
  EXPECT_EQ(errno, ELOOP);
  EXPECT_EQ(tarn_tree_check(root), 1);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

TEST_F(References, StealingLeavesTheOthers) {
  void* const a = tarn_tree_allocate(nullptr, 8);
  void* const b = tarn_tree_allocate(nullptr, 8);
  void* const c = tarn_tree_allocate(nullptr, 8);
  void* const node = counted(a);
  EXPECT_EQ(tarn_tree_reference(b, node), 0);
  EXPECT_EQ(tarn_tree_steal(c, node), 0);
  EXPECT_EQ(tarn_tree_dispose(c), 0);
  EXPECT_EQ(tarn_tree_parent(node), b);
  EXPECT_EQ(tarn_tree_steal(a, node), 0);  // From where a reference had it.
  EXPECT_EQ(tarn_tree_check(b), 1);
  EXPECT_EQ(tarn_tree_dispose(b), 0);
  EXPECT_EQ(ended, 0);
  void* const moved = tarn_tree_reallocate(node, 5000);
  EXPECT_EQ(tarn_tree_reference(moved, tarn_tree_allocate(a, 1)), 0);
  EXPECT_EQ(tarn_tree_check(a), 1);
  EXPECT_EQ(tarn_tree_dispose(a), 0);
  EXPECT_EQ(ended, 1);
}

// Its parent is a reference, and another one leads to it.
TEST_F(References, FollowALargeNodeThatMoves) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  void* const a = tarn_tree_allocate(nullptr, 8);
  void* const b = tarn_tree_allocate(nullptr, 8);
  void* const c = tarn_tree_allocate(nullptr, 8);
  void* node = tarn_tree_allocate(a, 2 * mib);
  EXPECT_EQ(tarn_tree_reference(b, node), 0);
  EXPECT_EQ(tarn_tree_reference(c, node), 0);
  EXPECT_EQ(tarn_tree_dispose(a), 0);
  EXPECT_EQ(tarn_tree_parent(node), b);
  *static_cast<char*>(node) = 'x';
  void* const old = node;
  for (std::size_t bytes = 4 * mib; node == old && bytes <= 1024 * mib; bytes *= 2) {
    void* const between = tarn_malloc(bytes);
    node = tarn_tree_reallocate(node, bytes);
    tarn_free(between);
    ASSERT_NE(node, nullptr);
  }
  EXPECT_NE(node, old);
  EXPECT_EQ(*static_cast<char*>(node), 'x');
  EXPECT_EQ(tarn_tree_parent(node), b);
  EXPECT_EQ(tarn_tree_first_child(b), node);
  EXPECT_EQ(tarn_tree_owners(node), 2u);
  EXPECT_EQ(tarn_tree_check(b), 1);
  EXPECT_EQ(tarn_tree_check(c), 1);
  EXPECT_EQ(tarn_tree_unreference(b, node), 0);
  EXPECT_EQ(tarn_tree_parent(node), c);
  EXPECT_EQ(tarn_tree_dispose(c), 0);
  EXPECT_EQ(tarn_tree_dispose(b), 0);
}

}  // namespace
