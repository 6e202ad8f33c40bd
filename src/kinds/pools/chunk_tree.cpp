// chunk_tree: see chunk_tree.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/pools/chunk_tree.hpp"

#include "platform/base/address_tree.hpp"

namespace tarn {

namespace {

CheckedChunk* root_of(const tarn_pool& pool) noexcept {
  return static_cast<CheckedChunk*>(pool.root);
}

}  // namespace

void insert_by_address(tarn_pool& pool, CheckedChunk* chunk) noexcept {
  TARN_ASSERT(find_by_address(pool, chunk) == nullptr);
  CheckedChunk* root = root_of(pool);
  AddressTree<CheckedChunk>::insert(root, chunk);
  pool.root = root;
}

void remove_by_address(tarn_pool& pool, CheckedChunk* chunk) noexcept {
  CheckedChunk* root = root_of(pool);
  AddressTree<CheckedChunk>::remove(root, chunk);
  pool.root = root;
}

CheckedChunk* find_by_address(const tarn_pool& pool, const void* p) noexcept {
  return AddressTree<CheckedChunk>::find(root_of(pool), p);
}

}  // namespace tarn
