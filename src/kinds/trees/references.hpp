// references: further owners of a node, and the search for cycles.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kinds/trees/node.hpp"

namespace tarn {

// The reference that `owner` has to `node`; null: there is none, or it is the node's parent.
TreeReference* reference_of(const TreeNode* owner, const TreeNode* node) noexcept;

// Whether `target` is `node`, or owns it through any parents and references.
bool is_owner_of(const TreeNode* target, TreeNode* node) noexcept;

// Unlinks a reference, which is not its target's parent, and frees it.
void end_reference(TreeNode* reference) noexcept;

// Makes the oldest reference of a node its parent. False when there is no memory to unlink it.
// pre: it has one
bool pass_to_next_owner(TreeNode* node) noexcept;

}  // namespace tarn
