// Contestants: trees that the tasks are run with. Each is a class of static functions; what its
// root is, is its own affair. A new one is a class and a word in the tuple at the end.
//
//   root(room)          a root that owns all; room: what nodes and bytes are to come
//   allocate, string    a node below a parent
//   allocate_object     the same with a destructor
//   held_bytes(root)    all blocks of the tree, with what is in front of nodes and behind them
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "tarn/tree/tree.h"

namespace tarn {

struct Room {
  std::size_t nodes;
  std::size_t bytes;  // That programs ask for.
};

using Destructor = int (*)(void* node);

struct TarnTree {
  static constexpr const char* name = "tarn";

  static void* root(const Room&) { return tarn_tree_allocate(nullptr, 0); }
  static void* allocate(void* parent, std::size_t bytes) {
    return tarn_tree_allocate(parent, bytes);
  }
  static void* string(void* parent, const char* text) { return tarn_tree_string(parent, text); }
  static bool steal(void* parent, void* node) { return tarn_tree_steal(parent, node) == 0; }
  static void* allocate_object(void* parent, std::size_t bytes, Destructor destructor) {
    return tarn_tree_allocate_object(parent, alignof(std::max_align_t), bytes, destructor);
  }
  static bool dispose(void* node) { return tarn_tree_dispose(node) == 0; }

  static std::size_t held_bytes(void* root) {
    tarn_tree_stats stats = TARN_TREE_STATS();
    static_cast<void>(tarn_tree_get_stats(root, &stats));
    return stats.usable_bytes + stats.overhead_bytes;
  }
};

struct TarnTreeInHeap : TarnTree {
  static constexpr const char* name = "tarn, a heap of its own";
  static void* root(const Room&) { return tarn_tree_allocate_with_heap(nullptr, 0, nullptr); }
};

struct TarnTreeInArena : TarnTree {
  static constexpr const char* name = "tarn, an arena of its own";
  static void* root(const Room&) { return tarn_tree_allocate_with_arena(nullptr, 0, nullptr); }
};

using TarnTrees = std::tuple<TarnTree, TarnTreeInHeap, TarnTreeInArena>;

}  // namespace tarn
