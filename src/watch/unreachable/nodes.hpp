// nodes: what nodes of trees lead to. Their links are 30 bits each, which no search for addresses
// sees, and nothing says which blocks are nodes. So each block is read as one; a link counts when
// the block at its other end leads back, as in a tree it does.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "kinds/trees/domain.hpp"
#include "platform/os/standstill.hpp"
#include "platform/os/watchers.hpp"
#include "watch/unreachable/block_index.hpp"

namespace tarn {

// The node that the block at `node` leads to by the link, if both are nodes; else null.
const TreeNode* followed(const BlockIndex& index, const TreeNode* node, TreeLink link) noexcept;

// A node of 0 bytes is known to the program by the address one past its end. Whether such a node
// ends there.
bool ends_empty_node(const BlockIndex& index, std::uintptr_t address, Spot* spot) noexcept;

// Cheap, and true of all nodes that are not extended (the others have addresses, in a block that
// is found by one).
inline bool may_be_node(const TreeNode* node) noexcept {
  constexpr std::uint32_t link = ~std::uint32_t{3};
  const std::uint32_t* const w = node->word;
  if ((w[link_parent] & link) == 0) {
    return (w[link_child] & link) != 0 && ((w[link_older] | w[link_younger]) & link) == 0;
  }
  // Below a reference it has no neighbours.
  return (w[link_younger] & link) != 0 || (w[link_older] & link) == 0;
}

// Calls visit(node) for what may be a node in the block, and lies not at its start: one that is
// apart, and those of arenas, of which the block is a chunk. Under a tool that watches arenas,
// which looks at who reads there, only at the first.
template <class Visit>
TARN_UNSANITIZED void for_each_inner_node(const BlockIndex& index, os::Bytes bytes,
                                          Visit visit) noexcept {
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

// Calls hit(spot) for the nodes that `node` leads to.
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
