// domain: see domain.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/trees/domain.hpp"

#include "heaps/blocks/lookup.hpp"
#include "platform/os/process.hpp"

namespace tarn {

TreeDomain* domain_of(const TreeNode* node) noexcept {
  switch (memory_of(node)) {
    case memory_of_malloc: return nullptr;
    case memory_of_heap: {
      const void* const block = block_of(node);
      return static_cast<TreeDomain*>(record_of(find_span(block), block)->belongs_to);
    }
    case memory_of_arena: break;
    case memory_of_none: report_tree_damage(node);
  }
  return domain_of_arena_node(node);
}

TreeDomain* other_domain_below(const TreeNode* parent) noexcept {
  return begins_domain(parent) ? extra_of(parent)->domain : domain_of(parent);
}

void count_other_edge(const TreeNode* parent, const TreeNode* node, int change) noexcept {
  count_edge_between(domain_below(parent), domain_of(node), change);
}

void count_other_move(const TreeNode* from, const TreeNode* to, const TreeNode* node) noexcept {
  TARN_ASSERT(from != to);
  TreeDomain* const own = domain_of(node);
  count_edge_between(domain_below(from), own, -1);
  count_edge_between(domain_below(to), own, 1);
}

void join_domain(const TreeNode* node, TreeExtra& extra) noexcept {
  TARN_ASSERT(extra.led == nullptr);
  if (TARN_LIKELY(is_of_malloc(node))) return;
  TreeExtra** const first = &domain_of(node)->extras;
  TARN_ASSERT(*first == nullptr || (*first)->led == first);
  extra.next = *first;
  extra.led = first;
  if (*first != nullptr) (*first)->led = &extra.next;
  *first = &extra;
}

void leave_domain(TreeExtra& extra) noexcept {
  if (TARN_LIKELY(extra.led == nullptr)) return;
  TARN_ASSERT(*extra.led == &extra);
  TARN_ASSERT(extra.next == nullptr || extra.next->led == &extra.next);
  *extra.led = extra.next;
  if (extra.next != nullptr) extra.next->led = extra.led;
  extra.next = nullptr;
  extra.led = nullptr;
}

void stop_asking(const TreeNode* node) noexcept {
  if (TARN_LIKELY(is_of_malloc(node))) return;
  TreeDomain* const domain = domain_of(node);
  if (destructor_of(node) != nullptr) --domain->asking;
  TARN_ASSERT(domain->asking != SIZE_MAX);
  if (!is_extended(node)) return;
  const TreeExtra& extra = *extra_of(node);
  if (extra.references != nullptr) --domain->asking;
  if (extra.domain != nullptr) --domain->asking;
  TARN_ASSERT(domain->asking < SIZE_MAX - 1);
}

tarn_tree_destructor* other_place_of_destructor(const TreeNode* node) noexcept {
  if (!has(node, node_is_apart)) return &extra_of(node)->destructor;
  const bool is_large = memory_of(node) == memory_of_arena && compact_bytes_of(node) == 0;
  return reinterpret_cast<tarn_tree_destructor*>(words_of(node) - (is_large ? 3 : 2));
}

void set_destructor(TreeNode* node, tarn_tree_destructor destructor) noexcept {
  tarn_tree_destructor* const place = place_of_destructor(node);
  TARN_ASSERT(place != nullptr || destructor == nullptr);
  if (place == nullptr) return;
  count_asking(node, int{destructor != nullptr} - int{*place != nullptr});
  *place = destructor;
}

}  // namespace tarn
