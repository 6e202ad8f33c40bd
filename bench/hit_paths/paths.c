/* paths: the hit paths that are inlined into users' programs, a function each, for dev/fast_path to
 * count; nobody calls them. (C++: paths.cpp.)
 *
 * SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "tarn/arena/arena.h"
#include "tarn/pool/object_cache.h"
#include "tarn/pool/pool.h"
#include "tarn/pool/region_array_pool.h"

void* path_pool_allocate(tarn_pool* pool);
void path_pool_deallocate(tarn_pool* pool, void* p);
void* path_arena_allocate(tarn_arena* arena, size_t bytes);
void* path_arena_allocate_64(tarn_arena* arena, size_t bytes);
void* path_object_cache_take(tarn_object_cache* cache);
void path_object_cache_give(tarn_object_cache* cache, void* object);
void* path_region_array_pool_allocate(tarn_array_pool* pool);
void path_region_array_pool_deallocate(tarn_array_pool* pool, void* p);

void* path_pool_allocate(tarn_pool* pool) { return tarn_pool_allocate(pool); }
void path_pool_deallocate(tarn_pool* pool, void* p) { tarn_pool_deallocate(pool, p); }
void* path_arena_allocate(tarn_arena* arena, size_t bytes) {
  return tarn_arena_allocate(arena, bytes);
}
void* path_arena_allocate_64(tarn_arena* arena, size_t bytes) {
  return tarn_arena_allocate_aligned(arena, bytes, 64);
}
void* path_object_cache_take(tarn_object_cache* cache) { return tarn_object_cache_take(cache); }
void path_object_cache_give(tarn_object_cache* cache, void* object) {
  tarn_object_cache_give(cache, object);
}
void* path_region_array_pool_allocate(tarn_array_pool* pool) {
  return tarn_array_pool_allocate(pool);
}
void path_region_array_pool_deallocate(tarn_array_pool* pool, void* p) {
  tarn_array_pool_deallocate(pool, p);
}
