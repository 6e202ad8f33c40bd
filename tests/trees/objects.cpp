// Trees of objects: tarn/tree/tree.hpp.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tarn/tree/tree.hpp"

namespace {

namespace tree = tarn::tree;

std::string ended;

struct Named {
  explicit Named(std::string wanted) : name(std::move(wanted)) {
    if (name == "bad") throw std::invalid_argument(name);
  }
  ~Named() { ended += name; }
  std::string name;
};

struct Careful {
  ~Careful() { ended += '!'; }
  bool may_dispose() noexcept { return ready; }
  bool ready = false;
};

struct alignas(64) Wide {
  ~Wide() { ended += 'w'; }
  char bytes[100];
};

class Objects : public testing::Test {
 protected:
  void SetUp() override { ended.clear(); }
};

TEST_F(Objects, AreDestroyedBeforeTheirParents) {
  {
    tarn::Tree all;
    auto* const a = all.create<Named>("a");
    auto* const b = all.create<Named>("b");
    static_cast<void>(tree::create<Named>(a, "c"));
    static_cast<void>(tree::create<Named>(b, "d"));
    EXPECT_EQ(tarn_tree_parent(a), all.root());
    EXPECT_EQ(all.stats().nodes, 5u);
  }
  EXPECT_EQ(ended, "dbca");
}

TEST_F(Objects, AConstructorThatThrowsLeavesNothing) {
  tarn::Tree all;
  EXPECT_THROW(static_cast<void>(all.create<Named>("bad")), std::invalid_argument);
  EXPECT_EQ(all.stats().nodes, 1u);
  EXPECT_EQ(ended, "");
  EXPECT_THROW(static_cast<void>(all.create_array<int>(SIZE_MAX / 2)), std::bad_alloc);
}

TEST_F(Objects, CanVeto) {
  tarn::Tree all;
  auto* const careful = all.create<Careful>();
  static_cast<void>(all.create<Named>("n"));
  EXPECT_FALSE(all.clear());
  EXPECT_FALSE(all.dispose());
  EXPECT_EQ(ended, "n");
  careful->ready = true;
  EXPECT_TRUE(all.dispose());
  EXPECT_FALSE(all);
  EXPECT_EQ(ended, "n!");
}

TEST_F(Objects, HaveTheirAlignment) {
  tarn::Tree all;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.create<Wide>()) % 64, 0u);
  }
  EXPECT_TRUE(all.clear());
  EXPECT_EQ(ended, "wwwww");
}

struct Angry {
  explicit Angry(void* parent) {
    EXPECT_FALSE(tree::dispose(parent));  // What is not made yet is in the way.
    throw std::invalid_argument("angry");
  }
  ~Angry() { ended += 'x'; }
};

TEST_F(Objects, AreNoObjectsBeforeTheyAreMade) {
  tarn::Tree all;
  auto* const parent = all.create<Named>("p");
  EXPECT_THROW(static_cast<void>(tree::create<Angry>(parent, parent)), std::invalid_argument);
  EXPECT_EQ(ended, "");
  EXPECT_EQ(all.stats().nodes, 2u);
}

