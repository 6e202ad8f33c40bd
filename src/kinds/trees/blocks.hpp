// blocks: where blocks of nodes come from, and how they go back.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <new>

#include "kinds/trees/domain.hpp"

namespace tarn {

// A node in a block.
inline TreeNode* begin_node(void* at, TreeMemory memory) noexcept {
  auto* const node = ::new (at) TreeNode{};
  node->word[2] = memory;
  return node;
}

// Each makes a node without links for so many bytes; null: there is no memory. The node lies in the
// domain's memory; in that of nodes below `parent`, and apart; in the same memory as `kin`.
TreeNode* place_in(TreeDomain& domain, std::size_t bytes) noexcept;
// pre: alignment >= 16
TreeNode* place_apart_below(const TreeNode* parent, std::size_t bytes,
                            std::size_t alignment) noexcept;
TreeNode* place_beside(TreeNode* kin, std::size_t bytes) noexcept;

// Gives the block back; its domain may end with it.
void give_block(TreeNode* node) noexcept;

// The same for a node that has just been taken out from below `parent`.
void give_block_from_below(const TreeNode* parent, TreeNode* node) noexcept;

// Bytes that the program may use.
std::size_t room_of(const TreeNode* node, const char* function) noexcept;

// Bytes of the block in front of the node, for alignment and for its domain.
std::size_t bytes_before(const TreeNode* node) noexcept;

// Gives the node so many bytes where it is; false: there is no room.
bool expand_in_place(TreeNode* node, std::size_t bytes) noexcept;

// Gives the memory back that a domain without nodes has, but for what its options keep.
void clear_domain(TreeDomain& domain) noexcept;

// The node at which the domain began has gone: its memory goes when its last node does.
void end_domain(TreeDomain* domain) noexcept;

}  // namespace tarn
