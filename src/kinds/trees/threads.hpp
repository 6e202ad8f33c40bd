// threads: which thread owns a subtree, when that is checked (tarn_tree_check_threads). A root
// belongs to the thread that made it. Another node belongs to the thread of the nearest node above
// it for which one is noted.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include "kinds/trees/node.hpp"

namespace tarn {

enum class TreeChecks : unsigned { off, on, as_set };  // as_set: the environment decides.
extern std::atomic<TreeChecks> tree_checks;

bool tree_checks_threads() noexcept;
void check_user(const TreeNode* node, const char* function) noexcept;

// Ends the process with a report if the node has gone or is another thread's. It may be null.
inline void check_thread(const TreeNode* node, const char* function) noexcept {
  if (TARN_UNLIKELY(node != nullptr && has_gone(node))) report_tree_damage(node);
  if (TARN_LIKELY(tree_checks.load(std::memory_order_relaxed) == TreeChecks::off)) return;
  check_user(node, function);
}

// The same for the node and its parent, since the node's place is about to change.
void check_place(const TreeNode* node, const char* function) noexcept;

// The same for a node that a disposal meets, by its Extra. The nodes above it have been checked.
void check_taker(const TreeExtra& extra, const TreeNode* node, const char* function) noexcept;

// Note who owns a node that has become a root, and one that has come below another node.
void note_root(TreeNode* node) noexcept;
void note_child(TreeNode* node) noexcept;

}  // namespace tarn
