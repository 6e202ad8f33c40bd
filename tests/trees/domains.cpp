// domains: heaps and arenas that subtrees have for themselves.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tarn/tree/tree.h"

namespace {

void* add(void* parent, const char* text) { return tarn_tree_string(parent, text); }

// Its links lead nowhere from here on.
void spoil(void* node) {
  const auto address = reinterpret_cast<std::uintptr_t>(node) - 16;
  for (std::uintptr_t i = 0; i < 16; ++i) {
    *reinterpret_cast<volatile unsigned char*>(address + i) = 0xff;
  }
}

enum class Kind { heap, arena };

class Domains : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override { before_ = live_blocks(); }
  void TearDown() override { EXPECT_EQ(live_blocks(), before_); }

  // Of malloc's heap, and so with all that a tree has besides its nodes.
  static std::uint64_t live_blocks() {
    tarn_heap_stats stats = TARN_HEAP_STATS();
    tarn_heap_get_stats(tarn_heap_main(), &stats);
    return stats.live_blocks;
  }

  static bool is_of_arena() { return GetParam() == Kind::arena; }
  static void* make(void* parent, std::size_t bytes) {
    return is_of_arena() ? tarn_tree_allocate_with_arena(parent, bytes, nullptr)
                         : tarn_tree_allocate_with_heap(parent, bytes, nullptr);
  }
  static int give(void* node) {
    return is_of_arena() ? tarn_tree_give_arena(node, nullptr) : tarn_tree_give_heap(node, nullptr);
  }
  // Whether the node lies in what has been given to `owner`.
  static bool lies_in(const void* node, void* owner) {
    if (is_of_arena()) return tarn_arena_owns(tarn_tree_arena(owner), node) == 1;
    const tarn_heap heap = tarn_tree_heap(owner);
    return tarn_heap_owns(heap, static_cast<const char*>(node) - 16) == 1;
  }

 private:
  std::uint64_t before_ = 0;
};

std::string order;
int note(void* p) {
  order += static_cast<char*>(p);
  return 0;
}
int veto(void*) { return 1; }

void* noted(void* parent, const char* text) {
  void* const node = tarn_tree_string(parent, text);
  EXPECT_EQ(tarn_tree_set_destructor(node, note), 0);
  return node;
}

TEST_P(Domains, NodesBelowLieThere) {
  void* const root = make(nullptr, 100);
  ASSERT_NE(root, nullptr);
  EXPECT_FALSE(lies_in(root, root));
  std::vector<void*> nodes = {root};
  for (int i = 1; i < 5000; ++i) {
    void* const parent = nodes[static_cast<std::size_t>(i) * 7919 % nodes.size()];
    const auto bytes = static_cast<std::size_t>(i % 13 == 0 ? i : i % 90);
    void* const node = tarn_tree_allocate(parent, bytes);
    ASSERT_TRUE(lies_in(node, root)) << i;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(node) % 16, 0U);
    EXPECT_GE(tarn_tree_size(node), bytes);
    std::memset(node, 0xee, tarn_tree_size(node));
    nodes.push_back(node);
  }
  EXPECT_EQ(tarn_tree_check(root), 1);
  tarn_tree_stats stats = TARN_TREE_STATS();
  EXPECT_EQ(tarn_tree_get_stats(root, &stats), 0);
  EXPECT_EQ(stats.nodes, 5000U);
  void* const elsewhere = tarn_tree_allocate(nullptr, 8);
  EXPECT_FALSE(lies_in(elsewhere, root));
  EXPECT_EQ(tarn_tree_dispose(root), 0);
  EXPECT_EQ(tarn_tree_dispose(elsewhere), 0);
}

