// address_tree: ranges of memory by address, as a treap (Aragon and Seidel, 1989): a search tree by
// address that is a heap by a hash of it, so that its depth is logarithmic whatever the order of
// insertions. A node lies at the start of its range and has members `left`, `right` and `bytes`. A
// pointer that is looked up is not read. Not thread-safe: its owner must be.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"

namespace tarn {

template <class Node>
struct AddressTree {
  static void insert(Node*& root, Node* node) noexcept {
    Node** link = &root;
    const std::uint64_t priority = priority_of(node);
    while (*link != nullptr && priority_of(*link) >= priority) {
      link = node < *link ? &(*link)->left : &(*link)->right;
    }
    // What hangs here is divided into what comes before the node and what comes after it.
    Node* rest = *link;
    *link = node;
    Node** before = &node->left;
    Node** after = &node->right;
    while (rest != nullptr) {
      if (rest < node) {
        *before = rest;
        before = &rest->right;
        rest = rest->right;
      } else {
        *after = rest;
        after = &rest->left;
        rest = rest->left;
      }
    }
    *before = *after = nullptr;
    TARN_ASSERT(check(*node));
  }

  // pre: it is in the tree.
  static void remove(Node*& root, Node* node) noexcept {
    Node** link = &root;
    while (*link != node) {
      TARN_CHECK(*link != nullptr);
      link = node < *link ? &(*link)->left : &(*link)->right;
    }
    Node* before = node->left;
    Node* after = node->right;
    while (before != nullptr && after != nullptr) {
      if (priority_of(before) > priority_of(after)) {
        *link = before;
        link = &before->right;
        before = before->right;
      } else {
        *link = after;
        link = &after->left;
        after = after->left;
      }
    }
    *link = before != nullptr ? before : after;
    TARN_ASSERT(find(root, node) == nullptr);
  }

  // The node whose range p lies in; null: none.
  static Node* find(Node* root, const void* p) noexcept {
    while (root != nullptr && !is_in(*root, p)) {
      root = address_of(p) < address_of(root) ? root->left : root->right;
    }
    return root;
  }
  static bool is_in(const Node& node, const void* p) noexcept {
    return address_of(p) >= address_of(&node) && address_of(p) - address_of(&node) < node.bytes;
  }

  // The first node whose range ends after p: p's own, or the next one. Null: none.
  static Node* find_from(Node* root, const void* p) noexcept {
    Node* found = nullptr;
    while (root != nullptr) {
      if (address_of(p) < address_of(root) || is_in(*root, p)) {
        found = root;
        root = root->left;
      } else {
        root = root->right;
      }
    }
    return found;
  }

  // True when the node's children lie on their sides, below it, and beyond its range.
  static bool check(const Node& node) noexcept {
    const Node* const left = node.left;
    const Node* const right = node.right;
    const std::uint64_t priority = priority_of(&node);
    return (left == nullptr || (left < &node && priority_of(left) <= priority &&
                                address_of(&node) - address_of(left) >= left->bytes)) &&
           (right == nullptr || (right > &node && priority_of(right) <= priority &&
                                 address_of(right) - address_of(&node) >= node.bytes));
  }

 private:
  static std::uint64_t priority_of(const Node* node) noexcept {
    std::uint64_t hash = address_of(node);
    hash = (hash ^ (hash >> 31)) * 0x9e3779b97f4a7c15;
    return hash ^ (hash >> 29);
  }
};

}  // namespace tarn
