// walk: the functions that go through all chunks of a pool: walking, clearing, statistics.
//
// SPDX-License-Identifier: MIT
#include <bit>

#include "kinds/pools/check.hpp"
#include "kinds/pools/checked.hpp"
#include "kinds/pools/checked_chunk.hpp"
#include "kinds/pools/chunk.hpp"
#include "kinds/pools/chunk_tree.hpp"
#include "kinds/pools/chunks.hpp"
#include "kinds/pools/pool.hpp"
#include "platform/os/process.hpp"
#include "platform/report/options.hpp"

namespace tarn {

namespace {

// Sets the live bits of a fast pool's chunk from its free list.
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
  TARN_ASSERT(is_walked(*chunk.pool));
  const std::uint64_t* const bits = live_bits(chunk);
  const std::size_t words = (carved(chunk) + 63) / 64;
  for (std::size_t i = 0; i < words; ++i) {
    // The word is read again after each visit, which may free blocks. Those before the visited one
    // are done.
    std::uint64_t left = UINT64_MAX;
    while ((bits[i] & left) != 0) {
      const auto bit = static_cast<unsigned>(std::countr_zero(bits[i] & left));
      // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): bit < 64
      left = bit == 63 ? 0 : UINT64_MAX << (bit + 1);
      const int result = visit(block_at(chunk, i * 64 + bit), context);
      if (result != 0) return result;
    }
  }
  return 0;
}

// Whether an empty chunk stays. One does, or all if the pool keeps chunks.
bool may_stay(tarn_pool& pool, tarn_pool_chunk& chunk) noexcept {
  TARN_ASSERT(chunk.live == 0);
  if (is_lone(pool)) return false;
  if (keeps_chunks(pool)) return true;
  if (pool.spare != nullptr && pool.spare != &chunk && pool.spare->live == 0) return false;
  pool.spare = &chunk;
  return true;
}

// Does what frees during the walk have left undone.
void settle(tarn_pool& pool) noexcept {
  TARN_ASSERT(!is_walked(pool) && pool.cached == 0);
  for_each_chunk(pool, [&](tarn_pool_chunk& chunk) {
    if (chunk.is_full != 0 && has_room(chunk)) note_given(pool, chunk, 0);
    if (chunk.live != 0 || chunk.fresh == chunk.first) return;
    if (is_checked(pool)) check_blocks(chunk, "tarn_pool_walk");
    if (!may_stay(pool, chunk)) return release_chunk(pool, &chunk);
    if (!is_checked(pool)) reset_chunk(chunk);
  });
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_pool_walk(tarn_pool* pool, tarn_pool_visit visit, void* context) {
  if (is_walked(*pool)) {
    return os::fail(os::Error::busy);
  }
  // With nothing at hand every allocation and every free calls the library meanwhile.
  flush_all(*pool);
  TARN_ASSERT(pool->cached == 0 && pool->fresh == pool->fresh_end);
  TARN_ASSERT(check_pool(*pool));
  pool->limit = 0;
  pool->state |= pool_is_walked;
  if (!is_checked(*pool)) for_each_chunk(*pool, mark_live);
  int result = 0;
  for_each_chunk(*pool, [&](tarn_pool_chunk& chunk) {
    if (is_checked(*pool)) check_blocks(chunk, "tarn_pool_walk");
    if (result == 0) result = visit_chunk(chunk, visit, context);
  });
  pool->state &= ~std::uint32_t{pool_is_walked};
  settle(*pool);
  set_limit(*pool);
  TARN_ASSERT(check_pool(*pool));
  return result;
}

int tarn_pool_check(const tarn_pool* pool) {
  if (!check_pool(*pool)) return 0;
  if (is_checked(*pool)) {
    for_each_chunk(*pool, [](tarn_pool_chunk& chunk) { check_blocks(chunk, "tarn_pool_check"); });
  }
  return 1;
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
    for_each_chunk(*pool, [](tarn_pool_chunk& chunk) { check_blocks(chunk, "tarn_pool_clear"); });
  }
  note_peak(*pool);
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
  TARN_ASSERT(check_pool(*pool));
}

int tarn_pool_owns(const tarn_pool* pool, const void* p) {
  const tarn_pool_chunk* const chunk = find_chunk(*pool, p);
  if (chunk == nullptr || p < chunk->first || p >= chunk->fresh) return 0;
  if (p >= pool->fresh && p < pool->fresh_end) return 0;
  TARN_ASSERT(chunk->pool == pool);
  const std::size_t index = index_of(*chunk, p);
  const auto offset = static_cast<const char*>(p) - block_at(*chunk, index);
  if (static_cast<std::size_t>(offset) >= pool->block_bytes) return 0;
  return !is_checked(*pool) || is_live(*chunk, index);
}

int tarn_pool_get_stats(const tarn_pool* pool, tarn_pool_stats* stats) {
  if (stats == nullptr || !is_sized(*stats, "tarn_pool_get_stats", "TARN_POOL_STATS")) {
    return os::fail(os::Error::invalid);
  }
  *stats = {};
  stats->bytes = sizeof(tarn_pool_stats);
  stats->block_bytes = pool->block_bytes;
  stats->stride_bytes = pool->stride;
  stats->live_blocks = live_blocks(*pool);
  for_each_chunk(
      *pool, [&](const tarn_pool_chunk& chunk) { stats->capacity_blocks += capacity_of(chunk); });
  if (pool->reserved.data != nullptr) {
    stats->capacity_blocks += capacity_of(*pool, pool->reserved.bytes);
  }
  TARN_ASSERT(stats->live_blocks <= stats->capacity_blocks);
  stats->held_bytes = pool->held_bytes;
  stats->chunks = pool->acquired - pool->released;
  stats->chunks_peak = pool->chunks_peak;
  stats->chunks_acquired = pool->acquired;
  stats->chunks_released = pool->released;
  const std::uint64_t seen = pool->live_peak;
  stats->live_blocks_peak = seen < stats->live_blocks ? stats->live_blocks : seen;
  return 0;
}

}  // extern "C"
