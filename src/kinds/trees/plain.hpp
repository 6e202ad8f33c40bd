// plain: trees of nodes that go without being asked. Whether a subtree is one, and small, is found
// out by looking at its nodes in an order in which memory is waited for least; then they are freed,
// without being unlinked. docs/design/tree.md ("Disposal").
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "kinds/trees/node.hpp"

namespace tarn {

// Neither extended, nor a reference, nor on the path, nor apart, nor of other memory than malloc's.
inline bool is_plain(const TreeNode* node) noexcept {
  return ((node->word[0] | node->word[1] | node->word[2]) & ~link_bits) == 0;
}

// Looks that free nothing use up what freed nodes have earned: so disposal stays linear.
class PlainTrees {
 public:
  bool can_look() const noexcept { return credit_ >= nodes_min && at_hand_ == 0; }

  // Frees all below `top` if that is a plain tree and not too large for now; else the nodes that it
  // has looked at are in the cache. pre: can_look()
  bool free_below(TreeNode* top) noexcept;

  // So many nodes have been freed in another way.
  void earn(std::uint32_t nodes) noexcept {
    credit_ += looks_per_node * nodes;
    if (credit_ > nodes_max) credit_ = nodes_max;
    at_hand_ -= nodes < at_hand_ ? nodes : at_hand_;
  }

 private:
  static constexpr std::uint32_t nodes_max = 256;  // What is looked at stays in the first cache.
  static constexpr std::uint32_t nodes_min = 8;
  static constexpr std::uint32_t looks_per_node = 4;

  bool find_from(std::uint32_t first) noexcept;
  void check_found() const noexcept;

  std::uintptr_t slab_ = 0;
  std::uint32_t credit_ = nodes_max;
  std::uint32_t count_ = 0;
  std::uint32_t at_hand_ = 0;       // Nodes that have been looked at and go next.
  std::uint32_t found_[nodes_max];  // Links, from the children of `top` downwards.
};

}  // namespace tarn