TEST_P(Domains, WhatNeedsNoVisitIsNotLookedAt) {
  // Links that lead nowhere would be found by whoever follows them.
  void* const root = make(nullptr, 8);
  void* first = tarn_tree_allocate(root, 100);
  for (int i = 0; i < 1000; ++i) first = tarn_tree_allocate(i % 2 == 0 ? root : first, 100);
  for (void* n = tarn_tree_first_child(root); n != nullptr;) {
    void* const next = tarn_tree_next_sibling(n);
    spoil(n);
    n = next;
  }
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

TEST_P(Domains, DestructorsRunInOrder) {
  order.clear();
  void* const root = make(nullptr, 8);
  void* const a = noted(root, "a");
  noted(a, "b");
  add(a, "x");
  void* const c = noted(root, "c");
  noted(c, "d");
  EXPECT_EQ(tarn_tree_check(root), 1);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
  EXPECT_EQ(order, "dcba");
}

TEST_P(Domains, RootsOwnDestructorNeedsNoVisit) {
  order.clear();
  void* const root = make(nullptr, 8);
  std::strcpy(static_cast<char*>(root), "r");
  tarn_tree_set_destructor(root, note);
  void* const child = tarn_tree_allocate(root, 100);
  spoil(child);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
  EXPECT_EQ(order, "r");
}

TEST_P(Domains, VetoesKeepThem) {
  void* const root = make(nullptr, 8);
  void* const a = tarn_tree_string(root, "a");
  tarn_tree_set_destructor(a, veto);
  add(root, "b");
  void* stayed = nullptr;
  EXPECT_EQ(tarn_tree_try_dispose(root, &stayed), -1);
  EXPECT_EQ(stayed, a);
  EXPECT_STREQ(static_cast<char*>(a), "a");
  EXPECT_EQ(tarn_tree_first_child(root), a);
  EXPECT_EQ(tarn_tree_next_sibling(a), nullptr);
  tarn_tree_set_destructor(a, nullptr);
  EXPECT_EQ(tarn_tree_check(root), 1);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

TEST_P(Domains, NamesGoWithTheNodes) {
  void* const root = make(nullptr, 8);
  for (int i = 0; i < 100; ++i) {
    void* const node = tarn_tree_allocate(root, 40);
    EXPECT_EQ(tarn_tree_set_name(node, "a name of some length, so that it is a block"), 0);
    if (i % 3 == 0) {
      EXPECT_EQ(tarn_tree_dispose(node), 0);
    }
  }
  EXPECT_EQ(tarn_tree_check(root), 1);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

TEST_P(Domains, NodesThatWereMovedAwayKeepTheMemory) {
  void* const other = tarn_tree_allocate(nullptr, 8);
  void* const root = make(nullptr, 8);
  void* const kept = tarn_tree_string(root, "kept");
  void* const below = tarn_tree_string(kept, "below");
  add(root, "gone");
  EXPECT_EQ(tarn_tree_steal(other, kept), 0);
  EXPECT_EQ(tarn_tree_check(root), 1);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
  EXPECT_STREQ(static_cast<char*>(kept), "kept");
  void* const late = tarn_tree_string(below, "late");  // Still there.
  EXPECT_STREQ(static_cast<char*>(late), "late");
  EXPECT_EQ(tarn_tree_steal(nullptr, below), 0);  // A root of its own.
  EXPECT_EQ(tarn_tree_dispose(other), 0);
  EXPECT_STREQ(static_cast<char*>(below), "below");
  EXPECT_EQ(tarn_tree_check(below), 1);
  EXPECT_EQ(tarn_tree_dispose(below), 0);
}

TEST_P(Domains, GuestsAreVisited) {
  order.clear();
  void* const root = make(nullptr, 8);
  void* const inside = tarn_tree_string(root, "inside");
  void* const guest = tarn_tree_string(nullptr, "g");
  noted(guest, "h");
  EXPECT_EQ(tarn_tree_steal(inside, guest), 0);
  void* const below_guest = tarn_tree_string(guest, "x");
  EXPECT_FALSE(lies_in(below_guest, root));
  EXPECT_EQ(tarn_tree_check(root), 1);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
  EXPECT_EQ(order, "h");
}

TEST_P(Domains, ReferencesToNodesInside) {
  void* const owner = tarn_tree_allocate(nullptr, 8);
  void* const root = make(nullptr, 8);
  void* const shared = tarn_tree_string(root, "shared");
  add(shared, "below");
  EXPECT_EQ(tarn_tree_reference(owner, shared), 0);
  EXPECT_EQ(tarn_tree_check(root), 1);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
  EXPECT_STREQ(static_cast<char*>(shared), "shared");
  EXPECT_EQ(tarn_tree_parent(shared), owner);
  EXPECT_EQ(tarn_tree_check(owner), 1);
  EXPECT_EQ(tarn_tree_dispose(owner), 0);
}

TEST_P(Domains, ReferencesFromNodesInside) {
  order.clear();
  void* const root = make(nullptr, 8);
  void* const inside = tarn_tree_allocate(root, 8);
  void* const other = tarn_tree_allocate(nullptr, 8);
  void* const shared = noted(other, "s");
  EXPECT_EQ(tarn_tree_reference(inside, shared), 0);
  EXPECT_EQ(tarn_tree_dispose(other), 0);
  EXPECT_EQ(order, "");
  EXPECT_EQ(tarn_tree_dispose(root), 0);
  EXPECT_EQ(order, "s");
}

TEST_P(Domains, OneInAnother) {
  void* const outer = make(nullptr, 8);
  void* const middle = tarn_tree_allocate(outer, 8);
  ASSERT_TRUE(lies_in(middle, outer));
  EXPECT_EQ(give(middle), 0);
  EXPECT_EQ(give(middle), -1);
  EXPECT_EQ(errno, EEXIST);
  void* const inner = tarn_tree_string(middle, "inner");
  EXPECT_FALSE(lies_in(inner, outer));
  EXPECT_TRUE(lies_in(inner, middle));
  add(inner, "more");
  EXPECT_EQ(tarn_tree_check(outer), 1);
  EXPECT_EQ(tarn_tree_dispose(outer), 0);
}

TEST_P(Domains, GivenToANodeWithChildren) {
  order.clear();
  void* const root = tarn_tree_allocate(nullptr, 8);
  noted(root, "a");
  EXPECT_EQ(give(root), 0);
  void* const b = noted(root, "b");
  EXPECT_TRUE(lies_in(b, root));
  EXPECT_EQ(tarn_tree_check(root), 1);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
  EXPECT_EQ(order, "ba");
}

TEST_P(Domains, ChildrenGoAndMemoryIsUsedAgain) {
  void* const root = make(nullptr, 8);
  std::uint64_t held = 0;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 2000; ++i) ASSERT_NE(tarn_tree_allocate(root, 64), nullptr);
    EXPECT_EQ(tarn_tree_dispose_children(root), 0);
    EXPECT_EQ(tarn_tree_first_child(root), nullptr);
    std::uint64_t now = 0;
    if (is_of_arena()) {
      tarn_arena_stats stats = TARN_ARENA_STATS();
      EXPECT_EQ(tarn_arena_get_stats(tarn_tree_arena(root), &stats), 0);
      EXPECT_EQ(stats.used_bytes, 0U);
      now = stats.held_bytes;
    } else {
      tarn_heap_stats stats = TARN_HEAP_STATS();
      EXPECT_EQ(tarn_heap_get_stats(tarn_tree_heap(root), &stats), 0);
      EXPECT_EQ(stats.live_blocks, 0U);
      now = stats.committed_bytes;
    }
    if (round == 10) held = now;
    if (round > 10) {
      EXPECT_LE(now, held);
    }
  }
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

TEST_P(Domains, DestructorDisposesOfTheRoot) {
  static void* root;
  root = make(nullptr, 8);
  void* const node = tarn_tree_allocate(root, 8);
  tarn_tree_set_destructor(node, [](void* p) {
    tarn_tree_set_destructor(p, nullptr);  // Nothing asks any more, and yet it is running.
    EXPECT_EQ(tarn_tree_dispose(root), -1);
    EXPECT_EQ(errno, EBUSY);
    EXPECT_EQ(tarn_tree_dispose_children(root), -1);
    return 0;
  });
  EXPECT_EQ(tarn_tree_dispose(node), 0);
  EXPECT_EQ(tarn_tree_check(root), 1);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

TEST_P(Domains, GrowthMovesAndKeeps) {
  void* const root = make(nullptr, 8);
  void* const a = tarn_tree_string(root, "a");
  char* text = tarn_tree_string(root, "");
  add(text, "child of the text");
  std::string expected;
  for (int i = 0; i < 3000; ++i) {
    text = tarn_tree_append_format(text, "%d,", i);
    expected += std::to_string(i) + ",";
    if (i % 100 == 0) add(root, "in the way");
  }
  EXPECT_EQ(expected, text);
  EXPECT_TRUE(lies_in(text, root));
  EXPECT_EQ(tarn_tree_check(root), 1);
  void* const aligned = tarn_tree_allocate_aligned(a, 4096, 10);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 4096, 0U);
  EXPECT_GE(tarn_tree_size(aligned), 10U);
  EXPECT_EQ(tarn_tree_reallocate(aligned, 100), nullptr);
  void* const small = tarn_tree_reallocate(tarn_tree_allocate(a, 60000), 10);
  EXPECT_NE(small, nullptr);
  EXPECT_EQ(tarn_tree_dispose(aligned), 0);
  EXPECT_EQ(tarn_tree_check(root), 1);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

TEST_P(Domains, AdoptedBlocksAreReleased) {
  static int released;
  released = 0;
  void* const root = make(nullptr, 8);
  void* const node = tarn_tree_allocate(root, 8);
  ASSERT_NE(tarn_tree_adopt(node, &released, [](void* p) { ++*static_cast<int*>(p); }), nullptr);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
  EXPECT_EQ(released, 1);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Domains, testing::Values(Kind::heap, Kind::arena),
                         [](const auto& kind) {
                           return kind.param == Kind::heap ? "Heap" : "Arena";
                         });

}  // namespace
