// tree: how nodes are made and freed. tarn/tree/tree.h says what the public functions promise, and
// docs/design/tree.md how trees work.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kinds/trees/node.hpp"

namespace tarn {

inline constexpr std::size_t tree_bytes_max = PTRDIFF_MAX - 4096;

// Makes a node with so many bytes below `parent`, or a root where that is null. Null, with errno:
// there is no memory.
TreeNode* make_node(TreeNode* parent, std::size_t bytes) noexcept;
// The same with a place for a destructor in front of the node.
TreeNode* make_node_apart(TreeNode* parent, std::size_t bytes, std::size_t alignment,
                          tarn_tree_destructor destructor) noexcept;

// pre: it has neither parent, nor children, nor references, and nothing counts it as outside
void free_node(TreeNode* node) noexcept;
// Frees the Extra, after it has taken it off its domain's list and freed its name.
void drop_extra(TreeExtra* extra) noexcept;
void drop_name(TreeExtra& extra) noexcept;

// Frees a node that may still have a parent, and ends the domain that begins at it.
void unlink_and_free(TreeNode* node) noexcept;

}  // namespace tarn
