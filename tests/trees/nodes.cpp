// Nodes: memory, places in the tree, sizes, names, text.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tarn/heap/heap.h"
#include "tarn/tree/tree.h"

namespace {

std::vector<void*> children_of(const void* node) {
  std::vector<void*> all;
  for (void* c = tarn_tree_first_child(node); c != nullptr; c = tarn_tree_next_sibling(c)) {
    all.push_back(c);
  }
  return all;
}

tarn_tree_stats stats_of(const void* node) {
  tarn_tree_stats stats = TARN_TREE_STATS();
  EXPECT_EQ(tarn_tree_get_stats(node, &stats), 0);
  return stats;
}

TEST(Nodes, AreAlignedAndHaveWhatWasAskedFor) {
  void* const root = tarn_tree_allocate(nullptr, 0);
  for (std::size_t bytes = 0; bytes < 5000; bytes += bytes < 100 ? 1 : 97) {
    void* const node = tarn_tree_allocate(root, bytes);
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(node) % 16, 0u);
    EXPECT_GE(tarn_tree_size(node), bytes);
    std::memset(node, 0xa5, bytes);
  }
  EXPECT_EQ(tarn_tree_check(root), 1);
  EXPECT_EQ(tarn_tree_dispose(root), 0);
}

// 32 bytes at most, rounding included, for a leaf of any size up to 240.
TEST(Nodes, AreSmall) {
  void* const root = tarn_tree_allocate(nullptr, 0);
  for (std::size_t bytes = 0; bytes <= 240; ++bytes) {
    EXPECT_LE(tarn_tree_size(tarn_tree_allocate(root, bytes)) + 16, bytes + 32) << bytes;
  }
  tarn_tree_dispose(root);
}

