// tree: what the files of this room share. tarn/tree.h says what the functions promise,
// docs/design/tree.md how it works.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "tree/links.hpp"

namespace tarn {

inline constexpr std::size_t tree_bytes_max = PTRDIFF_MAX - 4096;

// A node with so many bytes below `parent`; null (a root) is one, too. errno is set on failure.
TreeNode* make_node(TreeNode* parent, std::size_t bytes) noexcept;
// The same with a place for a destructor, and that there.
TreeNode* make_node_apart(TreeNode* parent, std::size_t bytes, std::size_t alignment,
                          tarn_tree_destructor destructor) noexcept;

// pre: it has neither parent, nor children, nor references, and nothing counts it as outside
void free_node(TreeNode* node) noexcept;
void drop_extra(TreeExtra* extra) noexcept;  // With its place among those of a domain.
void drop_name(TreeExtra& extra) noexcept;

// As above for one that has a parent yet.
void unlink_and_free(TreeNode* node) noexcept;

// Unlinks a reference, which is not its target's parent, and frees it.
void end_reference(TreeNode* reference) noexcept;

// As tarn_tree_dispose: the node that stopped it, or null.
TreeNode* dispose(TreeNode* root) noexcept;

// Makes the oldest reference of a node its parent. False when there is no memory to unlink it.
// pre: it has one
bool pass_to_next_owner(TreeNode* node) noexcept;

inline bool has_references(const TreeNode* node) noexcept {
  return is_extended(node) && extra_of(node)->references != nullptr;
}

// The one that `owner` has to `node`, but for the one that is its parent; null: none.
TreeReference* reference_of(const TreeNode* owner, const TreeNode* node) noexcept;

// The owner that a program knows of: behind a reference the one that has it.
inline TreeNode* owner_of(const TreeNode* node) noexcept {
  TreeNode* const parent = parent_of(node);
  return parent != nullptr && is_reference(parent) ? parent_of(parent) : parent;
}

// Bytes in front of it and besides: what it has in memory that the program does not use.
std::size_t overhead_of(const TreeNode* node) noexcept;

// Whether `target` owns `node`, is it, or would by what it has references to.
bool is_owner_of(const TreeNode* target, TreeNode* node) noexcept;

// The next one of the tree below `root`, in the order of creation, each before what is below it;
// null at the end. The first one is root itself. depth: adjusted.
TreeNode* next_of_all(const TreeNode* root, TreeNode* node, std::size_t* depth) noexcept;
TreeNode* next_below(const TreeNode* root, TreeNode* node) noexcept;  // References left out.

}  // namespace tarn
