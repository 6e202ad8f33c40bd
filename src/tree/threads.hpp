// threads: whose a subtree is, where that is checked (tarn_tree_check_threads). A root is the
// thread's that made it, a node the nearest one's above it that is somebody's.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include "tree/node.hpp"

namespace tarn {

enum class TreeChecks : unsigned { off, on, as_set };  // As the environment says, not looked yet.
extern std::atomic<TreeChecks> tree_checks;

bool tree_checks_threads() noexcept;
void check_user(const TreeNode* node, const char* function) noexcept;

// Reports, and does not return, where a node that is not null has gone or is another thread's.
inline void check_thread(const TreeNode* node, const char* function) noexcept {
  if (TARN_UNLIKELY(node != nullptr && has_gone(node))) report_tree_damage(node);
  if (TARN_LIKELY(tree_checks.load(std::memory_order_relaxed) == TreeChecks::off)) return;
  check_user(node, function);
}

// The same for its parent, too: the node's place is to change.
void check_place(const TreeNode* node, const char* function) noexcept;

// The same for what is above nothing else: nodes that a disposal meets.
void check_taker(const TreeExtra& extra, const TreeNode* node, const char* function) noexcept;

// A node has become a root, or is below one that is the thread's.
void note_root(TreeNode* node) noexcept;
void note_child(TreeNode* node) noexcept;

}  // namespace tarn
