// plain: small subtrees all of whose nodes can be freed without a question, and without unlinking.
// To find out whether a subtree is one, its nodes are looked at in an order in which memory is
// waited for least. docs/design/tree.md ("Disposal").
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kinds/trees/node.hpp"

namespace tarn {

// Whether the node is neither extended, nor a reference, nor on the path, nor apart, and is of
// malloc's memory.
inline bool is_plain(const TreeNode* node) noexcept {
  return ((node->word[0] | node->word[1] | node->word[2]) & ~link_bits) == 0;
}

// Each freed node earns a few looks at others, and looks that free nothing are paid from this
// credit. So disposal stays linear.
class PlainTrees {
 public:
  bool can_look() const noexcept { return credit_ >= nodes_min && at_hand_ == 0; }

  // Frees all nodes below `top` if they are plain and the credit suffices. Otherwise the nodes that
  // it has looked at are in the processor's cache for what follows. pre: can_look()
  bool free_below(TreeNode* top) noexcept;

  // Adds the credit for so many nodes that were freed in another way.
  void earn(std::uint32_t nodes) noexcept {
    credit_ += looks_per_node * nodes;
    if (credit_ > nodes_max) credit_ = nodes_max;
    at_hand_ -= nodes < at_hand_ ? nodes : at_hand_;
  }

 private:
  static constexpr std::uint32_t nodes_max = 256;  // So many nodes fit into the L1 cache.
  static constexpr std::uint32_t nodes_min = 8;
  static constexpr std::uint32_t looks_per_node = 4;

  bool find_from(std::uint32_t first) noexcept;
  void check_found() const noexcept;

  std::uintptr_t slab_ = 0;
  std::uint32_t credit_ = nodes_max;
  std::uint32_t count_ = 0;
  std::uint32_t at_hand_ = 0;       // How many nodes that were looked at go next.
  std::uint32_t found_[nodes_max];  // Links to the nodes found, from the children of `top` down.
};

}  // namespace tarn
