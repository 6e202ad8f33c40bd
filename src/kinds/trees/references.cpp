// references: see references.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/trees/references.hpp"

#include <new>

#include "kinds/trees/domain.hpp"
#include "kinds/trees/links.hpp"
#include "kinds/trees/memory.hpp"
#include "kinds/trees/threads.hpp"
#include "kinds/trees/tree.hpp"
#include "platform/os/process.hpp"

namespace tarn {

namespace {

// The nodes with several owners that a search has found, in the order in which it looks at them.
class Found {
 public:
  ~Found() {
    while (first_ != nullptr) {
      TreeExtra* const extra = extra_of(first_);
      first_ = extra->next_found;
      extra->next_found = nullptr;
      extra->is_found = 0;
    }
  }

  void add(TreeNode* node) noexcept {
    TARN_ASSERT(has_references(node));
    TreeExtra* const extra = extra_of(node);
    if (extra->is_found) return;
    extra->is_found = 1;
    (first_ == nullptr ? first_ : extra_of(last_)->next_found) = node;
    last_ = node;
    if (next_ == nullptr) next_ = node;
  }

  TreeNode* take() noexcept {
    TreeNode* const node = next_;
    if (node != nullptr) next_ = extra_of(node)->next_found;
    return node;
  }

 private:
  TreeNode* first_ = nullptr;
  TreeNode* last_ = nullptr;
  TreeNode* next_ = nullptr;
};

// Whether target is `node` or above it, by parents alone. Adds what has several owners to `found`.
bool meets(const TreeNode* target, TreeNode* node, Found& found) noexcept {
  for (; node != nullptr; node = parent_of(node)) {
    if (node == target) return true;
    if (has_references(node)) {
      if (extra_of(node)->is_found) return false;  // What is above has been seen.
      found.add(node);
    }
  }
  return false;
}

void add_reference(TreeNode* node, TreeReference* reference) noexcept {
  TARN_ASSERT(reference->target == node && reference->next == nullptr);
  TreeExtra& extra = *extra_of(node);
  TreeReference* const oldest = extra.references;
  if (oldest == nullptr) {
    count_asking(node, 1);
    extra.references = reference->previous = reference;
    return;
  }
  TARN_ASSERT(oldest->previous->next == nullptr);
  reference->previous = oldest->previous;
  oldest->previous->next = reference;
  oldest->previous = reference;
}

void remove_reference(TreeNode* node, TreeReference* reference) noexcept {
  TreeExtra& extra = *extra_of(node);
  TreeReference* const oldest = extra.references;
  TARN_ASSERT(oldest != nullptr && reference->target == node && !reference->is_owner);
  (reference == oldest ? extra.references : reference->previous->next) = reference->next;
  if (reference->next != nullptr) {
    reference->next->previous = reference->previous;
  } else if (reference != oldest) {
    oldest->previous = reference->previous;
  }
  reference->next = reference->previous = nullptr;
  if (extra.references == nullptr) count_asking(node, -1);
}

}  // namespace

TreeReference* reference_of(const TreeNode* owner, const TreeNode* node) noexcept {
  if (!is_extended(node)) return nullptr;
  for (TreeReference* r = extra_of(node)->references; r != nullptr; r = r->next) {
    if (parent_of(r) == owner) return r;
  }
  return nullptr;
}

bool is_owner_of(const TreeNode* target, TreeNode* node) noexcept {
  if (target == node) return true;
  if (newest_of(target) == nullptr) return false;
  Found found;
  if (meets(target, node, found)) return true;
  while (TreeNode* const shared = found.take()) {
    for (TreeReference* r = extra_of(shared)->references; r != nullptr; r = r->next) {
      if (meets(target, parent_of(r), found)) return true;
    }
  }
  return false;
}

void end_reference(TreeNode* node) noexcept {
  auto* const reference = static_cast<TreeReference*>(node);
  TARN_ASSERT(is_reference(node) && !reference->is_owner);
  unlink_last(reference);
  if (reference->target != nullptr) {
    remove_reference(reference->target, reference);
  }
  free_node(reference);
}

bool pass_to_next_owner(TreeNode* node) noexcept {
  TARN_ASSERT(has_references(node));
  if (!unlink_to_move(node)) return false;
  TreeReference* const reference = extra_of(node)->references;
  remove_reference(node, reference);
  reference->is_owner = true;
  set_link(node, link_parent, reference);
  set_link(node, link_younger, node);
  count_edge(reference, node, 1);
  TARN_ASSERT(newest_of(reference) == node && owner_of(node) == parent_of(reference));
  return true;
}

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_tree_reference(void* owner_bytes, void* p) {
  TreeNode* const owner = node_of(owner_bytes);
  TreeNode* const node = node_of(p);
  check_thread(owner, "tarn_tree_reference");
  check_thread(node, "tarn_tree_reference");
  if (has(node, node_is_on_path)) return os::fail(os::Error::busy);
  if (owner_of(node) == owner || reference_of(owner, node) != nullptr) {
    return os::fail(os::Error::exists);
  }
  if (is_owner_of(node, owner)) return os::fail(os::Error::loop);
  if (!extend(node)) return -1;
  void* const block = allocate_beside(sizeof(TreeReference));
  if (block == nullptr) return -1;
  auto* const reference = new (block) TreeReference{};
  set(reference, node_is_reference, true);
  if (!link_child_of(owner, reference)) {
    free_node(reference);
    return -1;
  }
  count_edge(owner, reference, 1);
  reference->target = node;
  add_reference(node, reference);
  TARN_ASSERT(reference_of(owner, node) == reference && newest_of(reference) == nullptr);
  return 0;
}

std::size_t tarn_tree_owners(const void* p) {
  const TreeNode* const node = node_of(p);
  std::size_t owners = owner_of(node) != nullptr ? 1 : 0;
  if (!is_extended(node)) return owners;
  for (TreeReference* r = extra_of(node)->references; r != nullptr; r = r->next) ++owners;
  return owners;
}

}  // extern "C"
