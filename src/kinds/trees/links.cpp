// links: see links.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/trees/links.hpp"

#include <initializer_list>
#include <new>

#include "kinds/trees/domain.hpp"
#include "kinds/trees/memory.hpp"

namespace tarn {

namespace {

// The links of its neighbours that close the gap when a node is taken out: two at most.
struct Seam {
  TreeNode* from[2] = {};
  TreeLink link[2] = {};
  TreeNode* to[2] = {};
};

Seam seam_of(const TreeNode* node) noexcept {
  TreeNode* const parent = parent_of(node);
  TreeNode* const older = older_of(node);
  TreeNode* const younger = younger_of(node);
  Seam seam;
  if (parent == nullptr || is_reference(parent)) return seam;
  TreeNode* const newest = newest_of(parent);
  TARN_ASSERT(newest != nullptr && younger != nullptr);
  if (newest == node) {  // The newest one's `younger` link leads to the oldest.
    seam = {{parent, older}, {link_child, link_younger}, {older, younger}};
  } else {
    seam = {
        {younger, older != nullptr ? older : newest}, {link_older, link_younger}, {older, younger}};
  }
  return seam;
}

// The neighbour that needs an Extra for its new link; null: none does.
TreeNode* needs_extra(const Seam& seam) noexcept {
  for (int i = 0; i < 2; ++i) {
    if (seam.from[i] != nullptr && !can_link(seam.from[i], seam.to[i])) return seam.from[i];
  }
  return nullptr;
}

void check_neighbours(const TreeNode* node) noexcept {
  const TreeNode* const parent = parent_of(node);
  if (parent == nullptr || is_reference(parent)) return;
  if (!is_known_in_place(node)) report_tree_damage(node);
}

void close(const Seam& seam) noexcept {
  for (int i = 0; i < 2; ++i) {
    if (seam.from[i] != nullptr) set_link(seam.from[i], seam.link[i], seam.to[i]);
  }
}

void forget_place(TreeNode* node) noexcept {
  set_link(node, link_parent, nullptr);
  set_link(node, link_older, nullptr);
  set_link(node, link_younger, nullptr);
}

// A reference that was its target's parent has no target any more.
void leave_reference(TreeNode* parent) noexcept {
  auto* const reference = static_cast<TreeReference*>(parent);
  TARN_ASSERT(reference->is_owner);
  reference->is_owner = false;
  reference->target = nullptr;
}

// Most nodes are plain: they and their neighbours are not extended and lie in one slab. The
// functions below work on the links of such nodes as they stand. They return false for all others,
// and then nothing has changed.

// Where a node without a parent is to be linked below one, as it is before that.
struct PlainPlace {
  std::uint32_t parent;
  std::uint32_t newest;  // 0: there are no children.
  TreeNode* newest_node;
};

bool find_place(TreeNode* parent, const TreeNode* node, PlainPlace* place) noexcept {
  if (is_extended(node) || is_reference(parent)) return false;
  if (!is_in_slab_of(parent, node) || !is_in_slab_of(node, parent)) return false;
  TreeNode* const newest = linked(parent, link_child);
  *place = {link_to(parent), newest == nullptr ? 0 : link_to(newest), newest};
  return newest == nullptr || (!is_extended(newest) && is_in_slab_of(node, newest));
}

void take_place(TreeNode* parent, TreeNode* node, const PlainPlace& place) noexcept {
  const std::uint32_t self = link_to(node);
  std::uint32_t oldest = self;
  if (place.newest != 0) {
    oldest = place.newest_node->word[link_younger];
    place.newest_node->word[link_younger] = self;
  }
  put(node, link_parent, place.parent);
  put(node, link_older, place.newest);
  node->word[link_younger] = oldest;
  if (TARN_LIKELY(!is_extended(parent))) return put(parent, link_child, self);
  extra_of(parent)->link[link_child] = node;
}

bool link_plain(TreeNode* parent, TreeNode* node) noexcept {
  PlainPlace place;
  if (TARN_UNLIKELY(!find_place(parent, node, &place))) return false;
  take_place(parent, node, place);
  TARN_ASSERT(is_known_in_place(node));
  return true;
}

// Closes the gap around the node, which keeps the links that it had. False also when the links are
// damaged.
bool leave_place(TreeNode* node) noexcept {
  if (is_extended(node)) return false;
  const std::uintptr_t slab = address_of(node) & ~tree_slab_mask;
  const std::uint32_t self = link_to(node);
  const std::uint32_t older = node->word[link_older] & link_bits;
  const std::uint32_t younger = node->word[link_younger];
  TreeNode* const parent = link_of(node, link_parent);
  if (parent == nullptr || is_reference(parent) || younger == 0) return false;
  const bool is_newest = linked(parent, link_child) == node;
  TreeNode* const younger_node = node_at(slab, younger);
  // The node whose `younger` link leads here: the older sibling, or the newest one for the oldest.
  TreeNode* const leads = older != 0  ? node_at(slab, older)
                          : is_newest ? node
                                      : linked(parent, link_child);
  if (leads == nullptr || is_extended(leads) || is_extended(younger_node)) return false;
  if (link_of(leads, link_younger) != node) return false;
  if ((younger_node->word[link_older] & link_bits) != (is_newest ? 0 : self)) return false;
  leads->word[link_younger] = younger;
  if (!is_newest) {
    put(younger_node, link_older, older);
  } else if (TARN_LIKELY(!is_extended(parent))) {
    put(parent, link_child, older);
  } else {
    extra_of(parent)->link[link_child] = link_of(node, link_older);
  }
  return true;
}

bool unlink_plain(TreeNode* node) noexcept {
  if (!leave_place(node)) return false;
  put(node, link_parent, 0);
  put(node, link_older, 0);
  node->word[link_younger] = 0;
  return true;
}

}  // namespace

bool move_plain(TreeNode* parent, TreeNode* node) noexcept {
  PlainPlace place;
  if (!find_place(parent, node, &place) || !leave_place(node)) return false;
  take_place(parent, node, place);
  TARN_ASSERT(is_known_in_place(node));
  return true;
}

bool is_known_in_place(const TreeNode* node) noexcept {
  const TreeNode* const older = older_of(node);
  const TreeNode* const younger = younger_of(node);
  if (younger == nullptr || (older != nullptr && younger_of(older) != node)) return false;
  const bool is_newest = newest_of(parent_of(node)) == node;
  return older_of(younger) == (is_newest ? nullptr : node);
}

void extend_with(TreeNode* node, TreeExtra* extra) noexcept {
  TARN_ASSERT(!is_extended(node));
  for (const TreeLink l : {link_parent, link_child, link_older, link_younger}) {
    extra->link[l] = linked(node, l);
  }
  const auto address = std::uint64_t{address_of(extra)};
  node->word[0] &= 3;
  node->word[1] &= 3;
  node->word[2] = static_cast<std::uint32_t>(address) | memory_of(node);
  node->word[3] = static_cast<std::uint32_t>(address >> 32);
  set(node, node_is_extended, true);
  TARN_ASSERT(extra_of(node) == extra && memory_of(node) != memory_of_none);
  join_domain(node, *extra);
}

bool extend(TreeNode* node) noexcept {
  if (is_extended(node)) return true;
  void* const memory = allocate_beside(sizeof(TreeExtra));
  if (memory == nullptr) return false;
  extend_with(node, new (memory) TreeExtra{});
  return true;
}

bool prepare_to_link(TreeNode* parent, TreeNode* node) noexcept {
  TreeNode* const newest = newest_of(parent);
  TreeNode* const oldest = newest == nullptr ? node : younger_of(newest);
  const bool can = can_link(node, parent) && can_link(node, newest) && can_link(node, oldest);
  if (TARN_UNLIKELY(!can) && !extend(node)) return false;
  if (TARN_UNLIKELY(!can_link(parent, node)) && !extend(parent)) return false;
  return newest == nullptr || TARN_LIKELY(can_link(newest, node)) || extend(newest);
}

bool link_child_of(TreeNode* parent, TreeNode* node) noexcept {
  if (TARN_LIKELY(link_plain(parent, node))) return true;
  if (!prepare_to_link(parent, node)) return false;
  TreeNode* const newest = newest_of(parent);
  TreeNode* const oldest = newest == nullptr ? node : younger_of(newest);
  if (newest != nullptr) set_link(newest, link_younger, node);
  set_link(node, link_parent, parent);
  set_link(node, link_older, newest);
  set_link(node, link_younger, oldest);
  set_link(parent, link_child, node);
  TARN_ASSERT(is_known_in_place(node));
  return true;
}

void unlink_last(TreeNode* node) noexcept {
  TreeNode* const parent = parent_of(node);
  if (TARN_LIKELY(unlink_plain(node))) return count_edge(parent, node, -1);
  check_neighbours(node);
  count_edge(parent, node, -1);
  if (parent == nullptr) return;
  if (is_reference(parent)) leave_reference(parent);
  const Seam seam = seam_of(node);
  forget_place(node);
  TreeNode* const lacking = needs_extra(seam);
  if (TARN_UNLIKELY(lacking != nullptr)) {
    TARN_ASSERT(is_extended(node));
    TreeExtra* const extra = extra_of(node);
    leave_domain(*extra);
    *extra = {};
    for (std::uint32_t& word : node->word) word &= 3;
    node->word[3] = 0;
    set(node, node_is_extended, false);
    extend_with(lacking, extra);
  }
  TARN_ASSERT(needs_extra(seam) == nullptr && parent_of(node) == nullptr);
  close(seam);
}

bool unlink_to_move(TreeNode* node) noexcept {
  TreeNode* const parent = parent_of(node);
  if (TARN_LIKELY(unlink_plain(node))) {
    count_edge(parent, node, -1);
    return true;
  }
  check_neighbours(node);
  const Seam seam = parent == nullptr ? Seam{} : seam_of(node);
  TreeNode* const lacking = needs_extra(seam);
  if (TARN_UNLIKELY(lacking != nullptr) && !extend(lacking)) return false;
  count_edge(parent, node, -1);
  if (parent == nullptr) return true;
  if (is_reference(parent)) leave_reference(parent);
  forget_place(node);
  TARN_ASSERT(needs_extra(seam) == nullptr && parent_of(node) == nullptr);
  close(seam);
  return true;
}

}  // namespace tarn
