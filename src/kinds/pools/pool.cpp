// pool: how pools are made and end, and the slow paths of allocating and freeing. See
// tarn/pool/pool.h.
//
// SPDX-License-Identifier: MIT
#include "kinds/pools/pool.hpp"

#include "kinds/pools/check.hpp"
#include "kinds/pools/checked.hpp"
#include "kinds/pools/chunk.hpp"
#include "kinds/pools/chunks.hpp"
#include "kinds/pools/watched.hpp"
#include "kinds/sources/checked_blocks.hpp"
#include "kinds/sources/source_contract.hpp"
#include "platform/base/config.hpp"
#include "platform/base/fill.hpp"
#include "platform/os/process.hpp"
#include "platform/os/watchers.hpp"
#include "platform/report/misuse.hpp"
#include "platform/report/options.hpp"

namespace tarn {

namespace {

constexpr std::size_t chunk_bytes_default = 256 * 1024;  // docs/design/pool.md
constexpr std::size_t blocks_min = 8;                    // Of a chunk, unless the options say.
constexpr std::size_t reserved_shares = 32;              // The most chunks that match a reserve.
constexpr std::size_t coloured_bytes_min = 64 * 1024;
constexpr std::size_t line_bytes = 64;  // A cache line.
constexpr std::size_t bytes_max = PTRDIFF_MAX / 4;

std::size_t power_from(std::size_t n) noexcept { return n <= 1 ? 1 : std::bit_ceil(n); }

std::size_t larger(std::size_t a, std::size_t b) noexcept { return a < b ? b : a; }

std::size_t alignment_for(const tarn_pool_options& options) noexcept {
  if (options.alignment != 0) return larger(options.alignment, alignof(void*));
  const std::size_t divides = options.block_bytes & (~options.block_bytes + 1);
  return larger(alignof(void*), divides < 16 ? divides : 16);
}

bool are_sound(const tarn_pool_options& options) noexcept {
  constexpr unsigned known = TARN_POOL_KEEP_CHUNKS;
  return is_sized(options, "tarn_pool_init", "TARN_POOL_OPTIONS") && options.block_bytes != 0 &&
         options.block_bytes <= bytes_max && options.alignment <= bytes_max &&
         (options.alignment == 0 || is_power_of_two(options.alignment)) &&
         (options.chunk_bytes == 0 || options.chunk_blocks == 0) &&
         options.chunk_bytes <= bytes_max && options.chunk_bytes_max <= bytes_max &&
         (options.chunk_bytes_max == 0 || options.chunk_bytes_max >= options.chunk_bytes) &&
         is_mode(options.mode, "tarn_pool_init") && (options.flags & ~known) == 0;
}

// Sets the sizes of blocks and chunks; false: they do not fit into a size_t.
bool lay_out(tarn_pool& pool, const tarn_pool_options& options) noexcept {
  pool.block_bytes = options.block_bytes;
  pool.alignment = alignment_for(options);
  const bool canary = mode_of(pool) == TARN_MODE_CHECKED;
  pool.stride = align_up(options.block_bytes + (canary ? canary_bytes : 0), pool.alignment);
  const std::size_t least = span_for(pool, 1);
  const std::size_t wanted = span_for(pool, options.chunk_blocks);
  const std::size_t reserved = span_for(pool, options.reserve_blocks);
  if (least == 0 || wanted == 0 || reserved == 0) return false;

  std::size_t bytes = options.chunk_bytes;
  if (options.chunk_blocks != 0) {
    bytes = wanted;
  } else if (bytes == 0) {
    bytes = pool.source.chunk_bytes != 0 ? pool.source.chunk_bytes : chunk_bytes_default;
    const std::size_t several = span_for(pool, blocks_min);
    if (bytes < several) bytes = power_from(several);
    // All chunks are aligned to the size of the largest, so small ones would use up addresses.
    bytes = larger(bytes, power_from(reserved) / reserved_shares);
  }
  pool.chunk_bytes = is_lone(pool) ? least : larger(bytes, least);
  pool.chunk_bytes_max = larger(pool.chunk_bytes, options.chunk_bytes_max);
  const std::size_t largest = larger(pool.chunk_bytes_max, reserved);
  pool.chunk_alignment =
      power_from(larger(larger(largest, pool.alignment), alignof(tarn_pool_chunk)));
  // Only chunks of which colours take little have them, and only if no number of blocks was asked
  // for, since all of these must fit.
  const bool exact = options.chunk_blocks != 0 || options.reserve_blocks != 0;
  if (mode_of(pool) == TARN_MODE_FAST && !exact && pool.chunk_bytes >= coloured_bytes_min &&
      pool.alignment <= line_bytes && least < pool.chunk_bytes / 2) {
    const std::size_t most = power_from(pool.chunk_bytes / 2 + 1) / 64;
    pool.colour_mask = (most < 4096 ? most : 4096) - line_bytes;
    pool.colour_shift = static_cast<unsigned>(log2_floor(pool.chunk_alignment / line_bytes));
  }
  // Free blocks of fast pools hold a link, blocks that are aligned follow each other, and the mask
  // of a free leads to the chunk.
  TARN_ASSERT(pool.stride >= sizeof(void*) && pool.stride % pool.alignment == 0);
  TARN_ASSERT(pool.chunk_alignment >= pool.chunk_bytes_max);
  TARN_ASSERT(pool.colour_mask % line_bytes == 0 && pool.colour_mask < pool.chunk_alignment);
  return true;
}

[[noreturn]] void report(const tarn_pool& pool, Misuse kind, const void* p,
                         const void* here) noexcept {
  report_wrong_free(pool, kind, "tarn_pool_deallocate", p, here);
}

// The chunk of a block that is freed. This is no hit path, so the pointer is checked as far as that
// is cheap.
tarn_pool_chunk& chunk_to_free_in(const tarn_pool& pool, const void* p, const void* here) noexcept {
  tarn_pool_chunk* const chunk = header_of(pool, p);
  if (chunk == nullptr || chunk->pool != &pool || p < chunk->first || p >= chunk->fresh ||
      static_cast<std::size_t>(static_cast<const char*>(p) - chunk->first) % pool.stride != 0) {
    report(pool, Misuse::invalid_free, p, here);
  }
  if (chunk->live <= 0) report(pool, Misuse::double_free, p, here);
  return *chunk;
}

void push_free(tarn_pool_chunk& chunk, void* p) noexcept {
  __builtin_memcpy(p, &chunk.free, sizeof(void*));
  chunk.free = p;
}

// While a pool is walked, no chunk may change lists, and freed blocks must not be visited any more.
void deallocate_in_walk(tarn_pool& pool, void* p, const void* here) noexcept {
  tarn_pool_chunk& chunk = chunk_to_free_in(pool, p, here);
  const std::size_t index = index_of(chunk, p);
  if (!is_live(chunk, index)) report(pool, Misuse::double_free, p, here);
  TARN_ASSERT(chunk.live > 0 && pool.taken != 0);
  set_live(chunk, index, false);
  push_free(chunk, p);
  --chunk.live;
  --pool.taken;
}

// Fills half of the cache from the chunk's free list, or takes the chunk's fresh blocks.
void take_from(tarn_pool& pool, tarn_pool_chunk& chunk) noexcept {
  TARN_ASSERT(pool.cached == 0 && pool.fresh == pool.fresh_end);
  if (chunk.free == nullptr) {
    pool.current = &chunk;
    pool.fresh = chunk.fresh;
    pool.fresh_end = chunk.fresh = chunk.end;
    return note_taken(pool, chunk, fresh_blocks(pool));
  }
  std::size_t count = 0;
  while (count < pool_cache / 2 && chunk.free != nullptr) {
    pool.cache[count++] = chunk.free;
    __builtin_memcpy(&chunk.free, chunk.free, sizeof(void*));
  }
  TARN_ASSERT(count != 0 && count <= pool_cache);
  // The block that was freed last is to be used first.
  for (std::size_t i = 0; i < count / 2; ++i) {
    void* const block = pool.cache[i];
    pool.cache[i] = pool.cache[count - 1 - i];
    pool.cache[count - 1 - i] = block;
  }
  pool.cached = count;
  note_taken(pool, chunk, count);
}

// Moves a chunk that has room again after a free, or is empty.
TARN_COLD void note_event(tarn_pool& pool, tarn_pool_chunk& chunk) noexcept {
  note_given(pool, chunk, 0);
  if (chunk.live != 0) return;
  reset_chunk(chunk);
  note_empty(pool, &chunk);
}

// Whether there is work to do after the last live block is freed: there is more than one chunk, or
// the only one has blocks on its free list.
bool has_freed(const tarn_pool& pool) noexcept {
  return pool.acquired - pool.released > 1 ||
         (pool.open.head != nullptr && pool.open.head->free != nullptr);
}

void deallocate(tarn_pool& pool, void* p, const void* here) noexcept {
  if (pool.cached == pool_cache) flush(pool, pool_cache / 2, here);
  if (live_blocks(pool) == 0) report(pool, Misuse::double_free, p, here);
  TARN_ASSERT(pool.cached < pool_cache);
  pool.cache[pool.cached++] = p;
  // When no block is live, all chunks but one go back, and that one has fresh blocks only.
  if (live_blocks(pool) == 0 && has_freed(pool)) flush_all(pool);
  set_limit(pool);
}

}  // namespace

void give_fresh_back(tarn_pool& pool) noexcept {
  if (pool.fresh == pool.fresh_end) return;
  tarn_pool_chunk& chunk = *pool.current;
  const std::size_t blocks = fresh_blocks(pool);
  TARN_ASSERT(chunk.fresh == pool.fresh_end && pool.fresh >= chunk.first);
  TARN_ASSERT(blocks <= static_cast<std::size_t>(chunk.live) && blocks <= pool.taken);
  chunk.fresh = pool.fresh;
  pool.fresh = pool.fresh_end;
  chunk.live -= static_cast<std::int32_t>(blocks);
  pool.taken -= blocks;
  note_event(pool, chunk);
}

void flush(tarn_pool& pool, std::size_t blocks, const void* here) noexcept {
  note_peak(pool);
  // The fresh blocks go back first, so that blocks which were freed are taken before them.
  give_fresh_back(pool);
  TARN_ASSERT(blocks <= pool.cached && pool.cached <= pool.taken);
  for (std::size_t i = 0; i < blocks; ++i) {
    void* const p = pool.cache[i];
    tarn_pool_chunk* const chunk = header_of(pool, p);
    if (TARN_UNLIKELY(chunk == nullptr || chunk->pool != &pool)) {
      report(pool, Misuse::invalid_free, p, here);
    }
    push_free(*chunk, p);
    const std::int32_t left = --chunk->live;
    if (TARN_UNLIKELY(left <= 0 || chunk->is_full != 0)) {
      if (left < 0) report(pool, Misuse::double_free, p, here);
      note_event(pool, *chunk);
    }
  }
  pool.taken -= blocks;
  pool.cached -= blocks;
  __builtin_memmove(pool.cache, pool.cache + blocks, pool.cached * sizeof(void*));
}

void flush_all(tarn_pool& pool) noexcept { flush(pool, pool.cached, nullptr); }

// The sum of `cached` and the live blocks does not change when blocks go to the cache or come from
// it, and grows when fresh blocks are taken. So the limit set here is right or too low, and if it
// is too low it is set again. With it a free while no block is live calls the library; so does the
// free of the last live block, if has_freed().
void set_limit(tarn_pool& pool) noexcept {
  if (is_checked(pool)) return;
  TARN_ASSERT(pool.cached + fresh_blocks(pool) <= pool.taken);
  const std::uint64_t most = pool.cached + live_blocks(pool);
  const std::uint64_t limit = most != 0 && has_freed(pool) ? most - 1 : most;
  pool.limit = limit < pool_cache ? static_cast<std::size_t>(limit) : pool_cache;
}

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_pool_init(tarn_pool* pool, const tarn_pool_options* options) {
  *pool = {};
  if (options == nullptr || !are_sound(*options)) return os::fail(os::Error::invalid);
  const Mode mode = mode_in_force(options->mode);
  pool->source = source_for(mode, options->source, "tarn_pool_init");
  if (pool->source.acquire == nullptr) return fail_without_source(mode, "tarn_pool_init");
  pool->state = static_cast<unsigned>(mode);
  if ((options->flags & TARN_POOL_KEEP_CHUNKS) != 0) pool->state |= pool_keeps_chunks;
  pool->name = options->name;
  if (!lay_out(*pool, *options)) {
    *pool = {};
    return os::fail(os::Error::invalid);
  }
  if (options->reserve_blocks != 0 && !is_lone(*pool)) {
    const std::size_t bytes = span_for(*pool, options->reserve_blocks);
    pool->reserved = acquire_memory(*pool, larger(bytes, pool->chunk_bytes));
    if (pool->reserved.data == nullptr) {
      *pool = {};
      return os::fail(os::Error::no_memory);
    }
  }
  pool->state |= owner_is_sound;
  if (mode == Mode::checked && os::watched()) watch_pool(*pool);
  TARN_ASSERT(check_pool(*pool));
  return 0;
}

void tarn_pool_destroy(tarn_pool* pool) {
  if (!is_sound(*pool)) return;
  TARN_ASSERT(is_walked(*pool) || check_pool(*pool));
  if (is_checked(*pool)) {
    for_each_chunk(*pool, [](tarn_pool_chunk& chunk) { check_blocks(chunk, "tarn_pool_destroy"); });
  }
  for_each_chunk(*pool, [&](tarn_pool_chunk& chunk) { release_chunk(*pool, &chunk); });
  if (pool->reserved.data != nullptr) release_memory(*pool, pool->reserved);
  unwatch_owner(*pool);
  *pool = {};
}

void tarn_pool_move(tarn_pool* to, tarn_pool* from) {
  const bool watched = is_watched(*from);
  unwatch_owner(*from);
  *to = *from;
  *from = {};
  for_each_chunk(*to, [&](tarn_pool_chunk& chunk) { chunk.pool = to; });
  if (watched) watch_pool(*to);
  TARN_ASSERT(is_walked(*to) || check_pool(*to));
}

void* tarn_pool_allocate_slow(tarn_pool* pool) {
  if (is_checked(*pool)) return checked_allocate(*pool, __builtin_return_address(0));
  const bool may = is_sound(*pool) && !is_walked(*pool);
  tarn_pool_chunk* const chunk = may ? chunk_with_room(*pool) : nullptr;
  if (chunk == nullptr) {
    os::set_error(os::Error::no_memory);
    return nullptr;
  }
  TARN_ASSERT(chunk->fresh != chunk->first || !is_check_due(pool->acquired) || check_pool(*pool));
  take_from(*pool, *chunk);
  set_limit(*pool);
  return tarn_pool_allocate(pool);
}

void tarn_pool_deallocate_slow(tarn_pool* pool, void* p) {
  if (p == nullptr) return;
  const void* const here = __builtin_return_address(0);
  if (is_checked(*pool)) return checked_deallocate(*pool, p, here);
  if (!is_sound(*pool)) report(*pool, Misuse::invalid_free, p, here);
  if (is_walked(*pool)) return deallocate_in_walk(*pool, p, here);
  deallocate(*pool, p, here);
}

int tarn_pool_reserve(tarn_pool* pool, std::size_t blocks) {
  const bool may = is_sound(*pool) && !is_walked(*pool) && !is_lone(*pool);
  if (!may) return blocks == 0 || is_lone(*pool) ? 0 : os::fail(os::Error::no_memory);
  // More than any address space has is refused at once.
  if (blocks > bytes_max / pool->stride) return os::fail(os::Error::no_memory);
  std::size_t free = pool->cached + fresh_blocks(*pool);
  for_each_chunk(*pool, [&](const tarn_pool_chunk& chunk) {
    free += capacity_of(chunk) - static_cast<std::size_t>(chunk.live);
  });
  if (free < blocks && pool->reserved.data != nullptr) free += capacity_of(*new_chunk(*pool));
  while (free < blocks) {
    const tarn_pool_chunk* const chunk = new_chunk(*pool);
    if (chunk == nullptr) break;
    free += capacity_of(*chunk);
  }
  set_limit(*pool);  // There may be new chunks even if they do not suffice.
  TARN_ASSERT(!is_check_due(pool->acquired) || check_pool(*pool));
  return free < blocks ? os::fail(os::Error::no_memory) : 0;
}

std::size_t tarn_pool_trim(tarn_pool* pool) {
  if (is_walked(*pool)) return 0;
  const std::size_t before = pool->held_bytes;
  flush_all(*pool);
  for_each_chunk(*pool, [&](tarn_pool_chunk& chunk) {
    if (chunk.live != 0) return;
    if (is_checked(*pool)) check_blocks(chunk, "tarn_pool_trim");
    release_chunk(*pool, &chunk);
  });
  if (pool->reserved.data != nullptr) release_memory(*pool, pool->reserved);
  pool->reserved = {};
  set_limit(*pool);
  TARN_ASSERT(!is_check_due(pool->released) || check_pool(*pool));
  return before - pool->held_bytes;
}

}  // extern "C"
