// names: the names of nodes, and the functions that go through a tree.
//
// SPDX-License-Identifier: MIT
#include <cstring>

#include "kinds/trees/links.hpp"
#include "kinds/trees/memory.hpp"
#include "kinds/trees/threads.hpp"
#include "kinds/trees/tree.hpp"
#include "kinds/trees/walk.hpp"
#include "malloc/blocks/free.hpp"
#include "platform/os/process.hpp"

namespace tarn {

namespace {

bool set_name(TreeNode* node, const char* name, bool is_own) noexcept {
  check_thread(node, "tarn_tree_set_name");
  if (name == nullptr && !is_extended(node)) return true;
  if (!extend(node)) return false;
  TreeExtra& extra = *extra_of(node);
  drop_name(extra);
  extra.name = name;
  extra.owns_name = is_own ? 1 : 0;
  return true;
}

bool is_called(const TreeNode* node, const char* name) noexcept {
  if (!is_extended(node)) return false;
  const char* const own = extra_of(node)->name;
  return own != nullptr && std::strcmp(own, name) == 0;
}

// The node itself or, if it is a reference, its child; or the same of the next younger sibling that
// has one of these.
void* shown(TreeNode* node, const TreeNode* newest) noexcept {
  while (node != nullptr && is_reference(node)) {
    TreeNode* const owned = newest_of(node);
    TARN_ASSERT(owned == nullptr || !is_reference(owned));
    if (owned != nullptr) return bytes_of(owned);
    node = node == newest ? nullptr : younger_of(node);
  }
  return node == nullptr ? nullptr : bytes_of(node);
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_tree_set_name(void* p, const char* name) {
  if (name == nullptr) return tarn_tree_set_static_name(p, nullptr);
  const std::size_t bytes = std::strlen(name) + 1;
  auto* const copy = static_cast<char*>(allocate_beside(bytes));
  if (copy == nullptr) return -1;
  std::memcpy(copy, name, bytes);
  if (set_name(node_of(p), copy, true)) return 0;
  deallocate(copy);
  return -1;
}

int tarn_tree_set_static_name(void* p, const char* name) {
  return set_name(node_of(p), name, false) ? 0 : -1;
}

const char* tarn_tree_name(const void* p) {
  const TreeNode* const node = node_of(p);
  return is_extended(node) ? extra_of(node)->name : nullptr;
}

void* tarn_tree_find(const void* p, const char* name) {
  const TreeNode* const root = node_of(p);
  TreeNode* node = const_cast<TreeNode*>(root);
  while ((node = next_below(root, node)) != nullptr) {
    if (is_called(node, name)) return bytes_of(node);
  }
  return nullptr;
}

void* tarn_tree_find_ancestor(const void* p, const char* name) {
  TreeNode* node = owner_of(node_of(p));
  while (node != nullptr && !is_called(node, name)) node = owner_of(node);
  return node == nullptr ? nullptr : bytes_of(node);
}

void* tarn_tree_parent(const void* p) {
  TreeNode* const owner = owner_of(node_of(p));
  return owner == nullptr ? nullptr : bytes_of(owner);
}

void* tarn_tree_first_child(const void* p) {
  TreeNode* const newest = newest_of(node_of(p));
  return newest == nullptr ? nullptr : shown(younger_of(newest), newest);
}

void* tarn_tree_next_sibling(const void* p) {
  const TreeNode* node = node_of(p);
  const TreeNode* parent = parent_of(node);
  if (parent != nullptr && is_reference(parent)) {
    node = parent;
    parent = parent_of(node);
  }
  if (parent == nullptr) return nullptr;
  TreeNode* const newest = newest_of(parent);
  TARN_ASSERT(newest != nullptr);
  return node == newest ? nullptr : shown(younger_of(node), newest);
}

void* tarn_tree_next(const void* root, const void* p) {
  TreeNode* const next = next_below(node_of(root), const_cast<TreeNode*>(node_of(p)));
  return next == nullptr ? nullptr : bytes_of(next);
}

int tarn_tree_is_ancestor(const void* ancestor, const void* p) {
  const TreeNode* const wanted = node_of(ancestor);
  TreeNode* node = owner_of(node_of(p));
  while (node != nullptr && node != wanted) node = owner_of(node);
  return node != nullptr ? 1 : 0;
}

}  // extern "C"
