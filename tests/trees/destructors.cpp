// Destructors: their order, vetoes, and what they may do meanwhile.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "tarn/tree/tree.h"

namespace {

std::string order;
std::function<int(void*)> on_end;

int noted(void* node) {
  order += *static_cast<char*>(node);
  return on_end ? on_end(node) : 0;
}

char* lettered(void* parent, char letter) {
  auto* const node = static_cast<char*>(tarn_tree_allocate(parent, 8));
  *node = letter;
  EXPECT_EQ(tarn_tree_set_destructor(node, noted), 0);
  return node;
}

class Destructors : public testing::Test {
 protected:
  void SetUp() override {
    order.clear();
    on_end = nullptr;
  }
  void TearDown() override { on_end = nullptr; }
};

TEST_F(Destructors, ChildrenBeforeParentsTheNewestFirst) {
  char* const r = lettered(nullptr, 'r');
  char* const a = lettered(r, 'a');
  char* const b = lettered(r, 'b');
  lettered(a, 'c');
  lettered(a, 'd');
  lettered(b, 'e');
  EXPECT_EQ(tarn_tree_dispose(r), 0);
  EXPECT_EQ(order, "ebdcar");
}

TEST_F(Destructors, AVetoStopsItThere) {
  char* const r = lettered(nullptr, 'r');
  char* const a = lettered(r, 'a');
  char* const b = lettered(r, 'b');
  lettered(b, 'c');
  char* const d = lettered(r, 'd');
  lettered(d, 'e');
  on_end = [&](void* node) { return node == b ? 1 : 0; };
  void* stayed = nullptr;
  errno = 0;
  EXPECT_EQ(tarn_tree_try_dispose(r, &stayed), -1);
  EXPECT_EQ(errno, EBUSY);
  EXPECT_EQ(stayed, b);
  EXPECT_EQ(order, "edcb");
  EXPECT_EQ(tarn_tree_first_child(r), a);
  EXPECT_EQ(tarn_tree_next_sibling(a), b);
  EXPECT_EQ(tarn_tree_next_sibling(b), nullptr);
  EXPECT_EQ(tarn_tree_check(r), 1);
  on_end = nullptr;
  EXPECT_EQ(tarn_tree_try_dispose(r, &stayed), 0);
  EXPECT_EQ(stayed, nullptr);
  EXPECT_EQ(order, "edcbbar");
}

TEST_F(Destructors, MayAllocateBelowWhatGoes) {
  char* const r = lettered(nullptr, 'r');
  char* const a = lettered(r, 'a');
  int more = 3;
  on_end = [&](void* node) {
    if (node == a && more-- > 0) lettered(r, 's');
    if (node == r && more-- > 0) lettered(r, 't');
    for (int i = 0; i < 100; ++i) EXPECT_NE(tarn_tree_allocate(node, 16), nullptr);
    return 0;
  };
  EXPECT_EQ(tarn_tree_dispose(r), 0);
  EXPECT_EQ(order, "asrt");
}

TEST_F(Destructors, MayDisposeOfSiblingsAndOthers) {
  char* const r = lettered(nullptr, 'r');
  char* const a = lettered(r, 'a');
  lettered(a, 'b');
  char* const c = lettered(r, 'c');
  char* const other = lettered(nullptr, 'o');
  on_end = [&](void* node) {
    if (node == c) {
      EXPECT_EQ(tarn_tree_dispose(a), 0);
      EXPECT_EQ(tarn_tree_dispose(other), 0);
    }
    return 0;
  };
  EXPECT_EQ(tarn_tree_dispose(r), 0);
  EXPECT_EQ(order, "cbaor");
}

TEST_F(Destructors, WhatIsOnItsWayRefuses) {
  char* const top = lettered(nullptr, 't');
  char* const r = lettered(top, 'r');
  char* const a = lettered(r, 'a');
  char* const b = lettered(a, 'b');
  const auto refuses = [](int result) {
    EXPECT_EQ(result, -1);
    EXPECT_EQ(errno, EBUSY);
  };
  on_end = [&](void* node) {
    if (node != b) return 0;
    for (char* const up : {b, a, r, top}) {
      errno = 0;
      refuses(tarn_tree_dispose(up));
    }
    for (char* const up : {b, a, r}) {
      refuses(tarn_tree_steal(nullptr, up));
      refuses(tarn_tree_reference(top, up));
      refuses(tarn_tree_unreference(tarn_tree_parent(up), up));
      errno = 0;
      EXPECT_EQ(tarn_tree_reallocate(up, 100000), nullptr);
      EXPECT_EQ(errno, EBUSY);
    }
    return 0;
  };
  EXPECT_EQ(tarn_tree_dispose(r), 0);
  EXPECT_EQ(order, "bar");
  EXPECT_EQ(tarn_tree_first_child(top), nullptr);
  EXPECT_EQ(tarn_tree_dispose(top), 0);
  EXPECT_EQ(order, "bart");
}

TEST_F(Destructors, AParentWhoseChildrenGoStays) {
  char* const r = lettered(nullptr, 'r');
  char* const a = lettered(r, 'a');
  on_end = [&](void* node) {
    if (node != a) return 0;
    errno = 0;
    EXPECT_EQ(tarn_tree_reallocate(r, 100000), nullptr);
    EXPECT_EQ(errno, EBUSY);
    EXPECT_EQ(tarn_tree_dispose_children(r), -1);
    return 0;
  };
  EXPECT_EQ(tarn_tree_dispose_children(r), 0);
  EXPECT_EQ(order, "a");
  EXPECT_EQ(tarn_tree_dispose(r), 0);
}

TEST_F(Destructors, AParentWhoseChildrenGoIsNotMovedToAnotherOwner) {
  char* const r = lettered(nullptr, 'r');
  void* const a = tarn_tree_allocate(r, 8);
  void* const b = tarn_tree_allocate(a, 8);
  ASSERT_EQ(tarn_tree_reference(r, b), 0);
  lettered(b, 'c');
  int result = 0;
  on_end = [&](void*) {
    errno = 0;
    result = tarn_tree_dispose_children(a);
    return 0;
  };
  EXPECT_EQ(tarn_tree_dispose_children(b), 0);
  EXPECT_EQ(result, -1);
  EXPECT_EQ(tarn_tree_parent(b), a);
  on_end = nullptr;
  EXPECT_EQ(tarn_tree_dispose_children(a), 0);
  EXPECT_EQ(tarn_tree_parent(b), r);
  EXPECT_EQ(tarn_tree_dispose(r), 0);
  EXPECT_EQ(order, "cr");
}

TEST_F(Destructors, OneSetInAnotherIsCalledAfterIt) {
  char* const r = lettered(nullptr, 'r');
  on_end = [&](void* node) {
    static const auto second = [](void*) { return order += '2', 0; };
    return tarn_tree_set_destructor(node, second);
  };
  EXPECT_EQ(tarn_tree_dispose(r), 0);
  EXPECT_EQ(order, "r2");

  char* const s = lettered(nullptr, 's');
  on_end = [&](void* node) { return tarn_tree_set_destructor(node, nullptr), 1; };
  EXPECT_EQ(tarn_tree_dispose(s), -1);
  EXPECT_EQ(tarn_tree_dispose(s), 0);  // It has none any more.
  EXPECT_EQ(order, "r2s");
}

// What is in the way is a node also where a reference is what was met.
TEST_F(Destructors, WhatStayedIsANode) {
  char* const a = lettered(nullptr, 'a');
  char* const b = lettered(nullptr, 'b');
  char* const t = lettered(a, 't');
  ASSERT_EQ(tarn_tree_reference(b, t), 0);
  ASSERT_EQ(tarn_tree_dispose(a), 0);
  void* stayed = nullptr;
  on_end = [&](void* node) {
    if (node == t) {
      EXPECT_EQ(tarn_tree_try_dispose(b, &stayed), -1);
    }
    return 0;
  };
  EXPECT_EQ(tarn_tree_dispose(t), 0);
  EXPECT_EQ(stayed, t);
  EXPECT_EQ(tarn_tree_dispose(b), 0);
}

TEST_F(Destructors, MayMoveOthersOut) {
  char* const r = lettered(nullptr, 'r');
  char* const a = lettered(r, 'a');
  char* const b = lettered(r, 'b');
  char* const saved = lettered(nullptr, 's');
  on_end = [&](void* node) {
    if (node == b) {
      EXPECT_EQ(tarn_tree_steal(saved, a), 0);
    }
    return 0;
  };
  EXPECT_EQ(tarn_tree_dispose(r), 0);
  EXPECT_EQ(order, "br");
  EXPECT_EQ(tarn_tree_parent(a), saved);
  EXPECT_EQ(tarn_tree_dispose(saved), 0);
  EXPECT_EQ(order, "bras");
}

TEST_F(Destructors, CanBeTakenBack) {
  char* const r = lettered(nullptr, 'r');
  EXPECT_EQ(tarn_tree_set_destructor(r, nullptr), 0);
  void* const plain = tarn_tree_allocate(r, 1);
  EXPECT_EQ(tarn_tree_set_destructor(plain, nullptr), 0);
  EXPECT_EQ(tarn_tree_dispose(r), 0);
  EXPECT_EQ(order, "");
  EXPECT_EQ(tarn_tree_dispose(nullptr), 0);
}

TEST_F(Destructors, OfAdoptedBlocks) {
  static std::vector<void*> released;
  released.clear();
  int block = 0;
  char* const r = lettered(nullptr, 'r');
  void* const node = tarn_tree_adopt(r, &block, [](void* p) { released.push_back(p); });
  EXPECT_EQ(tarn_tree_adopted(node), &block);
  EXPECT_EQ(tarn_tree_parent(node), r);
  EXPECT_EQ(tarn_tree_dispose(r), 0);
  EXPECT_EQ(released, std::vector<void*>{&block});
}

// A stack of one page a node would be 4 GiB here.
TEST_F(Destructors, DeepAndWideTreesNeedNoStack) {
  constexpr int nodes = 1000000 / TARN_TEST_DIVISOR;
  void* const root = tarn_tree_allocate(nullptr, 0);
  void* deepest = root;
  for (int i = 0; i < nodes; ++i) deepest = tarn_tree_allocate(deepest, 8);
  for (int i = 0; i < 10 * nodes; ++i) ASSERT_NE(tarn_tree_allocate(deepest, 0), nullptr);
  static int ended;
  ended = 0;
  ASSERT_EQ(tarn_tree_set_destructor(deepest, [](void*) { return ++ended, 0; }), 0);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
  EXPECT_EQ(ended, 1);
}

}  // namespace
