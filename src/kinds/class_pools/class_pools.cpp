// class_pools: the functions of tarn/pool/class_pools.h, which call the room's operations under the
// user's lock.
//
// SPDX-License-Identifier: MIT
#include "kinds/class_pools/class_pools.hpp"

#include <cstring>

#include "kinds/class_pools/check.hpp"
#include "kinds/class_pools/chunks.hpp"
#include "kinds/sources/checked_blocks.hpp"
#include "platform/base/check.hpp"
#include "platform/os/process.hpp"
#include "platform/report/options.hpp"
#include "platform/report/report.hpp"

namespace tarn {

namespace {

// `lock` may throw, while this file is compiled without exceptions. So each function calls it
// first, before there is anything to undo.
class LockedPools {
 public:
  explicit LockedPools(tarn_class_pools& pools) : lock_(pools.lock) {
    if (lock_.lock != nullptr) lock_.lock(lock_.context);
  }
  ~LockedPools() {
    if (lock_.unlock != nullptr) lock_.unlock(lock_.context);
  }
  LockedPools(const LockedPools&) = delete;
  LockedPools& operator=(const LockedPools&) = delete;

 private:
  const tarn_class_pools_lock& lock_;
};

void* allocate(tarn_class_pools& pools, std::size_t bytes, std::size_t alignment, bool zero) {
  void* block = nullptr;
  bool is_zero = zero;
  {
    const LockedPools locked(pools);
    block = allocate_block(pools, bytes, alignment, &is_zero);
  }
  if (block == nullptr) {
    os::set_error(os::Error::no_memory);
  } else if (zero && !is_zero) {
    std::memset(block, 0, bytes);
  }
  return block;
}

void deallocate(tarn_class_pools& pools, void* p, Caller caller) {
  Found found{};
  {
    const LockedPools locked(pools);
    found = find_block(pools, p);
    if (found.verdict == Verdict::live) free_block(pools, found);
  }
  if (found.verdict != Verdict::live) report_wrong(pools, found, p, caller);
}

}  // namespace

void report_wrong(const tarn_class_pools& pools, const Found& found, const void* p,
                  Caller caller) noexcept {
  TARN_ASSERT(found.verdict != Verdict::live);
  OwnerReport report = report_of(pools, p);
  const bool is_dead = found.verdict == Verdict::dead;
  report.kind = is_dead ? Misuse::double_free : Misuse::invalid_free;
  report.function = caller.function;
  report.here = caller.here;
  report.start = found.start;
  report.bytes = found.bytes;
  report_owner_misuse(report);
}

}  // namespace tarn

using namespace tarn;

extern "C" {

void* tarn_class_pools_allocate(tarn_class_pools* pools, std::size_t bytes) {
  return allocate(*pools, bytes, least_block, false);
}

void* tarn_class_pools_allocate_zeroed(tarn_class_pools* pools, std::size_t count,
                                       std::size_t bytes) {
  std::size_t product = 0;
  if (!checked_multiply(count, bytes, &product)) product = SIZE_MAX;
  return allocate(*pools, product, least_block, true);
}

void* tarn_class_pools_allocate_aligned(tarn_class_pools* pools, std::size_t alignment,
                                        std::size_t bytes) {
  if (!is_power_of_two(alignment)) {
    os::set_error(os::Error::invalid);
    return nullptr;
  }
  return allocate(*pools, bytes, alignment, false);
}

void* tarn_class_pools_reallocate(tarn_class_pools* pools, void* p, std::size_t bytes) {
  if (p == nullptr) return allocate(*pools, bytes, least_block, false);
  const Caller caller{"tarn_class_pools_reallocate", __builtin_return_address(0)};
  if (bytes == 0) {
    deallocate(*pools, p, caller);
    return nullptr;
  }
  Resized resized;
  {
    const LockedPools locked(*pools);
    resized = resize_block(*pools, p, bytes);
  }
  if (resized.found.verdict != Verdict::live) report_wrong(*pools, resized.found, p, caller);
  if (resized.block == nullptr) os::set_error(os::Error::no_memory);
  if (resized.block == p || resized.block == nullptr) return resized.block;
  TARN_ASSERT(resized.contents < bytes);
  std::memcpy(resized.block, p, resized.contents);
  deallocate(*pools, p, caller);
  return resized.block;
}

void tarn_class_pools_deallocate(tarn_class_pools* pools, void* p) {
  if (p == nullptr) return;
  deallocate(*pools, p, {"tarn_class_pools_deallocate", __builtin_return_address(0)});
}

std::size_t tarn_class_pools_usable_bytes(tarn_class_pools* pools, const void* p) {
  const LockedPools locked(*pools);
  const Found found = find_block(*pools, p);
  return found.verdict == Verdict::live ? tell_usable(*found.chunk) : 0;
}

int tarn_class_pools_owns(tarn_class_pools* pools, const void* p) {
  const LockedPools locked(*pools);
  const tarn_class_chunk* const chunk = find_chunk(*pools, p);
  if (chunk == nullptr || p < chunk->first) return 0;
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(p) - chunk->first);
  const std::size_t index = offset / chunk->pool->stride;
  if (index >= chunk->fresh || offset % chunk->pool->stride >= chunk->pool->block_bytes) return 0;
  return words_of(*chunk)[index] == live_block ? 1 : 0;
}

