// tree: nodes come, change places and sizes. See tarn/tree.h.
//
// SPDX-License-Identifier: MIT
#include "tree/tree.hpp"

#include <cstring>

#include "heap/blocks.hpp"
#include "heap/free.hpp"
#include "heap/resize.hpp"
#include "os/process.hpp"
#include "report/report.hpp"
#include "tree/domain.hpp"
#include "tree/threads.hpp"

namespace tarn {

namespace {

void* fail_null(os::Error error) noexcept {
  os::set_error(error);
  return nullptr;
}

TreeNode* put_below(TreeNode* parent, TreeNode* node) noexcept {
  if (TARN_UNLIKELY(node == nullptr)) return nullptr;
  if (parent == nullptr) {
    note_root(node);
    return node;
  }
  if (TARN_LIKELY(link_child_of(parent, node))) return node;  // An edge in its memory.
  free_node(node);
  return nullptr;
}

// So that links to a node and from it do not depend on where it is.
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

// A node has come from `old` with all its bytes; now those around it hear of that.
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
  for (TreeNode* child = newest_of(node); child != nullptr; child = older_of(child)) {
    set_link(child, link_parent, node);
  }
  if (!is_extended(node)) return;
  for (TreeReference* r = extra_of(node)->references; r != nullptr; r = r->next) r->target = node;
}

// Blocks from here on are moved by the system, without being copied, if nobody is below them.
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
    if (before != nullptr && TARN_LIKELY(move_plain(parent, node))) {  // Nor has it other owners.
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
  return 0;
}

}  // namespace

TreeNode* make_node(TreeNode* parent, std::size_t bytes) noexcept {
  if (TARN_UNLIKELY(bytes > tree_bytes_max)) {
    os::set_error(os::Error::no_memory);
    return nullptr;
  }
  check_thread(parent, "tarn_tree_allocate");
  TreeDomain* const domain = domain_below(parent);
  if (TARN_UNLIKELY(domain != nullptr)) return put_below(parent, place_in(*domain, bytes));
  void* const block = allocate(sizeof(TreeNode) + bytes);
  if (TARN_UNLIKELY(block == nullptr)) return nullptr;
  return put_below(parent, begin_node(block, memory_of_malloc));
}

TreeNode* make_node_apart(TreeNode* parent, std::size_t bytes, std::size_t alignment,
                          tarn_tree_destructor destructor) noexcept {
  if (alignment < tree_grain) alignment = tree_grain;
  // What is in front is at most the alignment, or 64 bytes.
  if (bytes > tree_bytes_max - 64 - alignment || alignment > tree_bytes_max / 2) {
    os::set_error(os::Error::no_memory);
    return nullptr;
  }
  check_thread(parent, "tarn_tree_allocate_object");
  TreeNode* const node = put_below(parent, place_apart_below(parent, bytes, alignment));
  if (node != nullptr) set_destructor(node, destructor);
  return node;
}

void free_node(TreeNode* node) noexcept {
  if (is_extended(node)) drop_extra(extra_of(node));
  give_block(node);
}

void drop_extra(TreeExtra* extra) noexcept {
  leave_domain(*extra);
  drop_name(*extra);
  deallocate(extra);
}

void unlink_and_free(TreeNode* node) noexcept {
  TreeDomain* domain = nullptr;
  stop_asking(node);
  if (is_extended(node)) {
    TreeExtra& extra = *extra_of(node);
    drop_name(extra);
    domain = extra.domain;
  }
  unlink_last(node);  // Its Extra may be a neighbour's afterwards.
  free_node(node);
  if (domain != nullptr) end_domain(domain);
}

TreeNode* next_of_all(const TreeNode* root, TreeNode* node, std::size_t* depth) noexcept {
  // What a reference owns is below the reference, and for a program below the reference's owner.
  if (TreeNode* const newest = newest_of(node)) {
    if (!is_reference(node)) ++*depth;
    return younger_of(newest);
  }
  while (node != root) {
    TreeNode* const parent = parent_of(node);
    if (!is_reference(parent) && newest_of(parent) != node) return younger_of(node);
    node = parent;
    if (!is_reference(parent)) --*depth;
  }
  return nullptr;
}

TreeNode* next_below(const TreeNode* root, TreeNode* node) noexcept {
  std::size_t depth = 0;
  do {
    node = next_of_all(root, node, &depth);
  } while (node != nullptr && is_reference(node));
  return node;
}

void report_tree_damage(const TreeNode* node) noexcept {
  Line line;
  line.text("tarn: damaged tree: the neighbours of the node at ").address(node + 1);
  line.text(" do not know it; it is no node, has been disposed of, or was written to in front");
  line.print();
  os::process_abort();
}

}  // namespace tarn

using namespace tarn;

extern "C" {

void* tarn_tree_allocate(void* parent, std::size_t bytes) {
  TreeNode* const above = parent == nullptr ? nullptr : node_of(parent);
  TreeNode* const node = make_node(above, bytes);
  return node == nullptr ? nullptr : bytes_of(node);
}

void* tarn_tree_allocate_aligned(void* parent, std::size_t alignment, std::size_t bytes) {
  if (!is_power_of_two(alignment)) return fail_null(os::Error::invalid);
  if (alignment <= tree_grain) return tarn_tree_allocate(parent, bytes);
  return tarn_tree_allocate_object(parent, alignment, bytes, nullptr);
}

void* tarn_tree_allocate_object(void* parent, std::size_t alignment, std::size_t bytes,
                                tarn_tree_destructor destructor) {
  if (!is_power_of_two(alignment)) return fail_null(os::Error::invalid);
  TreeNode* const above = parent == nullptr ? nullptr : node_of(parent);
  TreeNode* const node = make_node_apart(above, bytes, alignment, destructor);
  return node == nullptr ? nullptr : bytes_of(node);
}

void* tarn_tree_allocate_array(void* parent, std::size_t count, std::size_t bytes) {
  std::size_t product = 0;
  if (!checked_multiply(count, bytes, &product)) return fail_null(os::Error::no_memory);
  return tarn_tree_allocate(parent, product);
}

void* tarn_tree_allocate_zeroed(void* parent, std::size_t count, std::size_t bytes) {
  void* const p = tarn_tree_allocate_array(parent, count, bytes);
  if (p != nullptr) std::memset(p, 0, count * bytes);
  return p;
}

void* tarn_tree_reallocate(void* p, std::size_t bytes) {
  TreeNode* const node = node_of(p);
  check_place(node, "tarn_tree_reallocate");
  if (bytes > tree_bytes_max) return fail_null(os::Error::no_memory);
  if (has(node, node_is_on_path)) return fail_null(os::Error::busy);
  if (has(node, node_is_apart)) return fail_null(os::Error::invalid);
  return move_to_size(node, bytes);
}

std::size_t tarn_tree_size(const void* p) {
  if (p == nullptr) return 0;
  return room_of(node_of(p), "tarn_tree_size");
}

int tarn_tree_steal(void* parent, void* p) {
  return steal(parent == nullptr ? nullptr : node_of(parent), node_of(p));
}

}  // extern "C"