TEST(Nodes, SizesThatNoMachineHasAreRefused) {
  volatile std::size_t hidden = SIZE_MAX / 8;  // Compilers warn of what they see.
  const std::size_t large = hidden;
  void* const root = tarn_tree_allocate(nullptr, 8);
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 15, std::size_t{PTRDIFF_MAX}}) {
    errno = 0;
    EXPECT_EQ(tarn_tree_allocate(root, bytes), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(tarn_tree_allocate_aligned(root, 64, bytes), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(tarn_tree_reallocate(root, bytes), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
  errno = 0;
  EXPECT_EQ(tarn_tree_allocate_array(root, large, 16), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  errno = 0;
  EXPECT_EQ(tarn_tree_allocate_zeroed(root, large, 16), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  errno = 0;
  EXPECT_EQ(tarn_tree_allocate_aligned(root, 24, 8), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_TRUE(children_of(root).empty());
  tarn_tree_dispose(root);
}

TEST(Nodes, HaveAnyAlignment) {
  void* const root = tarn_tree_allocate(nullptr, 8);
  for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2) {
    void* const node = tarn_tree_allocate_aligned(root, alignment, 100);
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(node) % alignment, 0u);
    EXPECT_GE(tarn_tree_size(node), 100u);
    std::memset(node, 1, tarn_tree_size(node));
    if (alignment <= 16) continue;
    errno = 0;
    EXPECT_EQ(tarn_tree_reallocate(node, 200), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
  EXPECT_EQ(tarn_tree_check(root), 1);
  tarn_tree_dispose(root);
}

// The program has the address of a node also from others: compilers must not think otherwise.
__attribute__((noinline)) void add(void* list, int value) {
  int* const p = static_cast<int*>(tarn_tree_allocate(list, sizeof *p));
  if (p != nullptr) *p = value;
}
__attribute__((noinline)) int changed_elsewhere(void* list) {
  int* const p = static_cast<int*>(tarn_tree_allocate(list, sizeof *p));
  *p = 1;
  *static_cast<int*>(tarn_tree_first_child(list)) = 2;
  return *p;
}

TEST(Nodes, AreKnownToOthers) {
  void* const list = tarn_tree_allocate(nullptr, 0);
  add(list, 17);
  EXPECT_EQ(*static_cast<int*>(tarn_tree_first_child(list)), 17);
  tarn_tree_dispose_children(list);
  EXPECT_EQ(changed_elsewhere(list), 2);
  tarn_tree_dispose(list);
}

// What a node has besides is malloc's own, and a node stays in its heap.
TEST(Nodes, OutliveTheHeapThatServedMeanwhile) {
  void* const root = tarn_tree_allocate(nullptr, 8);
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  const tarn_heap heap = tarn_heap_create(&options);
  const tarn_heap before = tarn_heap_set_default(heap);
  void* const inside = tarn_tree_allocate(root, 8);
  EXPECT_EQ(tarn_tree_set_name(root, "root"), 0);
  void* const grown = tarn_tree_reallocate(root, 5000);
  tarn_heap_set_default(before);
  EXPECT_EQ(tarn_tree_parent(inside), grown);
  EXPECT_EQ(tarn_heap_owns(heap, static_cast<char*>(grown) - 16), 0);
  EXPECT_EQ(tarn_tree_dispose(inside), 0);
  EXPECT_EQ(tarn_heap_destroy(heap), 0);
  EXPECT_STREQ(tarn_tree_name(grown), "root");
  EXPECT_EQ(tarn_tree_dispose(grown), 0);
}

TEST(Nodes, ChildrenKeepTheirOrder) {
  void* const root = tarn_tree_allocate(nullptr, 8);
  std::vector<void*> made;
  for (int i = 0; i < 100; ++i) made.push_back(tarn_tree_allocate(root, 16));
  EXPECT_EQ(children_of(root), made);
  for (const std::size_t at : {std::size_t{99}, std::size_t{50}, std::size_t{0}}) {
    EXPECT_EQ(tarn_tree_dispose(made[at]), 0);
    made.erase(made.begin() + static_cast<std::ptrdiff_t>(at));
    EXPECT_EQ(children_of(root), made);
    EXPECT_EQ(tarn_tree_check(root), 1);
  }
  EXPECT_EQ(tarn_tree_steal(nullptr, made[3]), 0);
  EXPECT_EQ(tarn_tree_parent(made[3]), nullptr);
  EXPECT_EQ(tarn_tree_steal(root, made[3]), 0);
  made.push_back(made[3]);
  made.erase(made.begin() + 3);
  EXPECT_EQ(children_of(root), made);
  EXPECT_EQ(tarn_tree_steal(root, made[3]), 0);  // It is there already.
  EXPECT_EQ(children_of(root), made);
  tarn_tree_dispose(root);
}

TEST(Nodes, CanBeWalked) {
  void* const root = tarn_tree_allocate(nullptr, 8);
  void* const a = tarn_tree_allocate(root, 8);
  void* const b = tarn_tree_allocate(root, 8);
  void* const aa = tarn_tree_allocate(a, 8);
  void* const ab = tarn_tree_allocate(a, 8);
  std::vector<void*> seen;
  for (void* n = tarn_tree_next(root, root); n != nullptr; n = tarn_tree_next(root, n)) {
    seen.push_back(n);
  }
  EXPECT_EQ(seen, (std::vector<void*>{a, aa, ab, b}));
  EXPECT_EQ(tarn_tree_next(a, ab), nullptr);
  EXPECT_EQ(tarn_tree_is_ancestor(root, ab), 1);
  EXPECT_EQ(tarn_tree_is_ancestor(b, ab), 0);
  EXPECT_EQ(tarn_tree_is_ancestor(ab, ab), 0);
  const tarn_tree_stats stats = stats_of(root);
  EXPECT_EQ(stats.nodes, 5u);
  EXPECT_EQ(stats.depth, 3u);
  EXPECT_EQ(stats.references, 0u);
  EXPECT_GE(stats.usable_bytes, 40u);
  tarn_tree_stats wrong{};
  EXPECT_EQ(tarn_tree_get_stats(root, &wrong), -1);
  tarn_tree_dispose(root);
}

TEST(Nodes, OwnAncestorsAreRefusedAsChildren) {
  void* const root = tarn_tree_allocate(nullptr, 8);
  void* const a = tarn_tree_allocate(root, 8);
  void* const b = tarn_tree_allocate(a, 8);
  for (void* const below : {root, a, b}) {
    errno = 0;
    EXPECT_EQ(tarn_tree_steal(below, root), -1);
    EXPECT_EQ(errno, ELOOP);
  }
  EXPECT_EQ(tarn_tree_parent(b), a);
  EXPECT_EQ(tarn_tree_check(root), 1);
  tarn_tree_dispose(root);
}

TEST(Nodes, KeepEverythingWhenTheyGrow) {
  void* const root = tarn_tree_allocate(nullptr, 8);
  for (int place = 0; place < 3; ++place) {
    std::vector<void*> siblings;
    for (int i = 0; i < 3; ++i) siblings.push_back(tarn_tree_allocate(root, 16));
    void*& node = siblings[static_cast<std::size_t>(place)];
    ASSERT_EQ(tarn_tree_set_name(node, "grown"), 0);
    std::vector<void*> children;
    for (int i = 0; i < 5; ++i) children.push_back(tarn_tree_allocate(node, 24));
    std::memset(node, 'x', 16);
    for (const std::size_t bytes : {100u, 5000u, 300000u, 3000000u, 9000000u, 70u, 1u}) {
      node = tarn_tree_reallocate(node, bytes);
      ASSERT_NE(node, nullptr);
      EXPECT_EQ(std::string(static_cast<char*>(node), 1), "x");
      EXPECT_GE(tarn_tree_size(node), bytes);
      EXPECT_EQ(children_of(node), children);
      EXPECT_EQ(children_of(root), siblings);
      EXPECT_STREQ(tarn_tree_name(node), "grown");
      ASSERT_EQ(tarn_tree_check(root), 1);
    }
    EXPECT_EQ(tarn_tree_dispose_children(root), 0);
  }
  void* const lone = tarn_tree_reallocate(tarn_tree_allocate(nullptr, 8), 10000);
  EXPECT_EQ(tarn_tree_check(lone), 1);
  tarn_tree_dispose(lone);
  tarn_tree_dispose(root);
}

// Their bytes are moved by the system where they cannot stay, whichever neighbours they have.
TEST(Nodes, LargeLeavesKeepTheirPlaceInTheTreeWhenTheyGrow) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  void* const root = tarn_tree_allocate(nullptr, 8);
  std::vector<void*> siblings;
  for (int i = 0; i < 4; ++i) siblings.push_back(tarn_tree_allocate(root, 2 * mib));
  for (void*& node : siblings) std::memset(node, 'x', mib);
  int moved = 0;
  for (std::size_t bytes = 4 * mib; bytes <= 64 * mib; bytes *= 2) {
    for (void*& node : siblings) {
      void* const old = node;
      node = tarn_tree_reallocate(node, bytes);
      ASSERT_NE(node, nullptr);
      moved += node != old ? 1 : 0;
      EXPECT_EQ(static_cast<char*>(node)[0], 'x');
      EXPECT_EQ(static_cast<char*>(node)[mib - 1], 'x');
      EXPECT_EQ(children_of(root), siblings);
      ASSERT_EQ(tarn_tree_check(root), 1);
    }
  }
  EXPECT_NE(moved, 0);
  for (void*& node : siblings) node = tarn_tree_reallocate(node, 10);
  EXPECT_EQ(children_of(root), siblings);
  EXPECT_EQ(tarn_tree_check(root), 1);
  tarn_tree_dispose(root);
}

TEST(Names, AreFoundAboveAndBelow) {
  void* const root = tarn_tree_allocate(nullptr, 8);
  void* const a = tarn_tree_allocate(root, 8);
  void* const b = tarn_tree_allocate(a, 8);
  void* const c = tarn_tree_allocate(root, 8);
  EXPECT_EQ(tarn_tree_name(a), nullptr);
  std::string name = "leaf";
  EXPECT_EQ(tarn_tree_set_name(b, name.c_str()), 0);
  EXPECT_EQ(tarn_tree_set_name(c, name.c_str()), 0);
  name = "gone";
  EXPECT_STREQ(tarn_tree_name(b), "leaf");
  EXPECT_EQ(tarn_tree_set_static_name(root, "root"), 0);
  EXPECT_EQ(tarn_tree_find(root, "leaf"), b);
  EXPECT_EQ(tarn_tree_find(root, "root"), nullptr);
  EXPECT_EQ(tarn_tree_find_ancestor(b, "root"), root);
  EXPECT_EQ(tarn_tree_find_ancestor(b, "leaf"), nullptr);
  EXPECT_EQ(tarn_tree_set_name(b, nullptr), 0);
  EXPECT_EQ(tarn_tree_find(root, "leaf"), c);
  EXPECT_EQ(tarn_tree_set_name(a, nullptr), 0);
  tarn_tree_dispose(root);
}

TEST(Text, IsCopiedWrittenAndAppended) {
  void* const root = tarn_tree_allocate(nullptr, 8);
  EXPECT_STREQ(tarn_tree_string(root, "abc"), "abc");
  EXPECT_STREQ(tarn_tree_string_n(root, "abcdef", 2), "ab");
  EXPECT_STREQ(tarn_tree_string_n(root, "ab", 200), "ab");
  EXPECT_EQ(tarn_tree_string(root, nullptr), nullptr);
  EXPECT_EQ(tarn_tree_copy(root, nullptr, 4), nullptr);
  const int numbers[] = {1, 2, 3};
  EXPECT_EQ(std::memcmp(tarn_tree_copy(root, numbers, sizeof numbers), numbers, sizeof numbers), 0);
  EXPECT_STREQ(tarn_tree_format(root, "%d-%s", 7, "x"), "7-x");
  const std::string large(10000, 'y');
  EXPECT_EQ(tarn_tree_format(root, "<%s>", large.c_str()), "<" + large + ">");

  char* text = tarn_tree_string(root, "one");
  text = tarn_tree_append(text, " two");
  EXPECT_STREQ(text, "one two");
  text = tarn_tree_append(text, text + 3);
  EXPECT_STREQ(text, "one two two");
  for (int i = 0; i < 12; ++i) text = tarn_tree_append(text, text);
  EXPECT_EQ(std::strlen(text), 11u << 12);
  text = tarn_tree_append_format(text, "%d%c", 5, 'z');
  EXPECT_STREQ(text + (11u << 12), "5z");
  EXPECT_EQ(tarn_tree_parent(text), root);
  EXPECT_EQ(tarn_tree_check(root), 1);
  tarn_tree_dispose(root);
}

TEST(Text, ThatHasRoomStaysWhereItIs) {
  char* const text = static_cast<char*>(tarn_tree_allocate(nullptr, 1000));
  std::strcpy(text, "a");
  const std::size_t room = tarn_tree_size(text);
  char* more = text;
  for (int i = 0; i < 9; ++i) more = tarn_tree_append(more, "0123456789");
  EXPECT_EQ(more, text);
  EXPECT_EQ(tarn_tree_size(text), room);
  tarn_tree_dispose(text);
}

}  // namespace
