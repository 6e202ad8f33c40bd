// tree: the chunks of a checked pool by address, as a treap (Aragon and Seidel, 1989): a search
// tree by address that is a heap by a hash of it, so that its depth is logarithmic whatever the
// order of insertions. Its nodes are the chunks' headers; no pointer that is asked about is read.
//
// SPDX-License-Identifier: MIT
#include "pool/pool.hpp"

namespace tarn {

namespace {

std::uint64_t priority_of(const CheckedChunk* chunk) noexcept {
  std::uint64_t hash = address_of(chunk);
  hash = (hash ^ (hash >> 31)) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

CheckedChunk* root_of(const tarn_pool& pool) noexcept {
  return static_cast<CheckedChunk*>(pool.root);
}

}  // namespace

void insert_by_address(tarn_pool& pool, CheckedChunk* chunk) noexcept {
  CheckedChunk* root = root_of(pool);
  CheckedChunk** link = &root;
  const std::uint64_t priority = priority_of(chunk);
  while (*link != nullptr && priority_of(*link) >= priority) {
    link = chunk < *link ? &(*link)->left : &(*link)->right;
  }
  // What hangs here is divided into what comes before the chunk and what comes after it.
  CheckedChunk* rest = *link;
  *link = chunk;
  CheckedChunk** before = &chunk->left;
  CheckedChunk** after = &chunk->right;
  while (rest != nullptr) {
    if (rest < chunk) {
      *before = rest;
      before = &rest->right;
      rest = rest->right;
    } else {
      *after = rest;
      after = &rest->left;
      rest = rest->left;
    }
  }
  *before = *after = nullptr;
  pool.root = root;
}

void remove_by_address(tarn_pool& pool, CheckedChunk* chunk) noexcept {
  CheckedChunk* root = root_of(pool);
  CheckedChunk** link = &root;
  while (*link != chunk) {
    TARN_CHECK(*link != nullptr);
    link = chunk < *link ? &(*link)->left : &(*link)->right;
  }
  CheckedChunk* before = chunk->left;
  CheckedChunk* after = chunk->right;
  while (before != nullptr && after != nullptr) {
    if (priority_of(before) > priority_of(after)) {
      *link = before;
      link = &before->right;
      before = before->right;
    } else {
      *link = after;
      link = &after->left;
      after = after->left;
    }
  }
  *link = before != nullptr ? before : after;
  pool.root = root;
}

CheckedChunk* find_by_address(const tarn_pool& pool, const void* p) noexcept {
  CheckedChunk* at = root_of(pool);
  while (at != nullptr) {
    const std::uintptr_t distance = address_of(p) - address_of(at);
    if (address_of(p) >= address_of(at) && distance < at->bytes) return at;
    at = address_of(p) < address_of(at) ? at->left : at->right;
  }
  return nullptr;
}

}  // namespace tarn
