// dispose: how a node goes, after all nodes below it. There is no stack: the nodes on the path from
// the root of the disposal to where it is are marked. See docs/design/tree.md.
//
// SPDX-License-Identifier: MIT
#include "kinds/trees/blocks.hpp"
#include "kinds/trees/domain.hpp"
#include "kinds/trees/links.hpp"
#include "kinds/trees/plain.hpp"
#include "kinds/trees/references.hpp"
#include "kinds/trees/threads.hpp"
#include "kinds/trees/tree.hpp"
#include "malloc/blocks/free.hpp"
#include "platform/os/process.hpp"

namespace tarn {

namespace {

void leave_path(const TreeNode* root, TreeNode* node) noexcept {
  for (;; node = parent_of(node)) {
    TARN_ASSERT(has(node, node_is_on_path));
    set(node, node_is_on_path, false);
    if (node == root) return;
  }
}

// Nodes that were made one after the other lie one above the other in the page of their size. On
// that guess the nodes that will be met soon are prefetched; the links would tell them too late.
constexpr std::ptrdiff_t guess_bytes = 512;
void prefetch(const TreeNode* node, std::ptrdiff_t offset) noexcept {
  __builtin_prefetch(reinterpret_cast<const char*>(node) + offset, 1);
}

// Whether the node has no children, and no destructor or owner to ask before it goes. A node on the
// path is none: its destructor may be running, although it is not set any more.
bool is_plain_leaf(const TreeNode* node) noexcept {
  if (!is_ordinary(node)) return false;
  if (TARN_LIKELY(node->word[link_child] == 0)) return true;  // And it is not apart.
  constexpr std::uint32_t only_apart = 1U << node_is_apart % 2;
  return node->word[link_child] == only_apart && *place_of_destructor(node) == nullptr;
}

// Frees the newest child, `node`, and its older siblings as far as they are plain leaves. The nodes
// that these link lie in their slab. pre: the parent is no reference
void free_plain_leaves(TreeNode* parent, TreeNode* node, PlainTrees& trees) noexcept {
  TARN_ASSERT(!is_reference(parent) && newest_of(parent) == node);
  const bool is_simple = is_malloc_below(parent);
  TreeNode* const oldest = younger_of(node);
  std::uint32_t count = 0;
  do {
    TreeNode* const older = older_of(node);
    prefetch(node, -guess_bytes);
    if (older != nullptr && younger_of(older) != node) report_tree_damage(node);
    if (TARN_LIKELY(is_simple && is_of_malloc(node))) {
      mark_gone(node);
      deallocate(block_of(node));
    } else {
      give_block_from_below(parent, node);
    }
    ++count;
    node = older;
  } while (node != nullptr && is_plain_leaf(node));
  set_link(parent, link_child, node);
  if (node != nullptr) set_link(node, link_younger, oldest);
  trees.earn(count);
}

enum class Answer { go, look_again, stay };

// Asks the destructor whether the node may go. The call may change its children and its destructor.
Answer ask(TreeNode* node) noexcept {
  if (is_reference(node)) return Answer::go;
  tarn_tree_destructor* const place = place_of_destructor(node);
  if (place == nullptr || *place == nullptr) return Answer::go;
  const tarn_tree_destructor destructor = *place;
  TreeDomain* const domain = TARN_LIKELY(is_of_malloc(node)) ? nullptr : domain_of(node);
  add_asking(domain, 1);  // So its domain does not go at once, whatever the destructor does.
  const bool may_go = destructor(bytes_of(node)) == 0;
  add_asking(domain, -1);
  TARN_ASSERT(!has_gone(node));
  if (!may_go) return Answer::stay;
  if (*place == destructor) {
    *place = nullptr;
    add_asking(domain, -1);
  }
  const bool is_as_before = *place == nullptr && newest_of(node) == nullptr;
  return TARN_LIKELY(is_as_before) ? Answer::go : Answer::look_again;
}

void end(TreeNode* node) noexcept {
  if (is_reference(node)) return end_reference(node);
  unlink_and_free(node);
}

// Ends a node below `parent`. Most nodes are still its newest child and have nothing but a block.
void end_below(TreeNode* parent, TreeNode* node) noexcept {
  TARN_ASSERT(parent_of(node) == parent && newest_of(node) == nullptr);
  if (!is_ordinary(node) || is_reference(parent) || newest_of(parent) != node) return end(node);
  prefetch(node, -guess_bytes);
  TreeNode* const older = link_of(node, link_older);
  if (older != nullptr) {
    if (younger_of(older) != node) report_tree_damage(node);
    set_link(older, link_younger, link_of(node, link_younger));
  }
  set_link(parent, link_child, older);
  if (TARN_LIKELY(is_malloc_below(parent) && is_of_malloc(node))) {
    mark_gone(node);
    return deallocate(block_of(node));
  }
  give_block_from_below(parent, node);
}

TreeNode* stop(const TreeNode* root, TreeNode* node, TreeNode* at, os::Error error) noexcept {
  leave_path(root, node);
  os::set_error(error);
  return at;
}

bool can_drop(const TreeDomain& domain) noexcept {
  if (domain.asking != 0 || domain.guests != 0) return false;
  // With nodes outside, the others would have to be told from them.
  return domain.outside == 0 || (domain.is_of_arena && domain.extras == nullptr);
}

// Lets all nodes below the node at which a domain begins go at once, if none has to be visited. It
// is not inlined, so that the loop below stays small.
TARN_NOINLINE void drop_below(TreeNode* node) noexcept {
  TreeDomain& domain = *extra_of(node)->domain;
  if (newest_of(node) == nullptr || !can_drop(domain)) return;
  while (TreeExtra* const extra = domain.extras) {
    check_taker(*extra, nullptr, "tarn_tree_dispose");
    drop_extra(extra);
  }
  set_link(node, link_child, nullptr);
}

// Disposes of all nodes below `root`, which stays on the path. Returns the node that stopped it, or
// null.
TreeNode* dispose_below(TreeNode* root) noexcept {
  PlainTrees trees;
  trees.free_below(root);
  TreeNode* node = root;
  for (;;) {
    TARN_ASSERT(has(node, node_is_on_path));
    if (begins_domain(node)) drop_below(node);
    TreeNode* const child = newest_of(node);
    if (child != nullptr) {
      if (TARN_UNLIKELY(parent_of(child) != node)) report_tree_damage(child);
      if (is_plain_leaf(child)) {  // So the parent is no reference, either.
        free_plain_leaves(node, child, trees);
        continue;
      }
      if (has(child, node_is_on_path)) return stop(root, node, child, os::Error::busy);
      if (is_extended(child)) {
        if (has_references(child)) {
          if (!pass_to_next_owner(child)) return stop(root, node, child, os::Error::no_memory);
          continue;
        }
        check_taker(*extra_of(child), child, "tarn_tree_dispose");
      }
      if (trees.can_look() && trees.free_below(child)) continue;
      set(child, node_is_on_path, true);
      prefetch(child, guess_bytes);
      __builtin_prefetch(older_of(child), 1);  // It comes after the nodes below the child.
      node = child;
      continue;
    }
    if (node == root) return nullptr;
    const Answer answer = ask(node);
    if (answer == Answer::stay) return stop(root, node, node, os::Error::busy);
    if (answer == Answer::look_again) continue;
    set(node, node_is_on_path, false);  // Nothing of the program runs until the node has gone.
    TreeNode* const above = parent_of(node);
    end_below(above, node);
    trees.earn(1);
    node = above;
  }
}

// Does what tarn_tree_dispose does, and returns the node that stopped it, or null.
TreeNode* dispose(TreeNode* root) noexcept {
  check_place(root, "tarn_tree_dispose");
  if (has(root, node_is_on_path) || has_references(root)) {
    os::set_error(os::Error::busy);
    return root;
  }
  // If its parent is a reference, that ends with it.
  TreeNode* const parent = parent_of(root);
  if (parent != nullptr && is_reference(parent)) root = parent;
  set(root, node_is_on_path, true);
  Answer answer = Answer::look_again;
  while (answer == Answer::look_again) {
    TreeNode* const stopped = dispose_below(root);
    if (stopped != nullptr) return stopped;
    answer = ask(root);
  }
  if (answer == Answer::stay) return stop(root, root, root, os::Error::busy);
  set(root, node_is_on_path, false);
  TARN_ASSERT(newest_of(root) == nullptr && !has_references(root));
  end(root);
  return nullptr;
}

int unreference(TreeNode* owner, TreeNode* node) noexcept {
  check_place(node, "tarn_tree_unreference");
  check_thread(owner, "tarn_tree_unreference");
  if (has(node, node_is_on_path)) return os::fail(os::Error::busy);
  TreeNode* const parent = parent_of(node);
  if (owner_of(node) == owner) {
    if (!has_references(node)) return dispose(node) == nullptr ? 0 : -1;
    if (!pass_to_next_owner(node)) return -1;
    if (parent != nullptr && is_reference(parent)) end_reference(parent);
    return 0;
  }
  TreeReference* const reference = reference_of(owner, node);
  if (reference == nullptr) return os::fail(os::Error::invalid);
  if (has(reference, node_is_on_path)) return os::fail(os::Error::busy);
  end_reference(reference);
  return 0;
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_tree_dispose(void* p) { return tarn_tree_try_dispose(p, nullptr); }

int tarn_tree_try_dispose(void* p, void** stayed) {
  TreeNode* stopped = p == nullptr ? nullptr : dispose(node_of(p));
  if (stopped != nullptr && is_reference(stopped)) {  // It is on the path of another disposal.
    stopped = static_cast<TreeReference*>(stopped)->target;
  }
  if (stayed != nullptr) *stayed = stopped == nullptr ? nullptr : bytes_of(stopped);
  return stopped == nullptr ? 0 : -1;
}

int tarn_tree_dispose_children(void* p) {
  TreeNode* const node = node_of(p);
  check_thread(node, "tarn_tree_dispose_children");
  // It is put on the path, so that no destructor moves it or disposes of it meanwhile.
  const bool was_on_path = has(node, node_is_on_path);
  set(node, node_is_on_path, true);
  count_asking(node, 1);
  const bool done = dispose_below(node) == nullptr;
  count_asking(node, -1);
  set(node, node_is_on_path, was_on_path);
  TARN_ASSERT(!done || newest_of(node) == nullptr);
  if (done && begins_domain(node)) clear_domain(*extra_of(node)->domain);
  return done ? 0 : -1;
}

int tarn_tree_unreference(void* owner, void* p) {
  return unreference(owner == nullptr ? nullptr : node_of(owner), node_of(p));
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
