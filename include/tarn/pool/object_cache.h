/* object_cache.h: objects that are expensive to build, kept built, in C. (C++: object_cache.hpp.)
 * What is given to a cache stays constructed, and is what the next one takes. (J. Bonwick, "The
 * Slab Allocator: An Object-Caching Kernel Memory Allocator", 1994.)
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
  tarn_pool_options objects; /* block_bytes and alignment are the object's. */

  /* Builds an object in memory that has been written to or not: 0, or anything else when that
   * cannot be; takes then gives null. Null: nothing is to be done. */
  int (*construct)(void* object, void* context);
  void (*destruct)(void* object, void* context); /* Null: nothing is to be done. */
  void* context;                                 /* Handed to both. */
  size_t idle_max; /* So many stay built while nobody has them; 0: all. */
} tarn_object_cache_options;

#define TARN_OBJECT_CACHE_OPTIONS(...) TARN_SIZED(tarn_object_cache_options, __VA_ARGS__)

/* In front of each object. */
typedef struct tarn_cached {
  struct tarn_cached* next; /* Of the idle ones; the cache's address while somebody has the object;
                               null when there is none in its memory. */
} tarn_cached;

/* All of it is the cache's own; it must not be copied or moved. */
typedef struct tarn_object_cache {
  tarn_cached* idle; /* The last given first. */
  size_t offset;     /* From there to the object. */
  size_t idle_count;
  size_t idle_max;
  uint64_t hits;
  uint64_t misses;
  int (*construct)(void* object, void* context);
  void (*destruct)(void* object, void* context);
  void* context;
  tarn_pool pool;
} tarn_object_cache;

/* 0, or -1 as tarn_pool_init; the cache may be used and destroyed in any case. */
TARN_API int tarn_object_cache_init(tarn_object_cache* cache,
                                    const tarn_object_cache_options* options);

/* Destroys all objects, those that somebody has too, and gives all memory back. What destructors
 * give to the cache meanwhile is destroyed once like the others, before or after. */
TARN_API void tarn_object_cache_destroy(tarn_object_cache* cache);

/* The rest of the next two. */
TARN_API TARN_MUST_USE void* tarn_object_cache_take_slow(tarn_object_cache* cache);
TARN_API void tarn_object_cache_give_slow(tarn_object_cache* cache, void* object);

/* Memory for an object that is not built yet, which the caller has then; and back. */
TARN_API TARN_ALLOCATES_ONE void* tarn_object_cache_allocate(tarn_object_cache* cache);
TARN_API void tarn_object_cache_deallocate(tarn_object_cache* cache, void* object);

/* An object, as it was given, or a new one; null and ENOMEM when there is no memory, null when
 * `construct` refuses. */
TARN_MUST_USE static inline void* tarn_object_cache_take(tarn_object_cache* cache) {
  tarn_cached* const slot = cache->idle;
  if (TARN_UNLIKELY(slot == NULL)) return tarn_object_cache_take_slow(cache);
  cache->idle = slot->next;
  cache->idle_count -= 1;
  cache->hits += 1;
  slot->next = (tarn_cached*)(void*)cache;
  return (char*)slot + cache->offset;
}

/* Gives an object back to be taken again; null is ignored. It is destroyed when as many as may be
 * are idle. Giving one twice, or one that is not the cache's, is reported (`double free`). */
static inline void tarn_object_cache_give(tarn_object_cache* cache, void* object) {
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

/* Destroys idle objects until at most `keep` are left. Returns how many it destroyed; their memory
 * goes back with its chunks. */
TARN_API size_t tarn_object_cache_trim(tarn_object_cache* cache, size_t keep);

#ifdef __cplusplus
}
#endif

#endif
#endif
