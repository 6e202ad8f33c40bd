// classes: see classes.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/class_pools/classes.hpp"

#include <new>

#include "kinds/class_pools/check.hpp"
#include "kinds/class_pools/chunks.hpp"
#include "kinds/sources/source_contract.hpp"
#include "platform/base/check.hpp"
#include "platform/os/process.hpp"
#include "platform/os/watchers.hpp"
#include "platform/report/options.hpp"

namespace tarn {

namespace {

constexpr std::size_t chunk_bytes_first = 16 * 1024;
constexpr std::size_t chunk_bytes_largest = 1024 * 1024;
constexpr std::size_t chunk_bytes_most = block_bytes_most;

bool are_sound(const tarn_class_pools_options& options) noexcept {
  constexpr unsigned known = TARN_CLASS_POOLS_KEEP_CHUNKS | TARN_CLASS_POOLS_TUNED_ONLY;
  if (!is_sized(options, "tarn_class_pools_init", "TARN_CLASS_POOLS_OPTIONS") ||
      (options.flags & ~known) != 0 || options.class_count > tuned_max ||
      (options.class_count != 0 && options.class_bytes == nullptr) ||
      options.chunk_bytes > chunk_bytes_most || options.chunk_bytes_max > chunk_bytes_most ||
      (options.chunk_bytes_max != 0 && options.chunk_bytes_max < options.chunk_bytes) ||
      (options.lock.lock == nullptr) != (options.lock.unlock == nullptr)) {
    return false;
  }
  std::size_t before = 0;
  for (std::size_t i = 0; i < options.class_count; ++i) {
    const std::size_t bytes = options.class_bytes[i];
    if (bytes <= before || bytes > block_bytes_most) return false;
    before = bytes;
  }
  const bool has_powers = (options.flags & TARN_CLASS_POOLS_TUNED_ONLY) == 0 &&
                          (options.block_bytes_max == 0 || options.block_bytes_max >= least_block);
  return has_powers || options.class_count != 0;
}

// Calls visit(bytes) for each class, by size.
template <class Visit>
void for_each_size(const tarn_class_pools_options& options, Visit visit) noexcept {
  std::size_t most = options.block_bytes_max;
  if (most == 0 || most > block_bytes_most) most = block_bytes_most;
  if ((options.flags & TARN_CLASS_POOLS_TUNED_ONLY) != 0) most = 0;
  std::size_t power = least_block;
  for (std::size_t i = 0; i < options.class_count; ++i) {
    const std::size_t bytes = options.class_bytes[i];
    for (; power < bytes && power <= most; power *= 2) visit(power);
    if (power == bytes) power *= 2;
    visit(bytes);
  }
  for (; power <= most; power *= 2) visit(power);
}

void begin_class(tarn_class_pool* place, std::size_t bytes, std::size_t chunk_bytes) noexcept {
  auto* const pool = new (place) tarn_class_pool{};
  pool->block_bytes = bytes;
  pool->stride = align_up(bytes, least_block);
  pool->inverse = tarn_exact_inverse(pool->stride);
  pool->shift = tarn_exact_shift(pool->stride);
  pool->chunk_bytes = chunk_bytes;
  pool->requested_min = SIZE_MAX;
  TARN_ASSERT(pool->stride >= bytes && pool->stride % least_block == 0);
}

bool make_classes(tarn_class_pools& pools, const tarn_class_pools_options& options) noexcept {
  std::size_t count = 0;
  std::size_t largest = 0;
  for_each_size(options, [&](std::size_t bytes) {
    ++count;
    largest = bytes;
  });
  const std::size_t buckets = bucket_of(largest) + 1;
  const std::size_t classes_bytes = count * sizeof(tarn_class_pool);
  pools.table =
      acquire_from(pools.source, classes_bytes + buckets * sizeof(std::uint16_t), line_bytes);
  if (pools.table.data == nullptr) return false;
  pools.held_bytes = pools.table.bytes;
  pools.classes = static_cast<tarn_class_pool*>(pools.table.data);
  auto* const first =
      reinterpret_cast<std::uint16_t*>(static_cast<char*>(pools.table.data) + classes_bytes);
  pools.first = first;
  std::size_t bucket = 0;
  for_each_size(options, [&](std::size_t bytes) {
    for (; bucket < buckets && least_of_bucket(bucket) <= bytes; ++bucket) {
      first[bucket] = static_cast<std::uint16_t>(pools.class_count);
    }
    begin_class(pools.classes + pools.class_count++, bytes, pools.chunk_bytes);
  });
  TARN_ASSERT(pools.class_count == count && bucket == buckets);
  return true;
}

}  // namespace

void forget_counts(tarn_class_pools& pools) noexcept {
  pools.failures = 0;
  for (std::size_t i = 0; i < pools.class_count; ++i) {
    tarn_class_pool& pool = pools.classes[i];
    TARN_ASSERT(pool.in_use <= pool.in_use_peak && pool.in_use <= pool.allocations);
    pool.in_use_peak = pool.allocations = pool.in_use;
    pool.failures = pool.requested_bytes = 0;
    pool.requested_min = SIZE_MAX;
    pool.requested_max = 0;
  }
}

void move_class_pools(tarn_class_pools& from, tarn_class_pools& to) noexcept {
  TARN_ASSERT(from.root == nullptr && from.recents.data == nullptr);
  to = from;
  to.recent = to.recent_first;
  if (to.is_watched != 0) {
    os::watch_pool_end(&from);
    os::watch_pool_begin(&to);
  }
  from = {};
}

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_class_pools_init(tarn_class_pools* pools, const tarn_class_pools_options* options) {
  *pools = {};
  if (options == nullptr || !are_sound(*options)) return os::fail(os::Error::invalid);
  pools->source = source_for(Mode::fast, options->source, "tarn_class_pools_init");
  if (pools->source.acquire == nullptr) return os::fail(os::Error::invalid);
  pools->chunk_bytes = options->chunk_bytes != 0 ? options->chunk_bytes : chunk_bytes_first;
  pools->chunk_bytes_max = options->chunk_bytes_max;
  if (pools->chunk_bytes_max == 0) {
    pools->chunk_bytes_max =
        pools->chunk_bytes > chunk_bytes_largest ? pools->chunk_bytes : chunk_bytes_largest;
  }
  if (pools->chunk_bytes > pools->chunk_bytes_max) pools->chunk_bytes = pools->chunk_bytes_max;
  pools->name = options->name;
  pools->flags = options->flags;
  if (!make_classes(*pools, *options)) {
    const tarn_source source = pools->source;  // It tells this failure from that of wrong options.
    *pools = {};
    pools->source = source;
    return os::fail(os::Error::no_memory);
  }
  pools->recent = pools->recent_first;
  pools->recent_count = TARN_CLASS_POOLS_RECENT;
  pools->lock = options->lock;
  pools->is_watched = os::watched() ? 1 : 0;
  if (pools->is_watched != 0) os::watch_pool_begin(pools);
  TARN_ASSERT(check_class_pools(*pools));
  return 0;
}

void tarn_class_pools_destroy(tarn_class_pools* pools) {
  // xalloc takes the table out before it calls this.
  TARN_ASSERT(pools->table.data == nullptr || check_class_pools(*pools));
  for_each_chunk(*pools, [&](tarn_class_chunk& chunk) { release_chunk(*pools, &chunk); });
  TARN_ASSERT(pools->root == nullptr && pools->acquired == pools->released);
  if (pools->recents.data != nullptr) release_to(pools->source, pools->recents);
  if (pools->table.data != nullptr) release_to(pools->source, pools->table);
  if (pools->is_watched != 0) os::watch_pool_end(pools);
  *pools = {};
}

}  // extern "C"
