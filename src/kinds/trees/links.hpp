// links: how a node becomes a child of another one, and how it ceases to be one. Linking may need
// memory. Unlinking must not fail, and docs/design/tree.md says why it needs none.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kinds/trees/node.hpp"

namespace tarn {

// Whether the links of parent and siblings agree with the node's. pre: it has a parent, which is no
// reference
bool is_known_in_place(const TreeNode* node) noexcept;

// Extends the node: moves its links to `extra`. pre: it is not extended
void extend_with(TreeNode* node, TreeExtra* extra) noexcept;

// Extends the node if it is not extended; false: there is no memory.
bool extend(TreeNode* node) noexcept;

// Makes `node`, which has neither parent nor siblings, the newest child of `parent`. False: there
// is no memory for links, and nothing has changed. The caller counts the edge.
bool link_child_of(TreeNode* parent, TreeNode* node) noexcept;

// Takes the node out from below its parent, if it has one. It never fails: a neighbour that needs
// an Extra gets the node's, and the node is no longer extended. pre: nothing else in the node's
// Extra is needed any more
void unlink_last(TreeNode* node) noexcept;

// The same for a node that keeps its Extra. False: there is no memory for a neighbour's.
bool unlink_to_move(TreeNode* node) noexcept;

// Takes the node out from where it is and makes it the newest child of another `parent`. False:
// that takes more than links in one slab, and nothing has changed.
bool move_plain(TreeNode* parent, TreeNode* node) noexcept;

// Extends all nodes that link_child_of(parent, node) needs to be extended. False: there is no
// memory.
bool prepare_to_link(TreeNode* parent, TreeNode* node) noexcept;

}  // namespace tarn