TEST_F(Objects, ATreeWithoutARootHasNoMemory) {
  tarn::Tree all;
  EXPECT_TRUE(all.dispose());
  EXPECT_TRUE(all.dispose());
  EXPECT_TRUE(all.clear());
  EXPECT_EQ(all.stats().nodes, 0u);
  EXPECT_EQ(all.try_create<int>(1), nullptr);
  EXPECT_THROW(static_cast<void>(all.create<int>(1)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(all.create_array<int>(1)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(all.string("x")), std::bad_alloc);
}

TEST_F(Objects, OtherOwnersKeepATree) {
  tarn::Tree b;
  {
    tarn::Tree a;
    static_cast<void>(a.create<Named>("a"));
    EXPECT_TRUE(tree::reference(b.root(), a.root()));
  }
  EXPECT_EQ(ended, "");
  EXPECT_TRUE(b.dispose());
  EXPECT_EQ(ended, "a");
}

TEST_F(Objects, TreesMove) {
  tarn::Tree a;
  static_cast<void>(a.create<Named>("a"));
  tarn::Tree b;
  static_cast<void>(b.create<Named>("b"));
  b = std::move(a);
  EXPECT_EQ(ended, "b");
  EXPECT_FALSE(a);
  tarn::Tree c(std::move(b));
  EXPECT_TRUE(c.dispose());
  EXPECT_EQ(ended, "ba");
}

TEST_F(Objects, TextAndArrays) {
  tarn::Tree all;
  EXPECT_STREQ(all.string("some text"), "some text");
  EXPECT_STREQ(all.string({}), "");
  EXPECT_STREQ(tree::format(all.root(), "%d", 12), "12");
  const int* const zeros = all.create_array<int>(100);
  EXPECT_EQ(std::vector<int>(zeros, zeros + 100), std::vector<int>(100));
  int nodes = 0;
  EXPECT_TRUE(tree::for_each(all.root(), [&](void*) { ++nodes; }));
  EXPECT_EQ(nodes, 4);
  EXPECT_FALSE(tree::for_each(all.root(), [&](void*) { return false; }));
}

TEST_F(Objects, HaveOwners) {
  tarn::Tree a;
  tarn::Tree b;
  auto* const shared = a.create<Named>("s");
  EXPECT_TRUE(tree::reference(b.root(), shared));
  EXPECT_FALSE(tree::dispose(shared));
  EXPECT_TRUE(a.dispose());
  EXPECT_EQ(ended, "");
  EXPECT_FALSE(tree::steal(shared, b.root()));
  EXPECT_TRUE(tree::set_name(shared, "shared"));
  EXPECT_EQ(tarn_tree_find(b.root(), "shared"), shared);
  EXPECT_TRUE(tree::unreference(b.root(), shared));
  EXPECT_EQ(ended, "s");
}

struct Ended {
  explicit Ended(int* c) : count(c) {}
  ~Ended() { ++*count; }
  int* count;
  long more[2] = {};
};
struct alignas(64) WideEnded : Ended {
  using Ended::Ended;
};

// A destructor takes 16 bytes, wherever the node lies, and no Extra.
TEST_F(Objects, HaveAPlaceForTheirDestructors) {
  int ends = 0;
  {
    tarn::Tree trees[] = {tarn::Tree(), tarn::Tree::with_heap(), tarn::Tree::with_arena()};
    for (tarn::Tree& tree : trees) {
      std::size_t least = SIZE_MAX;  // Of a node that leads nowhere far.
      for (int i = 0; i < 100; ++i) {
        auto* const object = tree.create<Ended>(&ends);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(object) % 16, 0U);
        EXPECT_EQ(object->count, &ends);
        tarn_tree_stats stats = TARN_TREE_STATS();
        EXPECT_EQ(tarn_tree_get_stats(object, &stats), 0);
        least = std::min(least, stats.overhead_bytes);
      }
      tarn_arena* const arena = tarn_tree_arena(tree.root());
      const bool is_checked = arena != nullptr && arena->state % 4 != TARN_MODE_FAST;
      if (!is_checked) {
        EXPECT_EQ(least % 96, 32U);  // With an Extra where all slabs are small.
      }
      for (int i = 0; i < 20; ++i) {
        auto* const wide = tree.create<WideEnded>(&ends);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(wide) % 64, 0U);
        (void)tree.create<Ended>(&ends);
        (void)tree.string("between");
      }
      EXPECT_EQ(tarn_tree_check(tree.root()), 1);
    }
    EXPECT_EQ(ends, 0);
    EXPECT_TRUE(trees[1].clear());
    EXPECT_EQ(ends, 140);
  }
  EXPECT_EQ(ends, 420);
}

TEST_F(Objects, WithoutADestructorYet) {
  static int calls;
  calls = 0;
  void* const root = tarn_tree_allocate(nullptr, 8);
  for (const std::size_t alignment : {1U, 16U, 32U, 4096U}) {
    void* const node = tarn_tree_allocate_object(root, alignment, 10, nullptr);
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(node) % alignment, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(node) % 16, 0U);
    EXPECT_EQ(tarn_tree_set_destructor(node, [](void*) { return ++calls, 0; }), 0);
    EXPECT_EQ(tarn_tree_reallocate(node, 20), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
  EXPECT_EQ(tarn_tree_allocate_object(root, 24, 10, nullptr), nullptr);
  EXPECT_EQ(errno, EINVAL);
  volatile std::size_t hidden = SIZE_MAX - 4096;
  EXPECT_EQ(tarn_tree_allocate_object(root, 16, hidden, nullptr), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
  EXPECT_EQ(calls, 4);
}

// A destructor that takes itself off, and has its parent disposed of meanwhile.
TEST_F(Objects, DestructorThatIsOffAndRuns) {
  static void* root;
  root = tarn_tree_allocate(nullptr, 8);
  void* const node = tarn_tree_allocate_object(root, 16, 10, [](void* p) {
    EXPECT_EQ(tarn_tree_set_destructor(p, nullptr), 0);
    EXPECT_EQ(tarn_tree_dispose(root), -1);
    EXPECT_EQ(errno, EBUSY);
    return 0;
  });
  EXPECT_EQ(tarn_tree_dispose(node), 0);
  EXPECT_EQ(tarn_tree_first_child(root), nullptr);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

}  // namespace
