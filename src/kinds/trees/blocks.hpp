// blocks: where the blocks of nodes come from, and how they go back.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <new>

#include "kinds/trees/domain.hpp"

namespace tarn {

// Begins a node without links at the start of a block.
inline TreeNode* begin_node(void* at, TreeMemory memory) noexcept {
  auto* const node = ::new (at) TreeNode{};
  node->word[2] = memory;
  return node;
}

// Each of the next three makes a node without links for so many bytes; null: there is no memory.
// The node lies in the domain's memory.
TreeNode* place_in(TreeDomain& domain, std::size_t bytes) noexcept;
// It lies where children of `parent` do, and is apart. pre: alignment >= 16
TreeNode* place_apart_below(const TreeNode* parent, std::size_t bytes,
                            std::size_t alignment) noexcept;
// It lies in the same memory as `kin`.
TreeNode* place_beside(TreeNode* kin, std::size_t bytes) noexcept;

// Gives the node's block back. If its domain has ended and this was the last node, the domain goes.
void give_block(TreeNode* node) noexcept;

// The same for a node that has just been taken out from below `parent`.
void give_block_from_below(const TreeNode* parent, TreeNode* node) noexcept;

// How many bytes of the node the program may use.
std::size_t room_of(const TreeNode* node, const char* function) noexcept;

// How many bytes of the block lie in front of the node, for alignment and for its domain.
std::size_t bytes_before(const TreeNode* node) noexcept;

// Resizes the node to so many bytes where it is; false: there is no room.
bool expand_in_place(TreeNode* node, std::size_t bytes) noexcept;

// Gives back the memory of a domain that has no nodes any more, except what its options keep.
void clear_domain(TreeDomain& domain) noexcept;

// Ends the domain, since the node at which it began has gone. Its memory goes with its last node.
void end_domain(TreeDomain* domain) noexcept;

}  // namespace tarn
