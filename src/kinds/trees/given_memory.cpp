// given_memory: how subtrees are given a heap or an arena for themselves. See tarn/tree/tree.h.
//
// SPDX-License-Identifier: MIT
#include <new>

#include "engine/records/record.hpp"
#include "heaps/operations/life.hpp"
#include "kinds/arenas/chunk.hpp"
#include "kinds/trees/blocks.hpp"
#include "kinds/trees/domain.hpp"
#include "kinds/trees/links.hpp"
#include "kinds/trees/memory.hpp"
#include "kinds/trees/threads.hpp"
#include "kinds/trees/tree.hpp"
#include "malloc/blocks/free.hpp"
#include "malloc/process/process.hpp"
#include "platform/os/process.hpp"

namespace tarn {

namespace {

TreeDomain* make_domain() noexcept {
  void* const memory = allocate_beside(sizeof(TreeDomain));
  return memory == nullptr ? nullptr : new (memory) TreeDomain{};
}

TreeDomain* make_with_heap(const tarn_heap_options* options) noexcept {
  TreeDomain* const domain = make_domain();
  if (domain == nullptr) return nullptr;
  process.start();
  domain->heap = heap_create(options);
  if (domain->heap.record == nullptr) {
    deallocate(domain);
    return nullptr;
  }
  static_cast<HeapRecord*>(domain->heap.record)->belongs_to = domain;
  return domain;
}

TreeDomain* make_with_arena(const tarn_arena_options* options) noexcept {
  TreeDomain* const domain = make_domain();
  if (domain == nullptr) return nullptr;
  domain->is_of_arena = true;
  if (tarn_arena_init(&domain->arena, options) != 0) {
    deallocate(domain);
    return nullptr;
  }
  domain->is_compact = mode_of(domain->arena) == TARN_MODE_FAST;
  return domain;
}

// Makes the domain begin at the node. False, with errno: there is no memory, or domain is null.
bool give(TreeNode* node, TreeDomain* domain) noexcept {
  if (domain == nullptr) return false;
  check_thread(node, "tarn_tree_give");
  if (!extend(node)) {
    end_domain(domain);
    return false;
  }
  TARN_ASSERT(!begins_domain(node));
  TreeNode* const newest = newest_of(node);
  for (TreeNode* n = newest; n != nullptr; n = older_of(n)) count_edge(node, n, -1);
  extra_of(node)->domain = domain;
  count_asking(node, 1);
  for (TreeNode* n = newest; n != nullptr; n = older_of(n)) count_edge(node, n, 1);
  TARN_ASSERT(domain->outside == 0 && domain->asking == 0 && domain->extras == nullptr);
  TARN_ASSERT((domain->guests != 0) == (newest != nullptr));
  return true;
}

// The same for a new node.
void* allocate_with(void* parent, std::size_t bytes, TreeDomain* domain) noexcept {
  if (domain == nullptr) return nullptr;
  TreeNode* const node = make_node(parent == nullptr ? nullptr : node_of(parent), bytes);
  if (node == nullptr) {
    end_domain(domain);
    return nullptr;
  }
  if (give(node, domain)) return bytes_of(node);
  unlink_and_free(node);
  return nullptr;
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_tree_give_heap(void* p, const tarn_heap_options* options) {
  TreeNode* const node = node_of(p);
  if (begins_domain(node)) return os::fail(os::Error::exists);
  return give(node, make_with_heap(options)) ? 0 : -1;
}

int tarn_tree_give_arena(void* p, const tarn_arena_options* options) {
  TreeNode* const node = node_of(p);
  if (begins_domain(node)) return os::fail(os::Error::exists);
  return give(node, make_with_arena(options)) ? 0 : -1;
}

void* tarn_tree_allocate_with_heap(void* parent, std::size_t bytes,
                                   const tarn_heap_options* options) {
  return allocate_with(parent, bytes, make_with_heap(options));
}

void* tarn_tree_allocate_with_arena(void* parent, std::size_t bytes,
                                    const tarn_arena_options* options) {
  return allocate_with(parent, bytes, make_with_arena(options));
}

tarn_heap tarn_tree_heap(const void* p) {
  TreeDomain* const domain = domain_below(node_of(p));
  return domain == nullptr || domain->is_of_arena ? tarn_heap{} : domain->heap;
}

tarn_arena* tarn_tree_arena(const void* p) {
  TreeDomain* const domain = domain_below(node_of(p));
  return domain == nullptr || !domain->is_of_arena ? nullptr : &domain->arena;
}

}  // extern "C"
