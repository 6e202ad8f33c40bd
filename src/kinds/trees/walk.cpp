// walk: see walk.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/trees/walk.hpp"

namespace tarn {

TreeNode* next_of_all(const TreeNode* root, TreeNode* node, std::size_t* depth) noexcept {
  // A node that a reference owns is below the reference, but for a program below its owner.
  if (TreeNode* const newest = newest_of(node)) {
    TARN_ASSERT(parent_of(newest) == node);
    if (!is_reference(node)) ++*depth;
    return younger_of(newest);
  }
  while (node != root) {
    TreeNode* const parent = parent_of(node);
    if (!is_reference(parent) && newest_of(parent) != node) return younger_of(node);
    node = parent;
    if (!is_reference(parent)) --*depth;
  }
  return nullptr;
}

TreeNode* next_below(const TreeNode* root, TreeNode* node) noexcept {
  std::size_t depth = 0;
  do {
    node = next_of_all(root, node, &depth);
  } while (node != nullptr && is_reference(node));
  return node;
}

}  // namespace tarn
