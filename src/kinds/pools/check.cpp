// check: see check.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/pools/check.hpp"

#include <initializer_list>

#include "kinds/pools/checked_chunk.hpp"
#include "kinds/pools/chunks.hpp"

namespace tarn {

namespace {

bool check_list(const tarn_pool_chunks& list) noexcept {
  const tarn_pool_chunk* before = nullptr;
  for (const tarn_pool_chunk* c = list.head; c != nullptr; c = c->next) {
    if (c->prev != before) return false;
    before = c;
  }
  return list.tail == before;
}

// live + free + fresh == capacity
bool check_fast(const tarn_pool_chunk& chunk) noexcept {
  const std::size_t capacity = capacity_of(chunk);
  std::size_t free = 0;
  for (const void* p = chunk.free; p != nullptr; __builtin_memcpy(&p, p, sizeof p)) {
    const bool inside = p >= chunk.first && p < chunk.fresh;
    if (!inside || block_at(chunk, index_of(chunk, p)) != p || ++free > capacity) return false;
  }
  const std::size_t fresh = capacity - carved(chunk);
  return static_cast<std::size_t>(chunk.live) + free + fresh == capacity;
}

bool check_chunk(const tarn_pool& pool, const tarn_pool_chunk& chunk, bool full) noexcept {
  if (chunk.pool != &pool) return false;
  const char* const start = start_of(chunk);
  return chunk.live >= 0 && chunk.first >= start + sizeof chunk &&
         is_aligned(chunk.first, pool.alignment) && chunk.fresh >= chunk.first &&
         chunk.fresh <= chunk.end && chunk.end <= start + chunk.bytes &&
         (chunk.is_full != 0) == full && has_room(chunk) == !full &&
         (is_checked(pool) ? check_checked(chunk) : check_fast(chunk));
}

// The blocks at hand are whole blocks of the pool's chunks, and not more than were taken from
// these.
bool check_cache(const tarn_pool& pool) noexcept {
  if (pool.cached > pool_cache || pool.cached + fresh_blocks(pool) > pool.taken) return false;
  for (std::size_t i = 0; i < pool.cached; ++i) {
    const tarn_pool_chunk* const chunk = find_chunk(pool, pool.cache[i]);
    if (chunk == nullptr || block_at(*chunk, index_of(*chunk, pool.cache[i])) != pool.cache[i]) {
      return false;
    }
  }
  return pool.fresh == pool.fresh_end ||
         (pool.current != nullptr && pool.fresh >= pool.current->first &&
          pool.fresh_end == pool.current->end && pool.current->fresh == pool.fresh_end);
}

}  // namespace

bool check_pool(const tarn_pool& pool) noexcept {
  if (!check_list(pool.open) || !check_list(pool.full) || !check_cache(pool)) return false;
  std::uint64_t taken = 0;
  std::uint64_t chunks = pool.reserved.data != nullptr ? 1 : 0;
  std::size_t bytes = pool.reserved.bytes;
  bool has_current = pool.current == nullptr;
  bool has_spare = pool.spare == nullptr;
  for (const tarn_pool_chunks* list : {&pool.open, &pool.full}) {
    for (const tarn_pool_chunk* c = list->head; c != nullptr; c = c->next) {
      if (!check_chunk(pool, *c, list == &pool.full)) return false;
      ++chunks;
      bytes += c->bytes;
      taken += static_cast<std::uint64_t>(c->live);
      has_current = has_current || pool.current == c;
      has_spare = has_spare || pool.spare == c;
    }
  }
  return has_current && has_spare && taken == pool.taken && bytes == pool.held_bytes &&
         chunks == pool.acquired - pool.released && chunks <= pool.chunks_peak;
}

}  // namespace tarn
