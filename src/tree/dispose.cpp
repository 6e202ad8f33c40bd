// dispose: nodes go, those below them first. What has begun is remembered by nodes on the path from
// the root of the disposal to where it is: there is no stack. See docs/design/tree.md.
//
// SPDX-License-Identifier: MIT
#include "heap/blocks.hpp"
#include "os/process.hpp"
#include "tree/domain.hpp"
#include "tree/threads.hpp"
#include "tree/tree.hpp"

namespace tarn {

namespace {

void leave_path(const TreeNode* root, TreeNode* node) noexcept {
  for (;; node = parent_of(node)) {
    set(node, node_is_on_path, false);
    if (node == root) return;
  }
}

// A child without anything that would have to be asked, and without children. One on the path is
// none: its destructor may be running, although it has been taken off.
bool is_plain_leaf(const TreeNode* node) noexcept {
  constexpr std::uint32_t asks = 1U << node_is_extended | 1U << node_is_reference;
  if ((node->word[0] & asks) != 0) return false;
  if (TARN_LIKELY(node->word[link_child] == 0)) return true;  // Nor is it apart.
  constexpr std::uint32_t only_apart = 1U << node_is_apart % 2;
  return node->word[link_child] == only_apart && destructor_of(node) == nullptr;
}

// The newest children that are plain leaves, as long as nobody need be told of each.
void free_plain_leaves(TreeNode* parent) noexcept {
  TreeNode* node = newest_of(parent);
  if (node == nullptr || !is_plain_leaf(node) || is_reference(parent)) return;
  // Of malloc only, as what is counted of the others is; what they link lies in their slab.
  const bool is_simple = is_of_malloc(parent) && !is_extended(parent);
  TreeNode* const oldest = younger_of(node);
  do {
    TreeNode* const older = older_of(node);
    if (older != nullptr && younger_of(older) != node) report_tree_damage(node);
    if (TARN_LIKELY(is_simple && is_of_malloc(node) && !has(node, node_is_apart))) {
      mark_gone(node);
      deallocate(node);
    } else {
      count_edge(parent, node, -1);
      give_block(node);
    }
    node = older;
  } while (node != nullptr && is_plain_leaf(node));
  set_link(parent, link_child, node);
  if (node != nullptr) set_link(node, link_younger, oldest);
}

// The first one that would be freed there: then it need not be unlinked.
bool is_next_plain_leaf(const TreeNode* node) noexcept {
  const TreeNode* const parent = parent_of(node);
  return !is_reference(parent) && newest_of(parent) == node && is_plain_leaf(node);
}

// Whether the node may go; its children may be others by then.
bool ask(TreeNode* node) noexcept {
  const tarn_tree_destructor destructor = destructor_of(node);
  if (destructor == nullptr) return true;
  count_asking(node, 1);  // Whatever it does, its domain does not go at once.
  const bool may_go = destructor(bytes_of(node)) == 0;
  count_asking(node, -1);
  if (may_go && destructor_of(node) == destructor) set_destructor(node, nullptr);
  return may_go;
}

void end(TreeNode* node) noexcept {
  if (is_reference(node)) return end_reference(node);
  unlink_and_free(node);
}

TreeNode* stop(const TreeNode* root, TreeNode* node, TreeNode* at, os::Error error) noexcept {
  leave_path(root, node);
  os::set_error(error);
  return at;
}

}  // namespace

TreeNode* dispose(TreeNode* root) noexcept {
  check_place(root, "tarn_tree_dispose");
  if (has(root, node_is_on_path) || has_references(root)) {
    os::set_error(os::Error::busy);
    return root;
  }
  // The reference that is its parent ends with it.
  TreeNode* const parent = parent_of(root);
  if (parent != nullptr && is_reference(parent)) root = parent;
  set(root, node_is_on_path, true);
  TreeNode* node = root;
  for (;;) {
    if (begins_domain(node)) drop_below(node);
    free_plain_leaves(node);
    TreeNode* const child = newest_of(node);
    if (child != nullptr) {
      if (has(child, node_is_on_path)) return stop(root, node, child, os::Error::busy);
      if (has_references(child)) {
        if (!pass_to_next_owner(child)) return stop(root, node, child, os::Error::no_memory);
        continue;
      }
      if (is_extended(child)) check_taker(*extra_of(child), child, "tarn_tree_dispose");
      set(child, node_is_on_path, true);
      __builtin_prefetch(older_of(child), 1);  // Where it goes on after what is below.
      node = child;
      continue;
    }
    if (!is_reference(node)) {
      if (!ask(node)) return stop(root, node, node, os::Error::busy);
      if (newest_of(node) != nullptr || destructor_of(node) != nullptr) continue;
    }
    set(node, node_is_on_path, false);  // From here on nobody is asked until it has gone.
    if (node != root && is_next_plain_leaf(node)) {
      node = parent_of(node);
      continue;
    }
    TreeNode* const above = node == root ? nullptr : parent_of(node);
    end(node);
    if (above == nullptr) return nullptr;
    node = above;
  }
}

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_tree_dispose(void* p) { return tarn_tree_try_dispose(p, nullptr); }

int tarn_tree_try_dispose(void* p, void** stayed) {
  TreeNode* stopped = p == nullptr ? nullptr : dispose(node_of(p));
  if (stopped != nullptr && is_reference(stopped)) {  // Only on the way of another disposal.
    stopped = static_cast<TreeReference*>(stopped)->target;
  }
  if (stayed != nullptr) *stayed = stopped == nullptr ? nullptr : bytes_of(stopped);
  return stopped == nullptr ? 0 : -1;
}

int tarn_tree_dispose_children(void* p) {
  TreeNode* const node = node_of(p);
  check_thread(node, "tarn_tree_dispose_children");
  // It is to stay where it is meanwhile.
  const bool was_on_path = has(node, node_is_on_path);
  set(node, node_is_on_path, true);
  count_asking(node, 1);
  if (begins_domain(node)) drop_below(node);
  bool done = true;
  for (TreeNode* child; done && (child = newest_of(node)) != nullptr;) {
    done = has_references(child) ? pass_to_next_owner(child) : dispose(child) == nullptr;
  }
  count_asking(node, -1);
  set(node, node_is_on_path, was_on_path);
  if (done && begins_domain(node)) clear_domain(*extra_of(node)->domain);
  return done ? 0 : -1;
}

int tarn_tree_set_destructor(void* p, tarn_tree_destructor destructor) {
  TreeNode* const node = node_of(p);
  check_thread(node, "tarn_tree_set_destructor");
  const bool has_place = has(node, node_is_apart) || is_extended(node);
  if (!has_place && destructor == nullptr) return 0;
  if (!has_place && !extend(node)) return -1;
  set_destructor(node, destructor);
  return 0;
}

}  // extern "C"
