// links: how a node becomes a child of another one, and stops being it. Linking may need memory,
// unlinking must not: docs/design/tree.md says why it never does.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kinds/trees/node.hpp"

namespace tarn {

// Whether the links of parent and siblings agree with the node's. pre: it has a parent, which is no
// reference
bool is_known_in_place(const TreeNode* node) noexcept;

// Extends the node: its links move to `extra`. pre: it is not extended
void extend_with(TreeNode* node, TreeExtra* extra) noexcept;

// Extends the node if it is not extended; false: there is no memory.
bool extend(TreeNode* node) noexcept;

// Makes `node`, which has neither parent nor neighbours, the newest child of `parent`. False when
// there is no memory for links: then nothing has changed. The caller counts the edge.
bool link_child_of(TreeNode* parent, TreeNode* node) noexcept;

// Takes it out from below its parent, if it has one. Never fails; it may take the node's Extra for
// a neighbour (then the node is not extended any more). pre: what it had in there is not needed
void unlink_last(TreeNode* node) noexcept;

// As above for a node that keeps its Extra: false when there is no memory for a neighbour's.
bool unlink_to_move(TreeNode* node) noexcept;

// Takes it out from where it is and makes it the newest child of `parent`, which is another one.
// False where that needs more than links in one slab: then nothing has changed.
bool move_plain(TreeNode* parent, TreeNode* node) noexcept;

// Extends all nodes that link_child_of(parent, node) will need extended; false: no memory.
bool prepare_to_link(TreeNode* parent, TreeNode* node) noexcept;

}  // namespace tarn
