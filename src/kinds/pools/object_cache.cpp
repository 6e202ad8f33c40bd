// object_cache: see tarn/pool/object_cache.h.
//
// SPDX-License-Identifier: MIT
#include "tarn/pool/object_cache.h"

#include "kinds/pools/pool.hpp"
#include "kinds/sources/checked_blocks.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/os/process.hpp"
#include "platform/report/misuse.hpp"
#include "platform/report/options.hpp"

namespace tarn {

namespace {

tarn_cached* slot_of(const tarn_object_cache& cache, void* object) noexcept {
  return reinterpret_cast<tarn_cached*>(static_cast<char*>(object) - cache.offset);
}

// What a slot holds while the program has its object.
tarn_cached* mark_of(tarn_object_cache& cache) noexcept {
  return reinterpret_cast<tarn_cached*>(&cache);
}

void destruct(const tarn_object_cache& cache, void* object) noexcept {
  if (cache.destruct != nullptr) cache.destruct(object, cache.context);
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_object_cache_init(tarn_object_cache* cache, const tarn_object_cache_options* options) {
  *cache = {};
  constexpr const char* name = "tarn_object_cache_init";
  if (options == nullptr || !is_sized(*options, name, "TARN_OBJECT_CACHE_OPTIONS") ||
      !is_sized(options->objects, name, "TARN_POOL_OPTIONS")) {
    return os::fail(os::Error::invalid);
  }
  tarn_pool_options objects = options->objects;
  const std::size_t alignment =
      objects.alignment != 0 ? objects.alignment : std::size_t{alignof(std::max_align_t)};
  cache->offset = align_up(sizeof(tarn_cached), alignment);
  const bool fits = objects.block_bytes != 0 && is_power_of_two(alignment) &&
                    objects.block_bytes <= SIZE_MAX / 2 && alignment <= SIZE_MAX / 4;
  objects.alignment = alignment;
  objects.block_bytes = fits ? objects.block_bytes + cache->offset : 0;
  if (tarn_pool_init(&cache->pool, &objects) != 0) return -1;
  cache->construct = options->construct;
  cache->destruct = options->destruct;
  cache->context = options->context;
  cache->idle_max = options->idle_max == 0 ? SIZE_MAX : options->idle_max;
  TARN_ASSERT(cache->offset % alignment == 0 && cache->offset >= sizeof(tarn_cached));
  return 0;
}

void tarn_object_cache_destroy(tarn_object_cache* cache) {
  const auto end = [](void* block, void* context) {
    const auto& own = *static_cast<const tarn_object_cache*>(context);
    destruct(own, static_cast<char*>(block) + own.offset);
    return 0;
  };
  cache->idle_max = 0;  // From now on each give calls tarn_object_cache_give_slow.
  if (cache->destruct != nullptr) tarn_pool_walk(&cache->pool, end, cache);
  tarn_pool_destroy(&cache->pool);
  cache->idle = nullptr;
  cache->idle_count = 0;
}

void* tarn_object_cache_allocate(tarn_object_cache* cache) {
  auto* const slot = static_cast<tarn_cached*>(tarn_pool_allocate(&cache->pool));
  if (slot == nullptr) return nullptr;
  TARN_ASSERT(is_aligned(slot, cache->pool.alignment) && cache->offset % alignof(void*) == 0);
  slot->next = mark_of(*cache);
  return reinterpret_cast<char*>(slot) + cache->offset;
}

void tarn_object_cache_deallocate(tarn_object_cache* cache, void* object) {
  if (object == nullptr) return;
  tarn_cached* const slot = slot_of(*cache, object);
  slot->next = nullptr;  // So that a second give is found.
  tarn_pool_deallocate(&cache->pool, slot);
}

void* tarn_object_cache_take_slow(tarn_object_cache* cache) {
  TARN_ASSERT(cache->idle == nullptr && cache->idle_count == 0);
  void* const object = tarn_object_cache_allocate(cache);
  if (object == nullptr) return nullptr;
  ++cache->misses;
  if (cache->construct == nullptr || cache->construct(object, cache->context) == 0) return object;
  tarn_object_cache_deallocate(cache, object);
  return nullptr;
}

void tarn_object_cache_give_slow(tarn_object_cache* cache, void* object) {
  if (slot_of(*cache, object)->next != mark_of(*cache)) {
    report_wrong_free(cache->pool, Misuse::double_free, "tarn_object_cache_give", object,
                      __builtin_return_address(0));
  }
  if (cache->idle_max == 0) return;  // The cache is ending, and destroys each object once itself.
  destruct(*cache, object);
  tarn_object_cache_deallocate(cache, object);
}

std::size_t tarn_object_cache_trim(tarn_object_cache* cache, std::size_t keep) {
  std::size_t destroyed = 0;
  for (; cache->idle_count > keep; ++destroyed) {
    tarn_cached* const slot = cache->idle;
    TARN_ASSERT(slot != nullptr && cache->idle_count <= cache->pool.taken);
    cache->idle = slot->next;
    --cache->idle_count;
    char* const object = reinterpret_cast<char*>(slot) + cache->offset;
    destruct(*cache, object);
    tarn_object_cache_deallocate(cache, object);
  }
  return destroyed;
}

}  // extern "C"
