// threads: which thread owns a subtree, where that is checked (tarn_tree_check_threads). A root
// belongs to the thread that made it, another node to the owner of the nearest node above with one.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include "kinds/trees/node.hpp"

namespace tarn {

enum class TreeChecks : unsigned { off, on, as_set };  // as_set: by the environment.
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

// The same for the Extra of a node that a disposal meets. The nodes above it have been checked.
void check_taker(const TreeExtra& extra, const TreeNode* node, const char* function) noexcept;

// A node has become a root; a node has come below another one.
void note_root(TreeNode* node) noexcept;
void note_child(TreeNode* node) noexcept;

}  // namespace tarn
