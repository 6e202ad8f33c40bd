// nodes: see nodes.hpp.
//
// SPDX-License-Identifier: MIT
#include "watch/unreachable/nodes.hpp"

#include <initializer_list>

namespace tarn {

namespace {

template <class T>
bool has_bytes(const Grounds& grounds, Spot spot, const T* p) noexcept {
  const os::Bytes bytes = grounds.bytes_of_block(spot);
  return p != nullptr && address_of(p) % alignof(T) == 0 &&
         reinterpret_cast<const std::byte*>(p + 1) <= bytes.end;
}

std::uint64_t word_before(const TreeNode* node) noexcept {
  return reinterpret_cast<const std::uint64_t*>(node)[-1];
}

// A node begins where its block does, or what is in front of it leads to its block or its domain.
bool may_stand(const Grounds& grounds, const TreeNode* node) noexcept {
  Spot spot{};
  if (node == nullptr || !grounds.find(address_of(node), &spot)) return false;
  if (!has_bytes(grounds, spot, node)) return false;
  const std::uintptr_t start = address_of(grounds.bytes_of_block(spot).start);
  if (start == address_of(node)) return true;
  if (address_of(node) - start < sizeof(std::uint64_t)) return false;
  if (memory_of(node) == memory_of_arena) {
    Spot domain{};
    return grounds.find_start(domain_in_word(word_before(node)), &domain);
  }
  return has(node, node_is_apart) && word_before(node) == start;
}

// Where the link of what may be a node leads; null when that can be no node.
const TreeNode* led_to(const Grounds& grounds, const TreeNode* node, TreeLink link) noexcept {
  const TreeNode* target = nullptr;
  if (is_extended(node)) {
    const TreeExtra* const extra = extra_of(node);
    Spot spot{};
    if (!grounds.find_start(address_of(extra), &spot) || !has_bytes(grounds, spot, extra)) {
      return nullptr;
    }
    target = extra->link[link];
  } else {
    target = linked(node, link);
  }
  return may_stand(grounds, target) ? target : nullptr;
}

bool leads_to(const Grounds& grounds, const TreeNode* node, TreeLink link,
              const TreeNode* target) noexcept {
  return led_to(grounds, node, link) == target;
}

// What a reference that is an owner says of its target.
bool is_reference_to(const Grounds& grounds, const TreeNode* node,
                     const TreeNode* target) noexcept {
  Spot spot{};
  if (!is_reference(node) || !grounds.find(address_of(node), &spot)) return false;
  const auto* const reference = static_cast<const TreeReference*>(node);
  return has_bytes(grounds, spot, reference) && reference->target == target;
}

// The parent knows a newest child, which knows it; and the node's neighbours know the node.
bool is_child_of(const Grounds& grounds, const TreeNode* node, const TreeNode* parent) noexcept {
  const TreeNode* const newest = led_to(grounds, parent, link_child);
  if (newest == nullptr || !leads_to(grounds, newest, link_parent, parent)) return false;
  if (newest == node) return true;
  const TreeNode* const older = led_to(grounds, node, link_older);
  return leads_to(grounds, older != nullptr ? older : newest, link_younger, node);
}

}  // namespace

// One without any link cannot be told from 16 zeros, which count as one.
bool ends_empty_node(const Grounds& grounds, std::uintptr_t address, Spot* spot) noexcept {
  if (address % tree_grain != 0 || !grounds.find_start(address - sizeof(TreeNode), spot)) {
    return false;
  }
  if (address_of(grounds.bytes_of_block(*spot).end) != address) return false;
  const auto* const node = reinterpret_cast<const TreeNode*>(address) - 1;
  if (is_extended(node)) {
    Spot extra{};
    return grounds.find_start(address_of(extra_of(node)), &extra);
  }
  bool is_linked = false;
  for (const TreeLink link : {link_parent, link_child, link_older, link_younger}) {
    if (linked(node, link) == nullptr) continue;
    if (followed(grounds, node, link) != nullptr) return true;
    is_linked = true;
  }
  return !is_linked;
}

const TreeNode* followed(const Grounds& grounds, const TreeNode* node, TreeLink link) noexcept {
  const TreeNode* const target = led_to(grounds, node, link);
  if (target == nullptr) return nullptr;
  bool known = false;
  switch (link) {
    case link_parent:
      known = is_reference_to(grounds, target, node) || is_child_of(grounds, node, target);
      break;
    case link_child:
      known = leads_to(grounds, target, link_parent, node);
      break;
    case link_older:
      known = leads_to(grounds, target, link_younger, node);
      break;
    case link_younger:
      // That of the newest is the oldest.
      known = leads_to(grounds, target, link_older, node) ||
              (led_to(grounds, target, link_older) == nullptr &&
               led_to(grounds, target, link_parent) != nullptr &&
               led_to(grounds, target, link_parent) == led_to(grounds, node, link_parent));
      break;
  }
  return known ? target : nullptr;
}

}  // namespace tarn
