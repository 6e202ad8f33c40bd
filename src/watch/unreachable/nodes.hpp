// nodes: the blocks that nodes of trees lead to. Their links have 30 bits each, so a search for
// addresses does not see them, and nothing says which blocks are nodes. So each block is read as if
// it were one, and a link counts when the block at its other end leads back, as it does in a tree.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kinds/trees/domain.hpp"
#include "platform/base/check.hpp"
#include "platform/os/watchers.hpp"
#include "platform/standstill/standstill.hpp"
#include "watch/unreachable/block_index.hpp"

namespace tarn {

// The node that `node` leads to by the link; null unless both are nodes.
const TreeNode* followed(const BlockIndex& index, const TreeNode* node, TreeLink link) noexcept;

// Finds the node of 0 bytes that ends at the address, which is how the program knows such a node.
// False when there is none.
bool ends_empty_node(const BlockIndex& index, std::uintptr_t address, Spot* spot) noexcept;

// A cheap test that is true of all nodes that are not extended. (Extended nodes have addresses, in
// a block that an address leads to.)
inline bool may_be_node(const TreeNode* node) noexcept {
  constexpr std::uint32_t link = ~std::uint32_t{3};
  const std::uint32_t* const w = node->word;
  if ((w[link_parent] & link) == 0) {
    return (w[link_child] & link) != 0 && ((w[link_older] | w[link_younger]) & link) == 0;
  }
  // A node below a reference has no neighbours.
  return (w[link_younger] & link) != 0 || (w[link_older] & link) == 0;
}

// Calls visit(node) for what may be a node inside the block, not at its start: a node that lies
// apart, and those of an arena whose chunk the block is. Under a tool that watches arenas, and
// would report reads there, only for the former.
template <class Visit>
TARN_UNSANITIZED void for_each_inner_node(const BlockIndex& index, os::Bytes bytes,
                                          Visit visit) noexcept {
  TARN_ASSERT(bytes.start <= bytes.end);
  const std::uintptr_t start = address_of(bytes.start);
  const std::uintptr_t end = start + bytes.count();
  const auto node_at = [](std::uintptr_t at) { return reinterpret_cast<const TreeNode*>(at); };
  for (std::uintptr_t front = 2 * tree_grain; front <= bytes.count(); front *= 2) {
    const std::uintptr_t at = start + front - sizeof(TreeNode);
    if (*reinterpret_cast<const std::uint64_t*>(at - 8) == start) visit(node_at(at));
  }
  if (os::watched()) return;
  for (std::uintptr_t at = start + tree_grain; at + sizeof(TreeNode) <= end; at += tree_grain) {
    const std::uint64_t word = *reinterpret_cast<const std::uint64_t*>(at - 8);
    if (TARN_LIKELY(!index.may_have(domain_in_word(word)))) continue;
    Spot domain{};
    const bool is_of_arena = memory_of(node_at(at)) == memory_of_arena;
    if (is_of_arena && index.find_start(domain_in_word(word), &domain)) visit(node_at(at));
  }
}

// Calls hit(spot) for the blocks of the nodes that `node` leads to.
template <class Hit>
void for_each_link(const BlockIndex& index, const TreeNode* node, Hit hit) noexcept {
  if (TARN_LIKELY(is_extended(node) || !may_be_node(node))) return;
  for (const TreeLink link : {link_parent, link_child, link_older, link_younger}) {
    const TreeNode* const target = followed(index, node, link);
    Spot spot{};
    if (target != nullptr && index.find(address_of(target), &spot)) hit(spot);
  }
}

}  // namespace tarn
