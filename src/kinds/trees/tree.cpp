// tree: see tree.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/trees/tree.hpp"

#include <cstring>

#include "kinds/trees/blocks.hpp"
#include "kinds/trees/domain.hpp"
#include "kinds/trees/links.hpp"
#include "kinds/trees/threads.hpp"
#include "malloc/blocks/allocate.hpp"
#include "malloc/blocks/free.hpp"
#include "platform/os/process.hpp"

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
  TARN_ASSERT(domain_of(node) == domain_below(parent) && newest_of(node) == nullptr);
  if (TARN_LIKELY(link_child_of(parent, node))) return node;  // In one memory: no edge to count.
  free_node(node);
  return nullptr;
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
  // In front of the bytes lie at most as many as the alignment, or 64.
  if (bytes > tree_bytes_max - 64 - alignment || alignment > tree_bytes_max / 2) {
    os::set_error(os::Error::no_memory);
    return nullptr;
  }
  check_thread(parent, "tarn_tree_allocate_object");
  TreeNode* const node = put_below(parent, place_apart_below(parent, bytes, alignment));
  TARN_ASSERT(node == nullptr || is_aligned(bytes_of(node), alignment));
  if (node != nullptr) set_destructor(node, destructor);
  return node;
}

void free_node(TreeNode* node) noexcept {
  TARN_ASSERT(parent_of(node) == nullptr && newest_of(node) == nullptr);
  if (is_extended(node)) drop_extra(extra_of(node));
  give_block(node);
}

void drop_extra(TreeExtra* extra) noexcept {
  TARN_ASSERT(extra->references == nullptr && extra->is_found == 0);
  leave_domain(*extra);
  drop_name(*extra);
  deallocate(extra);
}

void drop_name(TreeExtra& extra) noexcept {
  if (extra.owns_name != 0) deallocate(const_cast<char*>(extra.name));
  extra.name = nullptr;
  extra.owns_name = 0;
}

void unlink_and_free(TreeNode* node) noexcept {
  TARN_ASSERT(!is_reference(node) && !has_references(node));
  TreeDomain* domain = nullptr;
  stop_asking(node);
  if (is_extended(node)) {
    TreeExtra& extra = *extra_of(node);
    drop_name(extra);
    domain = extra.domain;
  }
  unlink_last(node);  // This may give its Extra to a neighbour.
  free_node(node);
  if (domain != nullptr) end_domain(domain);
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

std::size_t tarn_tree_size(const void* p) {
  if (p == nullptr) return 0;
  return room_of(node_of(p), "tarn_tree_size");
}

}  // extern "C"
