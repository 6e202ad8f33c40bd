// references: further owners of a node, and the search for cycles.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "tree/node.hpp"

namespace tarn {

// The one that `owner` has to `node`, but for the one that is its parent; null: none.
TreeReference* reference_of(const TreeNode* owner, const TreeNode* node) noexcept;

// Whether `target` owns `node`, is it, or would by what it has references to.
bool is_owner_of(const TreeNode* target, TreeNode* node) noexcept;

// Unlinks a reference, which is not its target's parent, and frees it.
void end_reference(TreeNode* reference) noexcept;

// Makes the oldest reference of a node its parent. False when there is no memory to unlink it.
// pre: it has one
bool pass_to_next_owner(TreeNode* node) noexcept;

}  // namespace tarn
