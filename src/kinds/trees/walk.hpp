// walk: from node to node through all of a tree.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "kinds/trees/node.hpp"

namespace tarn {

// The next one of the tree below `root`, in the order of creation, each before what is below it;
// null at the end. Starts with the root itself. *depth changes with the level of the node.
TreeNode* next_of_all(const TreeNode* root, TreeNode* node, std::size_t* depth) noexcept;
TreeNode* next_below(const TreeNode* root, TreeNode* node) noexcept;  // References left out.

}  // namespace tarn
