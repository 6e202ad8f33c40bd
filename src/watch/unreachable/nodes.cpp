// nodes: see nodes.hpp.
//
// SPDX-License-Identifier: MIT
#include "watch/unreachable/nodes.hpp"

#include <initializer_list>

namespace tarn {

namespace {

// Whether p is aligned, and a T at p ends within the block.
template <class T>
bool has_bytes(const BlockIndex& index, Spot spot, const T* p) noexcept {
  const os::Bytes bytes = index.bytes_of_block(spot);
  TARN_ASSERT(bytes.start <= bytes.end);
  return p != nullptr && address_of(p) % alignof(T) == 0 &&
         reinterpret_cast<const std::byte*>(p + 1) <= bytes.end;
}

std::uint64_t word_before(const TreeNode* node) noexcept {
  return reinterpret_cast<const std::uint64_t*>(node)[-1];
}

// Whether a node may lie at the address: it begins where its block does, or the word in front leads
// to its block or its domain.
bool may_stand(const BlockIndex& index, const TreeNode* node) noexcept {
  Spot spot{};
  if (node == nullptr || !index.find(address_of(node), &spot)) return false;
  if (!has_bytes(index, spot, node)) return false;
  const std::uintptr_t start = address_of(index.bytes_of_block(spot).start);
  if (start == address_of(node)) return true;
  if (address_of(node) - start < sizeof(std::uint64_t)) return false;
  if (memory_of(node) == memory_of_arena) {
    Spot domain{};
    return index.find_start(domain_in_word(word_before(node)), &domain);
  }
  return has(node, node_is_apart) && word_before(node) == start;
}

// Where the link of what may be a node leads; null when no node can lie there.
const TreeNode* led_to(const BlockIndex& index, const TreeNode* node, TreeLink link) noexcept {
  TARN_ASSERT(node != nullptr);
  const TreeNode* target = nullptr;
  if (is_extended(node)) {
    const TreeExtra* const extra = extra_of(node);
    Spot spot{};
    if (!index.find_start(address_of(extra), &spot) || !has_bytes(index, spot, extra)) {
      return nullptr;
    }
    target = extra->link[link];
  } else {
    target = linked(node, link);
  }
  return may_stand(index, target) ? target : nullptr;
}

bool leads_to(const BlockIndex& index, const TreeNode* node, TreeLink link,
              const TreeNode* target) noexcept {
  return led_to(index, node, link) == target;
}

// Whether `node` is a reference, and `target` is what it refers to.
bool is_reference_to(const BlockIndex& index, const TreeNode* node,
                     const TreeNode* target) noexcept {
  Spot spot{};
  if (!is_reference(node) || !index.find(address_of(node), &spot)) return false;
  const auto* const reference = static_cast<const TreeReference*>(node);
  return has_bytes(index, spot, reference) && reference->target == target;
}

// Whether both ends agree that `node` is a child of `parent`: the parent knows a newest child,
// which knows it, and the node's neighbours know the node.
bool is_child_of(const BlockIndex& index, const TreeNode* node, const TreeNode* parent) noexcept {
  TARN_ASSERT(node != nullptr && parent != nullptr);
  const TreeNode* const newest = led_to(index, parent, link_child);
  if (newest == nullptr || !leads_to(index, newest, link_parent, parent)) return false;
  if (newest == node) return true;
  const TreeNode* const older = led_to(index, node, link_older);
  return leads_to(index, older != nullptr ? older : newest, link_younger, node);
}

}  // namespace

// A node without any link cannot be told from 16 zeros, so these count as one.
bool ends_empty_node(const BlockIndex& index, std::uintptr_t address, Spot* spot) noexcept {
  if (address % tree_grain != 0 || !index.find_start(address - sizeof(TreeNode), spot)) {
    return false;
  }
  if (address_of(index.bytes_of_block(*spot).end) != address) return false;
  const auto* const node = reinterpret_cast<const TreeNode*>(address) - 1;
  if (is_extended(node)) {
    Spot extra{};
    return index.find_start(address_of(extra_of(node)), &extra);
  }
  bool is_linked = false;
  for (const TreeLink link : {link_parent, link_child, link_older, link_younger}) {
    if (linked(node, link) == nullptr) continue;
    if (followed(index, node, link) != nullptr) return true;
    is_linked = true;
  }
  return !is_linked;
}

const TreeNode* followed(const BlockIndex& index, const TreeNode* node, TreeLink link) noexcept {
  const TreeNode* const target = led_to(index, node, link);
  if (target == nullptr) return nullptr;
  bool known = false;
  switch (link) {
    case link_parent:
      known = is_reference_to(index, target, node) || is_child_of(index, node, target);
      break;
    case link_child: known = leads_to(index, target, link_parent, node); break;
    case link_older: known = leads_to(index, target, link_younger, node); break;
    case link_younger:
      // The link of the newest child leads to the oldest one.
      known = leads_to(index, target, link_older, node) ||
              (led_to(index, target, link_older) == nullptr &&
               led_to(index, target, link_parent) != nullptr &&
               led_to(index, target, link_parent) == led_to(index, node, link_parent));
      break;
  }
  return known ? target : nullptr;
}

}  // namespace tarn
