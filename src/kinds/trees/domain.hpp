// domain: a heap or an arena that a subtree has for itself: which nodes lie in it, and the counts
// by which it knows that it can go at once. docs/design/tree.md has the picture.
//
//   in an arena, up to 4 KiB:  | domain << 20 | units |  TreeNode  | bytes ...   at 8 + a * 16
//   larger, or checked:        | total | domain << 20 |  TreeNode  | bytes ...   at a * 16
//   apart, up to 4 KiB:   | destructor | domain << 20 | units |  TreeNode  | bytes ...   at a * 16
//   apart, larger:        ... | block | destructor | total | domain << 20 |  TreeNode  | bytes ...
//   apart, elsewhere:     ... | destructor | block |  TreeNode  | bytes ...
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "kinds/trees/node.hpp"
#include "tarn/arena/arena.h"
#include "tarn/heap/heap.h"

namespace tarn {

struct alignas(tree_grain) TreeDomain {
  // How many reasons there are to visit nodes before the memory can go: destructors of its nodes,
  // references to them, and domains that begin at them.
  std::size_t asking;
  std::size_t guests;   // Nodes in other memory whose parents have their new children in this one.
  std::size_t outside;  // Nodes in this memory whose parents have their new children elsewhere.
  TreeExtra* extras;    // The list of the Extras of its nodes.
  bool is_of_arena;     // The memory is `arena`; else it is `heap`.
  bool is_compact;      // Arenas: small blocks have one word in front.
  bool has_ended;       // The node at which it began has gone.
  tarn_heap heap;
  tarn_arena arena;
};

// The words in front of a node. A node that is apart, of malloc or of a heap, has the address of
// its block there, and in front of that the destructor.
inline std::uint64_t* words_of(const TreeNode* node) noexcept {
  return reinterpret_cast<std::uint64_t*>(const_cast<TreeNode*>(node));
}
// The word in front of a node in an arena has the domain's address above the units.
inline constexpr unsigned units_bits = 20;
inline constexpr std::uint64_t units_mask = (std::uint64_t{1} << units_bits) - 1;
inline std::uintptr_t domain_in_word(std::uint64_t word) noexcept {
  return static_cast<std::uintptr_t>((word >> units_bits) * tree_grain);
}
inline TreeDomain* domain_of_arena_node(const TreeNode* node) noexcept {
  TARN_ASSERT(memory_of(node) == memory_of_arena);
  return reinterpret_cast<TreeDomain*>(domain_in_word(words_of(node)[-1]));
}

// The bytes of the block of a node in an arena; 0: a second word in front has them.
inline std::size_t compact_bytes_of(const TreeNode* node) noexcept {
  TARN_ASSERT(memory_of(node) == memory_of_arena);
  return static_cast<std::size_t>(words_of(node)[-1] & units_mask) * tree_grain;
}

// The next two read nothing but the node.
inline bool is_of_malloc(const TreeNode* node) noexcept {
  return memory_of(node) == memory_of_malloc;
}
inline bool begins_domain(const TreeNode* node) noexcept {
  return is_extended(node) && extra_of(node)->domain != nullptr;
}

// The domain in whose memory the node lies; null: it lies in malloc's.
TreeDomain* domain_of(const TreeNode* node) noexcept;

// The domain in whose memory children of `parent`, which may be null, are made; null: in malloc's.
TreeDomain* other_domain_below(const TreeNode* parent) noexcept;
inline bool is_malloc_below(const TreeNode* parent) noexcept {
  return parent == nullptr || (is_of_malloc(parent) && !is_extended(parent));
}
inline TreeDomain* domain_below(const TreeNode* parent) noexcept {
  return TARN_LIKELY(is_malloc_below(parent)) ? nullptr : other_domain_below(parent);
}

// Counts an edge from a parent to a node. below: the domain in which the parent's new children lie;
// own: the one in which the node lies. Either may be null, for malloc's memory.
inline void count_edge_between(TreeDomain* below, TreeDomain* own, int change) noexcept {
  if (below == own) return;
  TARN_ASSERT(change > 0 || below == nullptr || below->guests != 0);
  TARN_ASSERT(change > 0 || own == nullptr || own->outside != 0);
  if (below != nullptr) below->guests += static_cast<std::size_t>(change);
  if (own != nullptr) own->outside += static_cast<std::size_t>(change);
}

// Counts the edge when a node gets a parent (change: 1) or loses it (-1). The parent may be null.
void count_other_edge(const TreeNode* parent, const TreeNode* node, int change) noexcept;
inline void count_edge(const TreeNode* parent, const TreeNode* node, int change) noexcept {
  const bool is_plain = is_of_malloc(node) && is_malloc_below(parent);
  if (TARN_UNLIKELY(!is_plain)) count_other_edge(parent, node, change);
}

// Counts the edges when a node moves from one parent to another.
void count_other_move(const TreeNode* from, const TreeNode* to, const TreeNode* node) noexcept;
inline void count_move(const TreeNode* from, const TreeNode* to, const TreeNode* node) noexcept {
  const bool is_plain = is_of_malloc(node) && is_malloc_below(from) && is_malloc_below(to);
  if (TARN_UNLIKELY(!is_plain)) count_other_move(from, to, node);
}

// Adds to the domain's reasons to visit its nodes. domain: may be null.
inline void add_asking(TreeDomain* domain, int change) noexcept {
  TARN_ASSERT(domain == nullptr || change >= 0 || domain->asking != 0);
  if (domain != nullptr) domain->asking += static_cast<std::size_t>(change);
}

// The same for the domain in which the node lies.
inline void count_asking(const TreeNode* node, int change) noexcept {
  if (TARN_LIKELY(is_of_malloc(node))) return;
  add_asking(domain_of(node), change);
}

// Puts the Extra of a node on the list of the domain in which the node lies, and takes it off.
void join_domain(const TreeNode* node, TreeExtra& extra) noexcept;
void leave_domain(TreeExtra& extra) noexcept;
// Takes all reasons to visit the node off its domain's count: the node is about to go.
void stop_asking(const TreeNode* node) noexcept;

// pre: the node is of malloc or of a heap
inline void* block_of(const TreeNode* node) noexcept {
  TARN_ASSERT(memory_of(node) != memory_of_arena);
  auto* const start = const_cast<TreeNode*>(node);
  if (TARN_LIKELY(!has(node, node_is_apart))) return start;
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(words_of(node)[-1]));
}

// Where the node's destructor is stored; null: the node has no place for one yet.
tarn_tree_destructor* other_place_of_destructor(const TreeNode* node) noexcept;
inline tarn_tree_destructor* place_of_destructor(const TreeNode* node) noexcept {
  const bool is_apart = has(node, node_is_apart);
  if (is_apart && TARN_LIKELY(is_of_malloc(node))) {
    return reinterpret_cast<tarn_tree_destructor*>(words_of(node) - 2);
  }
  if (!is_apart && TARN_LIKELY(!is_extended(node))) return nullptr;
  return other_place_of_destructor(node);
}

// The node's destructor; null: it has none.
inline tarn_tree_destructor destructor_of(const TreeNode* node) noexcept {
  tarn_tree_destructor* const place = place_of_destructor(node);
  return place == nullptr ? nullptr : *place;
}
// pre: the node is apart or extended, or it is null
void set_destructor(TreeNode* node, tarn_tree_destructor destructor) noexcept;

}  // namespace tarn