void* tarn_class_pools_next(tarn_class_pools* pools, const void* p, std::size_t* bytes) {
  const LockedPools locked(*pools);
  if (p == reinterpret_cast<const void*>(UINTPTR_MAX)) return nullptr;
  const std::uintptr_t from = p == nullptr ? 0 : address_of(p) + 1;
  tarn_class_chunk* chunk = ClassTree::find_from(pools->root, reinterpret_cast<const void*>(from));
  while (chunk != nullptr) {
    std::size_t index = 0;
    if (from > address_of(chunk->first)) {
      index = (from - address_of(chunk->first) + chunk->pool->stride - 1) / chunk->pool->stride;
    }
    while (index < chunk->fresh && words_of(*chunk)[index] != live_block) ++index;
    if (index < chunk->fresh) {
      if (bytes != nullptr) *bytes = tell_usable(*chunk);
      return block_at(*chunk, index);
    }
    chunk = ClassTree::find_from(pools->root, reinterpret_cast<const char*>(chunk) + chunk->bytes);
  }
  return nullptr;
}

std::size_t tarn_class_pools_trim(tarn_class_pools* pools) {
  const LockedPools locked(*pools);
  return trim(*pools);
}

int tarn_class_pools_get_class_stats(tarn_class_pools* pools, std::size_t number,
                                     tarn_class_pool_stats* stats) {
  if (stats == nullptr ||
      !is_sized(*stats, "tarn_class_pools_get_class_stats", "TARN_CLASS_POOL_STATS") ||
      number >= pools->class_count) {
    return os::fail(os::Error::invalid);
  }
  const LockedPools locked(*pools);
  const tarn_class_pool& pool = pools->classes[number];
  *stats = {};
  stats->bytes = sizeof(tarn_class_pool_stats);
  stats->block_bytes = pool.block_bytes;
  stats->stride_bytes = pool.stride;
  stats->in_use = pool.in_use;
  stats->in_use_peak = pool.in_use_peak;
  stats->allocations = pool.allocations;
  stats->deallocations = pool.allocations - pool.in_use;
  stats->failures = pool.failures;
  stats->requested_bytes = pool.requested_bytes;
  stats->requested_bytes_min = pool.requested_min == SIZE_MAX ? 0 : pool.requested_min;
  stats->requested_bytes_max = pool.requested_max;
  TARN_ASSERT(pool.in_use <= pool.capacity && pool.in_use <= pool.in_use_peak);
  stats->capacity = pool.capacity;
  stats->held_bytes = pool.held_bytes;
  stats->chunks = pool.chunks;
  return 0;
}

int tarn_class_pools_get_stats(tarn_class_pools* pools, tarn_class_pools_stats* stats) {
  if (stats == nullptr ||
      !is_sized(*stats, "tarn_class_pools_get_stats", "TARN_CLASS_POOLS_STATS")) {
    return os::fail(os::Error::invalid);
  }
  const LockedPools locked(*pools);
  *stats = {};
  stats->bytes = sizeof(tarn_class_pools_stats);
  stats->classes = pools->class_count;
  stats->failures = pools->failures;
  for (std::size_t i = 0; i < pools->class_count; ++i) {
    const tarn_class_pool& pool = pools->classes[i];
    stats->in_use += pool.in_use;
    stats->in_use_bytes += pool.in_use * pool.block_bytes;
    stats->allocations += pool.allocations;
    stats->deallocations += pool.allocations - pool.in_use;
    stats->failures += pool.failures;
    stats->requested_bytes += pool.requested_bytes;
  }
  TARN_ASSERT(stats->in_use_bytes <= pools->held_bytes && pools->released <= pools->acquired);
  stats->held_bytes = pools->held_bytes;
  stats->chunks = pools->acquired - pools->released;
  stats->chunks_acquired = pools->acquired;
  stats->chunks_released = pools->released;
  return 0;
}

int tarn_class_pools_check(tarn_class_pools* pools) {
  const LockedPools locked(*pools);
  return check_class_pools(*pools) ? 1 : 0;
}

}  // extern "C"
