// walk: what concerns all chunks of a pool: its live blocks, clearing, numbers, check().
//
// SPDX-License-Identifier: MIT
#include <bit>

#include "os/process.hpp"
#include "pool/checked.hpp"
#include "pool/checked_chunk.hpp"
#include "pool/chunk.hpp"
#include "pool/chunk_tree.hpp"
#include "pool/chunks.hpp"
#include "pool/pool.hpp"

namespace tarn {

namespace {

// The live bits of a fast pool's chunk, from its free list.
void mark_live(tarn_pool_chunk& chunk) noexcept {
  std::uint64_t* const bits = live_bits(chunk);
  const std::size_t blocks = carved(chunk);
  const std::size_t words = (blocks + 63) / 64;
  for (std::size_t i = 0; i < words; ++i) bits[i] = UINT64_MAX;
  if (blocks % 64 != 0) bits[words - 1] = (std::uint64_t{1} << (blocks % 64)) - 1;
  for (void* p = chunk.free; p != nullptr; __builtin_memcpy(&p, p, sizeof p)) {
    set_live(chunk, index_of(chunk, p), false);
  }
}

int visit_chunk(tarn_pool_chunk& chunk, tarn_pool_visit visit, void* context) noexcept {
  const std::uint64_t* const bits = live_bits(chunk);
  const std::size_t words = (carved(chunk) + 63) / 64;
  for (std::size_t i = 0; i < words; ++i) {
    // Read again after each visit, which may end blocks; those before the visited one are done.
    std::uint64_t left = UINT64_MAX;
    while ((bits[i] & left) != 0) {
      const auto bit = static_cast<unsigned>(std::countr_zero(bits[i] & left));
      left = bit == 63 ? 0 : UINT64_MAX << (bit + 1);
      const int result = visit(block_at(chunk, i * 64 + bit), context);
      if (result != 0) return result;
    }
  }
  return 0;
}

// One chunk that was used and is empty stays, unless all do.
bool may_stay(tarn_pool& pool, tarn_pool_chunk& chunk) noexcept {
  if (is_lone(pool)) return false;
  if ((pool.state & pool_keeps_chunks) != 0) return true;
  if (pool.spare != nullptr && pool.spare != &chunk && pool.spare->live == 0) return false;
  pool.spare = &chunk;
  return true;
}

// What frees in the course of a walk have left undone.
void settle(tarn_pool& pool) noexcept {
  for_each_chunk(pool, [&](tarn_pool_chunk& chunk) {
    if (chunk.is_full != 0 && has_room(chunk)) note_given(pool, chunk, 0);
    if (chunk.live != 0 || chunk.fresh == chunk.first) return;
    if (!may_stay(pool, chunk)) return release_chunk(pool, &chunk);
    if (!is_checked(pool)) reset_chunk(chunk);
  });
}

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

// What is at hand: whole blocks of chunks of the pool, and not more than were taken from them.
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

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_pool_walk(tarn_pool* pool, tarn_pool_visit visit, void* context) {
  if (is_walked(*pool)) {
    return os::fail(os::Error::busy);
  }
  // Nothing is at hand, so every allocation and every free is the library's meanwhile.
  flush_all(*pool);
  pool->limit = 0;
  pool->state |= pool_is_walked;
  if (!is_checked(*pool)) for_each_chunk(*pool, mark_live);
  int result = 0;
  for_each_chunk(*pool, [&](tarn_pool_chunk& chunk) {
    if (is_checked(*pool)) check_canaries(chunk, "tarn_pool_walk");
    if (result == 0) result = visit_chunk(chunk, visit, context);
  });
  pool->state &= ~std::uint32_t{pool_is_walked};
  settle(*pool);
  set_limit(*pool);
  return result;
}

int tarn_pool_ended_in_walk(const tarn_pool* pool, const void* p) {
  if (!is_walked(*pool)) return 0;
  const tarn_pool_chunk* const chunk =
      is_checked(*pool) ? find_by_address(*pool, p) : header_of(*pool, p);
  if (chunk == nullptr || chunk->pool != pool || p < chunk->first || p >= chunk->fresh) return 0;
  return is_live(*chunk, index_of(*chunk, p)) ? 0 : 1;
}

void tarn_pool_clear(tarn_pool* pool) {
  if (is_walked(*pool)) return;
  if (is_checked(*pool)) {
    for_each_chunk(*pool, [](tarn_pool_chunk& chunk) {
      check_canaries(chunk, "tarn_pool_clear");
    });
  }
  pool->cached = 0;
  pool->taken = 0;
  pool->fresh = pool->fresh_end;
  for_each_chunk(*pool, [&](tarn_pool_chunk& chunk) {
    if (chunk.fresh == chunk.first) return;
    chunk.live = 0;
    if (!may_stay(*pool, chunk)) return release_chunk(*pool, &chunk);
    if (is_checked(*pool)) reset_checks(static_cast<CheckedChunk&>(chunk));
    reset_chunk(chunk);
  });
  set_limit(*pool);
}

int tarn_pool_owns(const tarn_pool* pool, const void* p) {
  const tarn_pool_chunk* const chunk = find_chunk(*pool, p);
  if (chunk == nullptr || p < chunk->first || p >= chunk->fresh) return 0;
  if (p >= pool->fresh && p < pool->fresh_end) return 0;
  const std::size_t index = index_of(*chunk, p);
  const auto offset = static_cast<const char*>(p) - block_at(*chunk, index);
  if (static_cast<std::size_t>(offset) >= pool->block_bytes) return 0;
  return !is_checked(*pool) || is_live(*chunk, index);
}

int tarn_pool_get_stats(const tarn_pool* pool, tarn_pool_stats* stats) {
  if (stats == nullptr || stats->bytes != sizeof(tarn_pool_stats)) {
    return os::fail(os::Error::invalid);
  }
  *stats = {};
  stats->bytes = sizeof(tarn_pool_stats);
  stats->block_bytes = pool->block_bytes;
  stats->stride_bytes = pool->stride;
  stats->live_blocks = live_blocks(*pool);
  for_each_chunk(*pool, [&](const tarn_pool_chunk& chunk) {
    stats->capacity_blocks += capacity_of(chunk);
  });
  if (pool->reserved.data != nullptr) {
    stats->capacity_blocks += capacity_of(*pool, pool->reserved.bytes);
  }
  stats->held_bytes = pool->held_bytes;
  stats->chunks = pool->acquired - pool->released;
  stats->chunks_peak = pool->chunks_peak;
  stats->chunks_acquired = pool->acquired;
  stats->chunks_released = pool->released;
  return 0;
}

int tarn_pool_check(const tarn_pool* pool) { return check_pool(*pool) ? 1 : 0; }

}  // extern "C"
