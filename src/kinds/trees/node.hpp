// node: what nodes of a tree, references and Extras are, and how links between nodes are read and
// written. docs/design/tree.md has the picture.
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

// In front of the program's bytes. The two low bits of each word are flags, those of the third one
// a TreeMemory; those of the last one are not used, since an extended node has its Extra's address
// in the last two words.
struct alignas(tree_grain) TreeNode {
  std::uint32_t word[4];
};
static_assert(sizeof(TreeNode) == tree_grain);

// A flag: 2 * word + bit.
enum TreeFlag : unsigned {
  node_is_extended = 0,
  node_is_reference = 1,  // A TreeReference.
  node_is_on_path = 2,    // Its disposal has begun.
  node_is_apart = 3,      // Its block begins before it, with a destructor (kinds/trees/domain.hpp).
};

// What the block is a block of.
enum TreeMemory : std::uint32_t {
  memory_of_malloc = 0,  // Or of a heap that is the thread's default.
  memory_of_heap = 1,    // That is a subtree's own.
  memory_of_arena = 2,   // The same.
  memory_of_none = 3,    // The node has gone: as long as nobody else has the block, this is seen.
};

// A further owner of `target` is the parent of this node. Once the others have gone, `target` is
// its child: only then is it asked.
struct TreeReference : TreeNode {
  TreeNode* target;
  TreeReference* next;      // Of the same target, from the oldest on.
  TreeReference* previous;  // That of the oldest is the youngest.
  bool is_owner;            // It is the target's parent: then it is in no list.
};

// What only some nodes have.
struct TreeExtra {
  TreeNode* link[4];
  tarn_tree_destructor destructor;
  const char* name;
  TreeReference* references;  // The oldest of those that are not its parent.
  TreeNode* next_found;       // While cycles are looked for.
  std::uint64_t is_found : 1;
  std::uint64_t owns_name : 1;  // To be freed.
  std::uint64_t thread : 62;    // The owner of it and all below, if that is checked; 0: as above.
  TreeDomain* domain;           // The one that begins at the node.
  TreeExtra* next;              // In the list of the domain in whose memory the node lies.
  TreeExtra** led;              // The pointer that leads here in that list; null: in none.
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
  const std::uint64_t address = std::uint64_t{node->word[3]} << 32 | (node->word[2] & ~3U);
  return reinterpret_cast<TreeExtra*>(static_cast<std::uintptr_t>(address));
}
inline bool is_extended(const TreeNode* node) noexcept { return has(node, node_is_extended); }
inline bool is_reference(const TreeNode* node) noexcept { return has(node, node_is_reference); }
inline TreeMemory memory_of(const TreeNode* node) noexcept {
  return static_cast<TreeMemory>(node->word[2] & 3);
}

// Comes before its block is freed. (Frees write to the first 8 bytes of a block at most, or check
// for themselves.)
inline void mark_gone(TreeNode* node) noexcept { node->word[2] |= memory_of_none; }
inline bool has_gone(const TreeNode* node) noexcept { return memory_of(node) == memory_of_none; }

// Ends the process: the node is none, or has been written to.
[[noreturn]] void report_tree_damage(const TreeNode* node) noexcept;

// A link as it stands in a word: what it leads to in the slab, and not the flags.
inline constexpr std::uint32_t link_bits = ~std::uint32_t{3};
inline std::uint32_t link_to(const TreeNode* target) noexcept {
  return static_cast<std::uint32_t>((address_of(target) & tree_slab_mask) >> 2);
}
// pre: the node is not extended
inline void put(TreeNode* node, TreeLink link, std::uint32_t to) noexcept {
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
// Neither extended nor a reference: its first word has a link and nothing else.
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

// The owner that a program knows of: where the parent is a reference, the parent of that.
inline TreeNode* owner_of(const TreeNode* node) noexcept {
  TreeNode* const parent = parent_of(node);
  return parent != nullptr && is_reference(parent) ? parent_of(parent) : parent;
}

}  // namespace tarn
