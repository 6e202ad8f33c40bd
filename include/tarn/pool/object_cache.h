/* object_cache.h: a cache of objects that are expensive to build, in C. (C++: object_cache.hpp.) An
 * object that is given to the cache stays constructed, and the next take returns it. (J. Bonwick,
 * "The Slab Allocator: An Object-Caching Kernel Memory Allocator", 1994.)
 *
 *   tarn_object_cache parsers;
 *   tarn_object_cache_init(&parsers, &options);       // with .construct and .destruct
 *   struct parser* p = tarn_object_cache_take(&parsers);
 *   tarn_object_cache_give(&parsers, p);              // in the state that takers expect
 *
 * One thread at a time. Constant time, apart from constructors and the source.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_OBJECT_CACHE_H
#define TARN_OBJECT_CACHE_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include "../detail/sized.h"
#include "pool.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tarn_object_cache_options {
  size_t bytes;              /* TARN_OBJECT_CACHE_OPTIONS(...) sets it. */
  tarn_pool_options objects; /* Its block_bytes and alignment are the object's. */

  /* Builds an object in memory that may have any contents. Returns 0, or anything else when it
   * cannot be built; then take returns null. Null: objects need not be built. */
  int (*construct)(void* object, void* context);
  void (*destruct)(void* object, void* context); /* Null: objects need not be destroyed. */
  void* context;                                 /* Passed to both functions. */
  size_t idle_max; /* The most idle objects that are kept built; 0: no limit. */
} tarn_object_cache_options;

#define TARN_OBJECT_CACHE_OPTIONS(...) TARN_SIZED(tarn_object_cache_options, __VA_ARGS__)

/* Lies in front of each object. */
typedef struct tarn_cached {
  struct tarn_cached* next; /* The next idle object; the cache's address while the program has the
                               object; null while there is no object in this memory. */
} tarn_cached;

/* All of it is the cache's own; it must not be copied or moved. */
typedef struct tarn_object_cache {
  tarn_cached* idle; /* Idle objects, the one given last first. */
  size_t offset;     /* The distance from a tarn_cached to its object. */
  size_t idle_count;
  size_t idle_max;
  uint64_t hits;
  uint64_t misses;
  int (*construct)(void* object, void* context);
  void (*destruct)(void* object, void* context);
  void* context;
  tarn_pool pool;
} tarn_object_cache;

/* Makes a cache. Returns 0, or -1 as tarn_pool_init. After a failure it may still be used and
 * destroyed. */
TARN_API int tarn_object_cache_init(tarn_object_cache* cache,
                                    const tarn_object_cache_options* options);

/* Destroys all objects, also those that the program has, and gives all memory back. An object that
 * a destructor gives to the cache meanwhile is destroyed once, like the others. */
TARN_API void tarn_object_cache_destroy(tarn_object_cache* cache);

/* The rest of the next two. */
TARN_API TARN_MUST_USE void* tarn_object_cache_take_slow(tarn_object_cache* cache);
TARN_API void tarn_object_cache_give_slow(tarn_object_cache* cache, void* object);

/* Allocate memory for an object that is not built yet, and give such memory back. */
TARN_API TARN_ALLOCATES_ONE void* tarn_object_cache_allocate(tarn_object_cache* cache);
TARN_API void tarn_object_cache_deallocate(tarn_object_cache* cache, void* object);

/* Takes an object: an idle one in the state in which it was given, or a new one. Null with ENOMEM
 * when there is no memory, and null when `construct` fails. */
TARN_MUST_USE TARN_NOTES_CALLER static inline void* tarn_object_cache_take(
    tarn_object_cache* cache) {
  tarn_cached* const slot = cache->idle;
  if (TARN_UNLIKELY(slot == NULL)) return tarn_object_cache_take_slow(cache);
  cache->idle = slot->next;
  cache->idle_count -= 1;
  cache->hits += 1;
  slot->next = (tarn_cached*)(void*)cache;
  return (char*)slot + cache->offset;
}

/* Gives an object back to be taken again; null is ignored. The object is destroyed when idle_max
 * objects are idle already. An object that is given twice, or is not the cache's, is reported
 * (`double free`). */
TARN_NOTES_CALLER static inline void tarn_object_cache_give(tarn_object_cache* cache,
                                                            void* object) {
  if (TARN_UNLIKELY(object == NULL)) return;
  tarn_cached* const slot = (tarn_cached*)(void*)((char*)object - cache->offset);
  const int is_out = slot->next == (tarn_cached*)(void*)cache;
  if (TARN_UNLIKELY(!is_out || cache->idle_count >= cache->idle_max)) {
    tarn_object_cache_give_slow(cache, object);
    return;
  }
  slot->next = cache->idle;
  cache->idle = slot;
  cache->idle_count += 1;
}

/* Destroys idle objects until at most `keep` are left, and returns how many it has destroyed. Their
 * memory goes back when its chunks are empty. */
TARN_API size_t tarn_object_cache_trim(tarn_object_cache* cache, size_t keep);

#ifdef __cplusplus
}
#endif

#endif
#endif
