// Forks: the child has its parent's trees, as they are at that moment, also in a destructor.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "../support/child.hpp"
#include "tarn/tree/tree.h"

namespace {

int ended;

// Below the parent, each in memory of its own: some hundred nodes, one of which counts its end.
void* grown(void* parent) {
  void* const root = tarn_tree_allocate(parent, 16);
  for (void* const part :
       {tarn_tree_allocate(root, 8), tarn_tree_allocate_with_heap(root, 8, nullptr),
        tarn_tree_allocate_with_arena(root, 8, nullptr)}) {
    void* node = part;
    for (int i = 0; i < 100; ++i) {
      node = tarn_tree_format(i % 3 == 0 ? part : node, "node %d", i);
      if (i == 50) {
        EXPECT_EQ(tarn_tree_set_destructor(node, [](void*) { return ++ended, 0; }), 0);
      }
    }
  }
  return root;
}

// Whether the child, which runs this, ends with 0.
bool holds_in_child(const std::function<bool()>& body) {
  return support::status_of_child([&] { return body() ? 0 : 1; }) == 0;
}

TEST(Forks, AChildHasItsParentsTrees) {
  ended = 0;
  void* const root = grown(nullptr);
  void* const other = grown(nullptr);
  EXPECT_EQ(tarn_tree_reference(other, tarn_tree_first_child(root)), 0);
  EXPECT_TRUE(holds_in_child([&] {
    void* const more = grown(root);
    return tarn_tree_steal(other, more) == 0 && tarn_tree_check(root) == 1 &&
           tarn_tree_dispose(root) == 0 && ended == 2 && tarn_tree_check(other) == 1 &&
           tarn_tree_dispose(other) == 0 && ended == 9;
  }));
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(tarn_tree_check(root), 1);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
  EXPECT_EQ(tarn_tree_dispose(other), 0);
  EXPECT_EQ(ended, 6);
}

bool is_child;

// Both go on with the disposal.
TEST(Forks, ADestructorMayFork) {
  ended = 0;
  is_child = false;
  void* const root = grown(nullptr);
  void* const forks = tarn_tree_allocate(root, 8);
  static_cast<void>(grown(root));
  ASSERT_EQ(tarn_tree_set_destructor(forks,
                                     [](void* node) {
                                       EXPECT_EQ(ended, 3);
                                       const pid_t child = ::fork();
                                       is_child = child == 0;
                                       if (is_child)
                                         return tarn_tree_allocate(node, 8) == nullptr ? 1 : 0;
                                       int status = -1;
                                       EXPECT_EQ(::waitpid(child, &status, 0), child);
                                       EXPECT_EQ(status, 0);
                                       return 0;
                                     }),
            0);
  const int result = tarn_tree_dispose(root);
  if (is_child) std::_Exit(result == 0 && ended == 6 ? 0 : 1);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(ended, 6);
}

}  // namespace
