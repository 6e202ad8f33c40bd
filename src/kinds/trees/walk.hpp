// walk: how to go from node to node through all of a tree.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kinds/trees/node.hpp"

namespace tarn {

// The node after `node` in the tree below `root`; null at the end. Start with the root. Siblings
// come in the order of creation, and each node before the nodes below it. *depth is raised and
// lowered with the level.
TreeNode* next_of_all(const TreeNode* root, TreeNode* node, std::size_t* depth) noexcept;
// The same without references.
TreeNode* next_below(const TreeNode* root, TreeNode* node) noexcept;

}  // namespace tarn
