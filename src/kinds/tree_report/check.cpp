// check: see check.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/tree_report/check.hpp"

#include <cstring>

#include "kinds/trees/blocks.hpp"
#include "kinds/trees/domain.hpp"
#include "kinds/trees/links.hpp"
#include "kinds/trees/walk.hpp"
#include "platform/os/process.hpp"
#include "platform/report/options.hpp"

namespace tarn {

namespace {

bool are_sound_references(const TreeNode* node) noexcept {
  if (!is_extended(node)) return true;
  const TreeExtra& extra = *extra_of(node);
  if (extra.is_found != 0 || extra.next_found != nullptr) return false;
  for (const TreeReference* r = extra.references; r != nullptr; r = r->next) {
    const TreeReference* const after = r->next != nullptr ? r->next : extra.references;
    if (!is_reference(r) || r->is_owner || r->target != node || parent_of(r) == nullptr ||
        after->previous != r) {
      return false;
    }
  }
  return true;
}

bool is_listed(const TreeReference* reference) noexcept {
  const TreeNode* const target = reference->target;
  if (target == nullptr || !is_extended(target) || reference->previous == nullptr) return false;
  const TreeReference* const oldest = extra_of(target)->references;
  return reference == oldest || (oldest != nullptr && reference->previous->next == reference);
}

// Whether a domain's counts are right. If some of its nodes lie elsewhere, that cannot be told.
bool is_sound_domain(const TreeNode* root) noexcept {
  const TreeDomain& domain = *extra_of(root)->domain;
  if (domain.outside != 0) return true;
  std::size_t asking = 0;
  std::size_t busy = 0;  // Nodes whose destructors may be running, which counts once more.
  std::size_t guests = 0;
  std::size_t extras = 0;
  std::size_t depth = 0;
  auto* node = const_cast<TreeNode*>(root);
  while ((node = next_of_all(root, node, &depth)) != nullptr) {
    const bool is_own = domain_of(node) == &domain;
    if (!is_own && domain_below(parent_of(node)) == &domain) ++guests;
    if (!is_own) continue;
    if (has(node, node_is_on_path)) ++busy;
    if (destructor_of(node) != nullptr) ++asking;
    if (!is_extended(node)) continue;
    const TreeExtra& extra = *extra_of(node);
    ++extras;
    asking += std::size_t{extra.domain != nullptr} + std::size_t{extra.references != nullptr};
  }
  for (const TreeExtra* e = domain.extras; e != nullptr; e = e->next) {
    if (*e->led != e || extras-- == 0) return false;
  }
  return extras == 0 && guests == domain.guests && asking <= domain.asking &&
         domain.asking <= asking + busy;
}

bool is_sound(const TreeNode* node) noexcept {
  if (is_reference(node)) {
    const auto* const reference = static_cast<const TreeReference*>(node);
    if (!reference->is_owner) return is_listed(reference);
    const TreeNode* const target = reference->target;
    return is_extended(target) && parent_of(target) == node && older_of(target) == nullptr &&
           younger_of(target) == target;
  }
  for (const TreeNode* n = newest_of(node); n != nullptr; n = older_of(n)) {
    if (parent_of(n) != node || !is_known_in_place(n)) return false;
  }
  return are_sound_references(node) && (!begins_domain(node) || is_sound_domain(node));
}

}  // namespace

std::size_t overhead_of(const TreeNode* node) noexcept {
  std::size_t bytes = is_reference(node) ? sizeof(TreeReference) : sizeof(TreeNode);
  bytes += bytes_before(node);
  if (!is_extended(node)) return bytes;
  bytes += sizeof(TreeExtra);
  const TreeExtra& extra = *extra_of(node);
  return extra.owns_name != 0 ? bytes + std::strlen(extra.name) + 1 : bytes;
}

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_tree_check(const void* p) {
  const TreeNode* const root = node_of(p);
  std::size_t depth = 1;
  for (auto* node = const_cast<TreeNode*>(root); node != nullptr;
       node = next_of_all(root, node, &depth)) {
    if (!is_sound(node)) return 0;
  }
  return 1;
}

int tarn_tree_get_stats(const void* p, tarn_tree_stats* stats) {
  if (stats == nullptr || !is_sized(*stats, "tarn_tree_get_stats", "TARN_TREE_STATS")) {
    return os::fail(os::Error::invalid);
  }
  const TreeNode* const root = node_of(p);
  *stats = {};
  stats->bytes = sizeof *stats;
  std::size_t depth = 1;
  for (auto* node = const_cast<TreeNode*>(root); node != nullptr;
       node = next_of_all(root, node, &depth)) {
    stats->overhead_bytes += overhead_of(node);
    if (is_reference(node)) {
      ++stats->references;
      continue;
    }
    ++stats->nodes;
    stats->usable_bytes += tarn_tree_size(node + 1);
    if (depth > stats->depth) stats->depth = depth;
  }
  TARN_ASSERT(stats->depth <= stats->nodes && stats->overhead_bytes >= stats->nodes);
  return 0;
}

}  // extern "C"
