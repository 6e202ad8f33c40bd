// tree: how nodes are made and freed. tarn/tree/tree.h says what its functions promise,
// docs/design/tree.md how trees work.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kinds/trees/node.hpp"

namespace tarn {

inline constexpr std::size_t tree_bytes_max = PTRDIFF_MAX - 4096;

// Makes a node with so many bytes below `parent`; null: a root. Null, and errno, on failure.
TreeNode* make_node(TreeNode* parent, std::size_t bytes) noexcept;
// The same with a destructor in front.
TreeNode* make_node_apart(TreeNode* parent, std::size_t bytes, std::size_t alignment,
                          tarn_tree_destructor destructor) noexcept;

// pre: it has neither parent, nor children, nor references, and nothing counts it as outside
void free_node(TreeNode* node) noexcept;
void drop_extra(TreeExtra* extra) noexcept;  // And takes it off its domain's list.
void drop_name(TreeExtra& extra) noexcept;

// As above for a node that still has a parent.
void unlink_and_free(TreeNode* node) noexcept;

}  // namespace tarn
