// move: how nodes change their places and sizes. See tarn/tree/tree.h.
//
// SPDX-License-Identifier: MIT
#include <cstring>

#include "kinds/trees/blocks.hpp"
#include "kinds/trees/domain.hpp"
#include "kinds/trees/links.hpp"
#include "kinds/trees/references.hpp"
#include "kinds/trees/threads.hpp"
#include "kinds/trees/tree.hpp"
#include "malloc/blocks/resize.hpp"
#include "platform/os/process.hpp"

namespace tarn {

namespace {

void* fail_null(os::Error error) noexcept {
  os::set_error(error);
  return nullptr;
}

// Extends the node and all nodes that link to it, so that the links do not depend on where it is.
bool extend_around(TreeNode* node) noexcept {
  TreeNode* const parent = parent_of(node);
  if (!extend(node)) return false;
  if (parent != nullptr && !is_reference(parent)) {
    TreeNode* const newest = newest_of(parent);
    TreeNode* const older = older_of(node);
    if (!extend(parent) || !extend(newest) || !extend(younger_of(node))) return false;
    if (older != nullptr && !extend(older)) return false;
  }
  for (TreeNode* child = newest_of(node); child != nullptr; child = older_of(child)) {
    if (!extend(child)) return false;
  }
  return true;
}

// The node and its bytes have been moved here from `old`: makes the nodes around it link to it.
void move_links(const TreeNode* old, TreeNode* node) noexcept {
  TreeNode* const parent = parent_of(node);
  if (younger_of(node) == old) set_link(node, link_younger, node);  // An only child.
  if (parent != nullptr && is_reference(parent)) {
    static_cast<TreeReference*>(parent)->target = node;
  } else if (parent != nullptr) {
    TreeNode* const older = older_of(node);
    const bool is_newest = newest_of(parent) == old;
    if (is_newest) {
      set_link(parent, link_child, node);
    } else {
      set_link(younger_of(node), link_older, node);
    }
    if (older != nullptr) {
      set_link(older, link_younger, node);
    } else {
      set_link(newest_of(parent), link_younger, node);  // The oldest one.
    }
  }
  TARN_ASSERT(parent == nullptr || is_reference(parent) || is_known_in_place(node));
  for (TreeNode* child = newest_of(node); child != nullptr; child = older_of(child)) {
    set_link(child, link_parent, node);
  }
  TARN_ASSERT(newest_of(node) == nullptr || is_known_in_place(newest_of(node)));
  if (!is_extended(node)) return;
  for (TreeReference* r = extra_of(node)->references; r != nullptr; r = r->next) r->target = node;
}

// Blocks of so many bytes, of nodes without children, are moved by the system instead of copied.
constexpr std::size_t moved_bytes_min = std::size_t{1} << 20;

void* move_to_size(TreeNode* node, std::size_t bytes) noexcept {
  if (expand_in_place(node, bytes)) return bytes_of(node);
  const std::size_t before = room_of(node, "tarn_tree_reallocate");
  const bool is_of_arena = memory_of(node) == memory_of_arena;
  if (before >= moved_bytes_min && newest_of(node) == nullptr && !is_of_arena) {
    if (!extend_around(node)) return nullptr;
    auto* const moved = static_cast<TreeNode*>(reallocate(node, sizeof(TreeNode) + bytes));
    if (moved == nullptr) return nullptr;
    if (moved != node) move_links(node, moved);
    return bytes_of(moved);
  }
  TreeNode* const moved = place_beside(node, bytes);
  if (moved == nullptr) return nullptr;
  if (!is_in_slab_of(node, moved) && !extend_around(node)) {
    give_block(moved);
    return nullptr;
  }
  const std::size_t kept = before < bytes ? before : bytes;
  TARN_ASSERT(memory_of(moved) == memory_of(node));
  std::memcpy(static_cast<void*>(moved), node, sizeof(TreeNode) + kept);
  move_links(node, moved);
  give_block(node);
  return bytes_of(moved);
}

int steal(TreeNode* parent, TreeNode* node) noexcept {
  check_place(node, "tarn_tree_steal");
  check_thread(parent, "tarn_tree_steal");
  if (has(node, node_is_on_path)) return os::fail(os::Error::busy);
  TreeNode* const before = parent_of(node);
  if (parent == before) return 0;
  if (parent != nullptr) {
    if (is_owner_of(node, parent)) return os::fail(os::Error::loop);
    if (before != nullptr && TARN_LIKELY(move_plain(parent, node))) {  // It has no other owners.
      count_move(before, parent, node);
      note_child(node);
      return 0;
    }
    if (!prepare_to_link(parent, node)) return -1;
  }
  if (!unlink_to_move(node)) return -1;
  if (parent == nullptr) {
    count_edge(nullptr, node, 1);
    note_root(node);
  } else {
    if (!link_child_of(parent, node)) report_tree_damage(node);
    count_edge(parent, node, 1);
    note_child(node);
  }
  if (before != nullptr && is_reference(before)) end_reference(before);
  TreeReference* const second = parent == nullptr ? nullptr : reference_of(parent, node);
  if (second != nullptr) end_reference(second);
  TARN_ASSERT(parent_of(node) == parent);
  return 0;
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

void* tarn_tree_reallocate(void* p, std::size_t bytes) {
  TreeNode* const node = node_of(p);
  check_place(node, "tarn_tree_reallocate");
  if (bytes > tree_bytes_max) return fail_null(os::Error::no_memory);
  if (has(node, node_is_on_path)) return fail_null(os::Error::busy);
  if (has(node, node_is_apart)) return fail_null(os::Error::invalid);
  return move_to_size(node, bytes);
}

int tarn_tree_steal(void* parent, void* p) {
  return steal(parent == nullptr ? nullptr : node_of(parent), node_of(p));
}

}  // extern "C"
