// plain: see plain.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/trees/plain.hpp"

#include "kinds/trees/domain.hpp"
#include "malloc/blocks/free.hpp"

namespace tarn {

// When a node is looked at, its newest child and its older sibling are prefetched. They are looked
// at when all nodes found before them have been, and by then they have come from memory. A node
// that is not plain does not end the search, since the disposal that follows profits from it.
bool PlainTrees::find_from(std::uint32_t first) noexcept {
  TARN_ASSERT(credit_ >= nodes_min && credit_ <= nodes_max);
  const std::uint32_t most = credit_;
  bool all_plain = true;
  std::uint32_t seen = 0;
  found_[0] = first;
  for (count_ = 1; seen < count_ && count_ + 2 <= most; ++seen) {
    const TreeNode* const node = node_at(slab_, found_[seen]);
    if (TARN_UNLIKELY(!is_plain(node))) {
      all_plain = false;
      if (!is_ordinary(node) || has_gone(node)) continue;
    }
    const std::uint32_t child = node->word[link_child] & link_bits;
    const std::uint32_t older = node->word[link_older] & link_bits;
    if (child != 0) {
      __builtin_prefetch(node_at(slab_, child), 1);
      found_[count_++] = child;
    }
    if (older != 0) {
      __builtin_prefetch(node_at(slab_, older), 1);
      found_[count_++] = older;
    }
  }
  TARN_ASSERT(seen <= count_ && count_ <= most);
  if (all_plain && seen == count_) return true;
  if (seen == count_) at_hand_ = seen;
  credit_ -= seen;
  return false;
}

// Checks, before anything is written, that all nodes found agree with the links that lead to them.
void PlainTrees::check_found() const noexcept {
  for (std::uint32_t i = 0; i < count_; ++i) {
    const TreeNode* const node = node_at(slab_, found_[i]);
    const std::uint32_t child = node->word[link_child];
    const std::uint32_t older = node->word[link_older];
    const bool child_knows = child == 0 || node_at(slab_, child)->word[link_parent] == found_[i];
    if (TARN_UNLIKELY(!child_knows)) report_tree_damage(node);
    if (older == 0) continue;
    const TreeNode* const sibling = node_at(slab_, older);
    if (TARN_UNLIKELY(sibling->word[link_younger] != found_[i] ||
                      sibling->word[link_parent] != node->word[link_parent])) {
      report_tree_damage(node);
    }
  }
}

// Nodes are freed backwards, so that those left can always be reached from `top`.
bool PlainTrees::free_below(TreeNode* top) noexcept {
  TARN_ASSERT(can_look());
  TreeNode* const newest = newest_of(top);
  if (newest == nullptr || begins_domain(top)) return false;
  if (!is_in_slab_of(top, newest) || newest->word[link_parent] != link_to(top)) return false;
  slab_ = address_of(newest) & ~tree_slab_mask;
  if (!find_from(link_to(newest)) || !is_of_malloc(top)) return false;
  check_found();
  for (std::uint32_t i = count_; i-- > 0;) {
    TreeNode* const node = node_at(slab_, found_[i]);
    TARN_ASSERT(is_plain(node));
    mark_gone(node);
    deallocate(node);
  }
  set_link(top, link_child, nullptr);
  earn(count_);
  return true;
}

}  // namespace tarn
