// links: how a node becomes a child of another one, and stops being it. Linking may need memory,
// unlinking must not: docs/design/tree.md says why it never does.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "tree/node.hpp"

namespace tarn {

// Whether parent and neighbours have the node where it has them. pre: it has a parent, which is no
// reference
bool is_known_in_place(const TreeNode* node) noexcept;

// Has the node's links, and whatever else is to come, in `extra`. pre: it is not extended
void extend_with(TreeNode* node, TreeExtra* extra) noexcept;

// Extended, now or before; false when there is no memory.
bool extend(TreeNode* node) noexcept;

// Makes `node`, which has neither parent nor neighbours, the newest child of `parent`. False when
// there is no memory for links: then nothing has changed. The caller counts the edge.
bool link_child_of(TreeNode* parent, TreeNode* node) noexcept;

// Takes it out from below its parent, if it has one. Never fails; it may take the node's Extra for
// a neighbour (then the node is not extended any more). pre: what it had in there is not needed
void unlink_last(TreeNode* node) noexcept;

// As above for a node that goes on: false when there is no memory for what it would lose.
bool unlink_to_move(TreeNode* node) noexcept;

// Takes it out from where it is and makes it the newest child of `parent`, which is another one.
// False where that needs more than links in one slab: then nothing has changed.
bool move_plain(TreeNode* parent, TreeNode* node) noexcept;

// Has all extended that link_child_of(parent, node) will need extended.
bool prepare_to_link(TreeNode* parent, TreeNode* node) noexcept;

}  // namespace tarn
