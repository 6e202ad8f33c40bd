// references: further owners of a node, and the search for cycles.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kinds/trees/node.hpp"

namespace tarn {

// The reference that `owner` has to `node`; null: there is none, or it has become the node's
// parent.
TreeReference* reference_of(const TreeNode* owner, const TreeNode* node) noexcept;

// Whether `target` is `node` or owns it, through any chain of parents and references.
bool is_owner_of(const TreeNode* target, TreeNode* node) noexcept;

// Unlinks and frees a reference. pre: it is not its target's parent
void end_reference(TreeNode* reference) noexcept;

// Makes the oldest reference to the node its parent. False: there is no memory to unlink the node.
// pre: there is a reference to it
bool pass_to_next_owner(TreeNode* node) noexcept;

}  // namespace tarn
