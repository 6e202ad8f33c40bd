// node: the structures of trees (nodes, references, Extras), and how links between nodes are read
// and written. docs/design/tree.md has the picture.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/base/config.hpp"
#include "tarn/tree/tree.h"

namespace tarn {

// Nodes of one slab link each other by their offsets in it, in units of 16 bytes and 30 bits.
inline constexpr unsigned tree_slab_bits = TARN_TREE_SLAB_BITS;
inline constexpr std::uintptr_t tree_slab_mask = (std::uintptr_t{1} << tree_slab_bits) - 1;
inline constexpr std::size_t tree_grain = 16;
static_assert(tree_slab_bits <= 34 && tree_slab_bits >= 8);

enum TreeLink : unsigned { link_parent, link_child, link_older, link_younger };

struct TreeExtra;
struct TreeDomain;

// Lies in front of the program's bytes. Each word holds a link, and flags in its two low bits. The
// flags of the third word are a TreeMemory. The last word has none, since an extended node has its
// Extra's address in the last two words.
struct alignas(tree_grain) TreeNode {
  std::uint32_t word[4];
};
static_assert(sizeof(TreeNode) == tree_grain);

// The number of a flag is 2 * word + bit.
enum TreeFlag : unsigned {
  node_is_extended = 0,
  node_is_reference = 1,  // A TreeReference.
  node_is_on_path = 2,    // Its disposal has begun.
  node_is_apart = 3,      // Its block begins before it, with a destructor (kinds/trees/domain.hpp).
};

// Where the node's block comes from.
enum TreeMemory : std::uint32_t {
  memory_of_malloc = 0,  // Malloc, or a heap that is the thread's default.
  memory_of_heap = 1,    // A heap that a subtree has for itself.
  memory_of_arena = 2,   // An arena that a subtree has for itself.
  memory_of_none = 3,    // The node has gone. This can be seen until the block is used again.
};

// The parent of a reference is a further owner of `target`. When the other owners have gone, the
// target becomes the child of the reference, and only then can a disposal reach it from here.
struct TreeReference : TreeNode {
  TreeNode* target;
  TreeReference* next;      // The next younger reference to the same target; null at the end.
  TreeReference* previous;  // The next older one; of the oldest: the youngest.
  bool is_owner;            // The reference is the target's parent, and in no list.
};

// What only some nodes have.
struct TreeExtra {
  TreeNode* link[4];
  tarn_tree_destructor destructor;
  const char* name;
  TreeReference* references;    // The oldest one that is not the node's parent.
  TreeNode* next_found;         // The next node that a search for cycles has found.
  std::uint64_t is_found : 1;   // The search for cycles has found this node.
  std::uint64_t owns_name : 1;  // The name is to be freed.
  std::uint64_t thread : 62;    // The thread that owns this subtree; 0: as the parent has it.
  TreeDomain* domain;           // The domain that begins at the node.
  TreeExtra* next;              // The next one in the list of the domain that the node lies in.
  TreeExtra** led;              // The pointer that leads here in that list; null: in no list.
};
static_assert(sizeof(TreeExtra) == 96);

inline TreeNode* node_of(void* p) noexcept { return static_cast<TreeNode*>(p) - 1; }
inline const TreeNode* node_of(const void* p) noexcept {
  return static_cast<const TreeNode*>(p) - 1;
}
inline void* bytes_of(TreeNode* node) noexcept { return node + 1; }

inline bool has(const TreeNode* node, TreeFlag flag) noexcept {
  return (node->word[flag / 2] >> flag % 2 & 1) != 0;
}
inline void set(TreeNode* node, TreeFlag flag, bool on) noexcept {
  const std::uint32_t bit = std::uint32_t{1} << flag % 2;
  std::uint32_t& word = node->word[flag / 2];
  word = on ? word | bit : word & ~bit;
}

inline TreeExtra* extra_of(const TreeNode* node) noexcept {
  TARN_ASSERT(has(node, node_is_extended));
  const std::uint64_t address = std::uint64_t{node->word[3]} << 32 | (node->word[2] & ~3U);
  return reinterpret_cast<TreeExtra*>(static_cast<std::uintptr_t>(address));
}
inline bool is_extended(const TreeNode* node) noexcept { return has(node, node_is_extended); }
inline bool is_reference(const TreeNode* node) noexcept { return has(node, node_is_reference); }
inline TreeMemory memory_of(const TreeNode* node) noexcept {
  return static_cast<TreeMemory>(node->word[2] & 3);
}

// Marks the node before its block is freed, so that a later use is seen. A free overwrites the
// first 8 bytes of a block, which end before the mark, and in malloc's own blocks the next 8, with
// bits that say the same (freed_mark() of engine/threads/orphans.cpp); or the heap checks its
// frees.
inline void mark_gone(TreeNode* node) noexcept { node->word[2] |= memory_of_none; }
inline bool has_gone(const TreeNode* node) noexcept { return memory_of(node) == memory_of_none; }

// Reports that this is no node, or that it was written over, and ends the process.
[[noreturn]] void report_tree_damage(const TreeNode* node) noexcept;

// A link as a word has it, without the flags: the offset in the slab, shifted.
inline constexpr std::uint32_t link_bits = ~std::uint32_t{3};
inline std::uint32_t link_to(const TreeNode* target) noexcept {
  return static_cast<std::uint32_t>((address_of(target) & tree_slab_mask) >> 2);
}
// pre: the node is not extended
inline void put(TreeNode* node, TreeLink link, std::uint32_t to) noexcept {
  TARN_ASSERT(!is_extended(node) && (to & ~link_bits) == 0);
  node->word[link] = to | (node->word[link] & ~link_bits);
}

// pre: the node is not extended
inline TreeNode* link_of(const TreeNode* node, TreeLink link) noexcept {
  const std::uintptr_t offset = std::uintptr_t{node->word[link] & link_bits} << 2;
  if (offset == 0) return nullptr;
  return reinterpret_cast<TreeNode*>((address_of(node) & ~tree_slab_mask) | offset);
}
inline TreeNode* node_at(std::uintptr_t slab, std::uint32_t link) noexcept {
  return reinterpret_cast<TreeNode*>(slab | std::uintptr_t{link} << 2);
}

inline TreeNode* linked(const TreeNode* node, TreeLink link) noexcept {
  if (TARN_UNLIKELY(is_extended(node))) return extra_of(node)->link[link];
  return link_of(node, link);
}
inline TreeNode* parent_of(const TreeNode* n) noexcept { return linked(n, link_parent); }
inline TreeNode* older_of(const TreeNode* n) noexcept { return linked(n, link_older); }
inline TreeNode* younger_of(const TreeNode* n) noexcept { return linked(n, link_younger); }
// Whether the node is neither extended nor a reference: its first word has a link and no flags.
inline bool is_ordinary(const TreeNode* node) noexcept { return (node->word[0] & ~link_bits) == 0; }

inline TreeNode* other_newest_of(const TreeNode* n) noexcept {
  if (!is_reference(n)) return linked(n, link_child);
  const auto* const reference = static_cast<const TreeReference*>(n);
  return reference->is_owner ? reference->target : nullptr;
}
inline TreeNode* newest_of(const TreeNode* n) noexcept {
  if (TARN_UNLIKELY(!is_ordinary(n))) return other_newest_of(n);
  return link_of(n, link_child);
}

inline bool is_in_slab_of(const TreeNode* node, const TreeNode* target) noexcept {
  return (address_of(node) ^ address_of(target)) <= tree_slab_mask &&
         (address_of(target) & tree_slab_mask) != 0;
}

// Whether `node` can link to `target` without being extended first.
inline bool can_link(const TreeNode* node, const TreeNode* target) noexcept {
  return target == nullptr || is_extended(node) || is_in_slab_of(node, target);
}

// pre: can_link(node, target)
inline void set_link(TreeNode* node, TreeLink link, TreeNode* target) noexcept {
  TARN_ASSERT(can_link(node, target));
  if (TARN_UNLIKELY(is_extended(node))) {
    extra_of(node)->link[link] = target;
    return;
  }
  put(node, link, link_to(target));
}

inline bool has_references(const TreeNode* node) noexcept {
  return is_extended(node) && extra_of(node)->references != nullptr;
}

// The owner as the program knows it: if the parent is a reference, the parent of the reference.
inline TreeNode* owner_of(const TreeNode* node) noexcept {
  TreeNode* const parent = parent_of(node);
  return parent != nullptr && is_reference(parent) ? parent_of(parent) : parent;
}

}  // namespace tarn
