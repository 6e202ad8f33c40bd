// No memory for what nodes have besides, at each place where it is asked for: what fails changes
// nothing, and what cannot fail does not. With slabs of 4 KiB, so that links need memory.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "kinds/trees/memory.hpp"
#include "malloc/blocks/allocate.hpp"
#include "tarn/tree/tree.h"

namespace {

int until_failure = -1;  // Below 0: never.
bool has_failed = false;

}  // namespace

void* tarn::allocate_beside(std::size_t bytes) noexcept {
  if (until_failure >= 0 && until_failure-- == 0) {
    has_failed = true;
    errno = ENOMEM;
    return nullptr;
  }
  return allocate(bytes);
}

namespace {

// Two trees over several slabs, with references from one to the other.
struct Trees {
  void* a = tarn_tree_allocate(nullptr, 100);
  void* b = tarn_tree_allocate(nullptr, 100);
  std::vector<void*> nodes;

  Trees() {
    for (int i = 0; i < 60; ++i) {
      void* const parent = i % 3 == 0 ? a : i % 3 == 1 ? b : nodes[static_cast<std::size_t>(i / 2)];
      nodes.push_back(tarn_tree_allocate(parent, i % 5 == 0 ? 3000 : 40));
      EXPECT_NE(nodes.back(), nullptr);
    }
  }
  ~Trees() {
    until_failure = -1;
    EXPECT_EQ(tarn_tree_dispose(a), 0);
    EXPECT_EQ(tarn_tree_dispose(b), 0);
  }

  std::string picture() const {
    std::string text;
    for (void* const root : {a, b}) {
      for (void* n = tarn_tree_next(root, root); n != nullptr; n = tarn_tree_next(root, n)) {
        char line[80];
        std::snprintf(line, sizeof line, "%p below %p, %zu owners, %s\n", n, tarn_tree_parent(n),
                      tarn_tree_owners(n), tarn_tree_name(n) != nullptr ? "named" : "");
        text += line;
      }
    }
    return text;
  }
};

using Step = std::function<bool(Trees&, void* node)>;

// Makes the n-th request fail, for every n that there is. Returns how many.
int fail_each_request(const Step& step, std::size_t node) {
  for (int n = 0;; ++n) {
    Trees trees;
    const std::string before = trees.picture();
    until_failure = n;
    has_failed = false;
    errno = 0;
    const bool done = step(trees, trees.nodes[node]);
    until_failure = -1;
    EXPECT_EQ(tarn_tree_check(trees.a), 1) << n;
    EXPECT_EQ(tarn_tree_check(trees.b), 1) << n;
    if (!has_failed) {
      EXPECT_TRUE(done || errno == ELOOP || errno == EEXIST);
      return n;
    }
    EXPECT_FALSE(done) << n;
    EXPECT_EQ(errno, ENOMEM) << n;
    EXPECT_EQ(trees.picture(), before) << n;
  }
}

// In each node.
void fail_each(const Step& step) {
  int failures = 0;
  for (std::size_t node = 0; node < 60; ++node) failures += fail_each_request(step, node);
  EXPECT_GT(failures, 0);
}

TEST(Failure, OfAllocations) {
  // Somewhere else than its parent and siblings.
  fail_each(
      [](Trees&, void* node) { return tarn_tree_allocate_aligned(node, 4096, 100) != nullptr; });
}

TEST(Failure, OfMoves) {
  fail_each([](Trees& t, void* node) { return tarn_tree_steal(t.b, node) == 0; });
  fail_each([](Trees& t, void* node) { return tarn_tree_steal(t.nodes[55], node) == 0; });
  fail_each([](Trees& t, void* node) { return tarn_tree_steal(t.nodes[16], node) == 0; });
}

TEST(Failure, OfReferences) {
  fail_each([](Trees& t, void* node) { return tarn_tree_reference(t.nodes[16], node) == 0; });
}

TEST(Failure, OfNamesAndDestructors) {
  fail_each([](Trees&, void* node) { return tarn_tree_set_name(node, "name") == 0; });
  fail_each([](Trees&, void* node) {
    return tarn_tree_set_destructor(node, [](void*) { return 0; }) == 0;
  });
  fail_each(
      [](Trees& t, void* node) { return tarn_tree_adopt(node, &t, [](void*) {}) != nullptr; });
}

TEST(Failure, OfGrowing) {
  fail_each([](Trees&, void* node) { return tarn_tree_reallocate(node, 30000) != nullptr; });
}

TEST(Failure, OfMemoryOfTheirOwn) {
  fail_each([](Trees&, void* node) { return tarn_tree_give_heap(node, nullptr) == 0; });
  fail_each([](Trees&, void* node) { return tarn_tree_give_arena(node, nullptr) == 0; });
  fail_each([](Trees&, void* node) {
    return tarn_tree_allocate_with_arena(node, 40, nullptr) != nullptr;
  });
  fail_each([](Trees&, void* node) {
    return tarn_tree_allocate_with_heap(node, 40, nullptr) != nullptr;
  });
}

// Disposal of what nobody else owns needs no memory, wherever nodes lie.
TEST(Failure, DisposalNeedsNoMemory) {
  for (std::size_t first = 0; first < 60; ++first) {
    Trees trees;
    until_failure = 0;
    has_failed = false;
    EXPECT_EQ(tarn_tree_dispose(trees.nodes[first]), 0);
    EXPECT_EQ(tarn_tree_check(trees.a), 1);
    EXPECT_EQ(tarn_tree_check(trees.b), 1);
    EXPECT_FALSE(has_failed);
  }
}

}  // namespace
