/* sqlite3_pages.h: SQLite's page caches in heaps of tarn's; part of tarn/hooks/sqlite3.h.
 *
 * They exist because of ceilings. SQLite's own cache gives up no page before it has as many as its
 * cache_size, whatever the connection's ceiling, and then the query fails
 * (docs/design/malloc_table.md). These caches reuse pages that are not pinned, least recently used
 * first, when the cache has as many as SQLite has told it, when its owner has passed the soft
 * limit, and when there is no memory.
 *
 * A cache of up to 16 pages has them in its owner's heap for pages. A larger one has a heap of its
 * own, which ends in constant time. A page is one block: | header | szPage bytes | szExtra bytes |.
 * SQLite uses a cache from one thread at a time. What several caches share is atomic, or under the
 * state's lock.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_HOOKS_SQLITE3_PAGES_H
#define TARN_HOOKS_SQLITE3_PAGES_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include "sqlite3_scope.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TARN_SQLITE3_SMALL = 16, TARN_SQLITE3_BUCKETS = 32 };

typedef struct tarn_sqlite3_page {
  sqlite3_pcache_page page;        /* What SQLite sees. */
  struct tarn_sqlite3_page* chain; /* The next one in its bucket. */
  struct tarn_sqlite3_page* newer; /* The pages that are not pinned form a ring with the cache's. */
  struct tarn_sqlite3_page* older; /* Null: it is pinned. */
  unsigned key;                    /* SQLite's page number. */
  int place;                       /* Its index in `small`; -1: it is in the cache's own heap. */
} tarn_sqlite3_page;

typedef struct tarn_sqlite3_cache {
  tarn_sqlite3_owner* owner;
  tarn_heap heap;     /* Its own heap, once `small` is full; before that the zero value. */
  tarn_fixed fixed;   /* The pages in that heap. */
  size_t page_bytes;  /* SQLite's part of a page: szPage. */
  size_t block_bytes; /* A page with its header and extra bytes. */
  int is_purgeable;
  unsigned limit; /* The number of pages that xCachesize has set. */
  unsigned count;
  unsigned pinned;
  unsigned key_most;      /* No page has a greater key. */
  tarn_sqlite3_page ring; /* ring.older is the newest, ring.newer the oldest. */
  tarn_sqlite3_page** buckets;
  size_t bucket_count; /* A power of two. */
  tarn_sqlite3_page* small[TARN_SQLITE3_SMALL];
  tarn_sqlite3_page* first_buckets[TARN_SQLITE3_BUCKETS];
  struct tarn_sqlite3_cache* next; /* The owner's next cache. */
  struct tarn_sqlite3_cache* prev;
} tarn_sqlite3_cache;

static inline void tarn_sqlite3_count_pages(tarn_sqlite3_cache* cache, unsigned more,
                                            unsigned fewer) {
  tarn_sqlite3_owner* const owner = cache->owner;
  const size_t change = (size_t)more - fewer; /* Wraps around for a decrease. */
  __atomic_add_fetch(&owner->page_count, change, __ATOMIC_RELAXED);
  __atomic_add_fetch(&owner->page_bytes, change * cache->block_bytes, __ATOMIC_RELAXED);
}
static inline int tarn_sqlite3_is_short(const tarn_sqlite3_cache* cache) {
  const size_t soft = cache->owner->soft_bytes;
  return soft != 0 && __atomic_load_n(&cache->owner->page_bytes, __ATOMIC_RELAXED) >= soft;
}

/* --- Buckets, and the ring -------------------------------------------------------------------- */

static inline tarn_sqlite3_page** tarn_sqlite3_bucket(const tarn_sqlite3_cache* cache,
                                                      unsigned key) {
  return &cache->buckets[key & (cache->bucket_count - 1)];
}
static inline void tarn_sqlite3_hash(tarn_sqlite3_cache* cache, tarn_sqlite3_page* page) {
  tarn_sqlite3_page** const bucket = tarn_sqlite3_bucket(cache, page->key);
  page->chain = *bucket;
  *bucket = page;
  if (page->key > cache->key_most) cache->key_most = page->key;
}
static inline void tarn_sqlite3_unhash(tarn_sqlite3_cache* cache, tarn_sqlite3_page* page) {
  tarn_sqlite3_page** link = tarn_sqlite3_bucket(cache, page->key);
  while (*link != page) link = &(*link)->chain;
  *link = page->chain;
}

/* Doubles the buckets of a cache with a heap of its own. Without memory the chains get longer. */
static inline void tarn_sqlite3_grow(tarn_sqlite3_cache* cache) {
  tarn_sqlite3_page** const old = cache->buckets;
  const size_t old_count = cache->bucket_count;
  tarn_sqlite3_page** const made =
      (tarn_sqlite3_page**)tarn_heap_allocate_zeroed(cache->heap, 2 * old_count, sizeof *made);
  size_t i;
  if (made == NULL) return;
  cache->buckets = made;
  cache->bucket_count = 2 * old_count;
  for (i = 0; i != old_count; ++i) {
    tarn_sqlite3_page* page = old[i];
    while (page != NULL) {
      tarn_sqlite3_page* const next = page->chain;
      tarn_sqlite3_hash(cache, page);
      page = next;
    }
  }
  if (old != cache->first_buckets) tarn_heap_deallocate(old);
}

static inline void tarn_sqlite3_pin(tarn_sqlite3_cache* cache, tarn_sqlite3_page* page) {
  if (page->older == NULL) return;
  page->older->newer = page->newer;
  page->newer->older = page->older;
  page->older = NULL;
  cache->pinned += 1;
}
static inline void tarn_sqlite3_unpin(tarn_sqlite3_cache* cache, tarn_sqlite3_page* page) {
  page->newer = &cache->ring;
  page->older = cache->ring.older;
  page->older->newer = page;
  cache->ring.older = page;
  cache->pinned -= 1;
}

/* --- Memory of pages -------------------------------------------------------------------------- */

/* Makes the cache as it was after tarn_sqlite3_cache_create. Its pages have been given back. */
static inline void tarn_sqlite3_cache_empty(tarn_sqlite3_cache* cache) {
  const tarn_heap none = {NULL, 0};
  cache->heap = none;
  cache->count = cache->pinned = cache->key_most = 0;
  cache->ring.newer = cache->ring.older = &cache->ring;
  cache->buckets = cache->first_buckets;
  cache->bucket_count = TARN_SQLITE3_BUCKETS;
  memset(cache->first_buckets, 0, sizeof cache->first_buckets);
  memset(cache->small, 0, sizeof cache->small);
}

static inline int tarn_sqlite3_own_heap(tarn_sqlite3_cache* cache) {
  const tarn_heap none = {NULL, 0};
  if (cache->heap.id != 0) return 1;
  cache->heap = tarn_heap_create(&cache->owner->options);
  if (cache->heap.id == 0) return 0;
  cache->fixed = tarn_heap_fixed(cache->heap, cache->block_bytes, 64);
  if (cache->fixed.record != NULL) {
    __atomic_add_fetch(&cache->owner->cache_heaps, 1, __ATOMIC_RELAXED);
    return 1;
  }
  tarn_heap_destroy(cache->heap);
  cache->heap = none;
  return 0;
}

/* Makes a page, which is pinned and in no bucket. Null when there is no memory. */
static inline tarn_sqlite3_page* tarn_sqlite3_take_page(tarn_sqlite3_cache* cache) {
  tarn_sqlite3_page* page = NULL;
  int place = 0;
  while (place != TARN_SQLITE3_SMALL && cache->small[place] != NULL) ++place;
  if (cache->heap.id == 0 && place != TARN_SQLITE3_SMALL) {
    page = (tarn_sqlite3_page*)tarn_heap_allocate(cache->owner->pages, cache->block_bytes);
    if (page != NULL) cache->small[place] = page;
  } else if (tarn_sqlite3_own_heap(cache)) {
    place = -1;
    page = (tarn_sqlite3_page*)tarn_fixed_allocate(cache->fixed);
  }
  if (page == NULL) return NULL;
  page->place = place;
  page->page.pBuf = page + 1;
  page->page.pExtra = (char*)(page + 1) + cache->page_bytes;
  page->older = NULL;
  cache->count += 1;
  cache->pinned += 1;
  tarn_sqlite3_count_pages(cache, 1, 0);
  if (cache->count > cache->bucket_count && cache->heap.id != 0) tarn_sqlite3_grow(cache);
  return page;
}

/* Frees a page that is pinned and no longer in a bucket. */
static inline void tarn_sqlite3_give_page(tarn_sqlite3_cache* cache, tarn_sqlite3_page* page) {
  if (page->place >= 0) cache->small[page->place] = NULL;
  cache->count -= 1;
  cache->pinned -= 1;
  tarn_sqlite3_count_pages(cache, 0, 1);
  tarn_heap_deallocate(page);
}
static inline void tarn_sqlite3_drop(tarn_sqlite3_cache* cache, tarn_sqlite3_page* page) {
  tarn_sqlite3_pin(cache, page);
  tarn_sqlite3_unhash(cache, page);
  tarn_sqlite3_give_page(cache, page);
}

/* Frees all pages at once, looking at no more than 16. */
static inline void tarn_sqlite3_drop_all(tarn_sqlite3_cache* cache) {
  int i;
  tarn_sqlite3_count_pages(cache, 0, cache->count);
  for (i = 0; i != TARN_SQLITE3_SMALL; ++i) tarn_heap_deallocate(cache->small[i]);
  if (cache->heap.id != 0) {
    __atomic_sub_fetch(&cache->owner->cache_heaps, 1, __ATOMIC_RELAXED);
    tarn_heap_destroy(cache->heap);
  }
  tarn_sqlite3_cache_empty(cache);
}

/* --- What SQLite calls: see sqlite3_pcache_methods2 in its manual ----------------------------- */

static inline int tarn_sqlite3_caches_init(void* context) {
  (void)context;
  return SQLITE_OK;
}
static inline void tarn_sqlite3_caches_end(void* context) { (void)context; }

static inline sqlite3_pcache* tarn_sqlite3_cache_create(int page_bytes, int extra_bytes,
                                                        int is_purgeable) {
  tarn_sqlite3_cache* const cache = (tarn_sqlite3_cache*)tarn_calloc(1, sizeof *cache);
  tarn_sqlite3_owner* const owner = tarn_sqlite3_current();
  if (cache == NULL) return NULL;
  cache->owner = owner;
  cache->page_bytes = (size_t)page_bytes;
  cache->block_bytes = sizeof(tarn_sqlite3_page) + (size_t)page_bytes + (size_t)extra_bytes;
  cache->is_purgeable = is_purgeable;
  tarn_sqlite3_cache_empty(cache);
  pthread_mutex_lock(&tarn_sqlite3.lock);
  cache->next = owner->caches;
  if (owner->caches != NULL) owner->caches->prev = cache;
  owner->caches = cache;
  pthread_mutex_unlock(&tarn_sqlite3.lock);
  return (sqlite3_pcache*)cache;
}

static inline void tarn_sqlite3_cache_destroy(sqlite3_pcache* opaque) {
  tarn_sqlite3_cache* const cache = (tarn_sqlite3_cache*)opaque;
  pthread_mutex_lock(&tarn_sqlite3.lock);
  if (cache->next != NULL) cache->next->prev = cache->prev;
  if (cache->prev != NULL) {
    cache->prev->next = cache->next;
  } else {
    cache->owner->caches = cache->next;
  }
  pthread_mutex_unlock(&tarn_sqlite3.lock);
  tarn_sqlite3_drop_all(cache);
  tarn_free(cache);
}

/* Frees the oldest pages that are not pinned, until `most` are left. */
static inline void tarn_sqlite3_cache_trim(tarn_sqlite3_cache* cache, unsigned most) {
  while (cache->count > most && cache->ring.newer != &cache->ring) {
    tarn_sqlite3_drop(cache, cache->ring.newer);
  }
}
static inline void tarn_sqlite3_cache_resize(sqlite3_pcache* opaque, int limit) {
  tarn_sqlite3_cache* const cache = (tarn_sqlite3_cache*)opaque;
  if (!cache->is_purgeable) return;
  cache->limit = limit < 0 ? 0 : (unsigned)limit;
  tarn_sqlite3_cache_trim(cache, cache->limit);
}
static inline void tarn_sqlite3_cache_shrink(sqlite3_pcache* opaque) {
  tarn_sqlite3_cache* const cache = (tarn_sqlite3_cache*)opaque;
  if (!cache->is_purgeable) return;
  if (cache->pinned == 0) {
    tarn_sqlite3_drop_all(cache);
  } else {
    tarn_sqlite3_cache_trim(cache, 0);
  }
}
static inline int tarn_sqlite3_cache_count(sqlite3_pcache* opaque) {
  return (int)((tarn_sqlite3_cache*)opaque)->count;
}

/* Frees pages at a ceiling, in the thread that has the connection. Returns their bytes. */
static inline size_t tarn_sqlite3_make_room(tarn_sqlite3_owner* owner) {
  const size_t before = owner->page_bytes;
  tarn_sqlite3_cache* cache;
  if (owner == &tarn_sqlite3.shared) return 0; /* Other threads may be using them. */
  for (cache = owner->caches; cache != NULL; cache = cache->next) {
    if (!cache->is_purgeable) continue;
    tarn_sqlite3_cache_trim(cache, 0);
    tarn_heap_trim(cache->heap, 0);
  }
  tarn_heap_trim(owner->pages, 0);
  return before - owner->page_bytes;
}

/* Finds a page for a key that has none yet; it is in no bucket. Null when there is none, or, for
 * create 1, when getting one costs more than it is worth: then SQLite writes dirty pages out and
 * asks again. */
static inline tarn_sqlite3_page* tarn_sqlite3_find_page(tarn_sqlite3_cache* cache, int create) {
  const int has_free = cache->is_purgeable && cache->ring.newer != &cache->ring;
  const int is_short = tarn_sqlite3_is_short(cache);
  tarn_sqlite3_page* page = NULL;
  if (create == 1 && cache->is_purgeable &&
      (cache->pinned >= cache->limit - cache->limit / 10 || (is_short && !has_free))) {
    return NULL;
  }
  if (!has_free || !(is_short || cache->count + 1 >= cache->limit)) {
    page = tarn_sqlite3_take_page(cache);
    if (page != NULL || !has_free) return page;
  }
  page = cache->ring.newer;
  tarn_sqlite3_pin(cache, page);
  tarn_sqlite3_unhash(cache, page);
  return page;
}

static inline sqlite3_pcache_page* tarn_sqlite3_cache_fetch(sqlite3_pcache* opaque, unsigned key,
                                                            int create) {
  tarn_sqlite3_cache* const cache = (tarn_sqlite3_cache*)opaque;
  tarn_sqlite3_page* page = *tarn_sqlite3_bucket(cache, key);
  while (page != NULL && page->key != key) page = page->chain;
  if (page != NULL) {
    tarn_sqlite3_pin(cache, page);
    return &page->page;
  }
  if (create == 0) return NULL;
  page = tarn_sqlite3_find_page(cache, create);
  if (page == NULL) return NULL;
  page->key = key;
  memset(page->page.pExtra, 0, sizeof(void*)); /* Tells SQLite that it is new. */
  tarn_sqlite3_hash(cache, page);
  return &page->page;
}

static inline void tarn_sqlite3_cache_unpin(sqlite3_pcache* opaque, sqlite3_pcache_page* seen,
                                            int discard) {
  tarn_sqlite3_cache* const cache = (tarn_sqlite3_cache*)opaque;
  tarn_sqlite3_page* const page = (tarn_sqlite3_page*)(void*)seen;
  if (discard || (cache->is_purgeable && cache->count > cache->limit)) {
    tarn_sqlite3_drop(cache, page);
  } else {
    tarn_sqlite3_unpin(cache, page);
  }
}

static inline void tarn_sqlite3_cache_rekey(sqlite3_pcache* opaque, sqlite3_pcache_page* seen,
                                            unsigned old_key, unsigned key) {
  tarn_sqlite3_cache* const cache = (tarn_sqlite3_cache*)opaque;
  tarn_sqlite3_page* const page = (tarn_sqlite3_page*)(void*)seen;
  tarn_sqlite3_page* other = *tarn_sqlite3_bucket(cache, key);
  (void)old_key;
  while (other != NULL && other->key != key) other = other->chain;
  if (other == page) return;
  if (other != NULL) tarn_sqlite3_drop(cache, other);
  tarn_sqlite3_unhash(cache, page);
  page->key = key;
  tarn_sqlite3_hash(cache, page);
}

/* Frees the pages from a key on, pinned ones too. Time linear in the keys that there may be above
 * it, or in all pages if these are fewer; constant if no page stays, since keys begin with 1. */
static inline void tarn_sqlite3_cache_truncate(sqlite3_pcache* opaque, unsigned key) {
  tarn_sqlite3_cache* const cache = (tarn_sqlite3_cache*)opaque;
  size_t bucket = 0;
  size_t left = cache->bucket_count;
  if (key <= 1) {
    tarn_sqlite3_drop_all(cache);
    return;
  }
  if (key > cache->key_most) return;
  if (cache->key_most - key < cache->bucket_count) {
    bucket = key & (cache->bucket_count - 1);
    left = (size_t)(cache->key_most - key) + 1;
  }
  for (; left != 0; --left) {
    tarn_sqlite3_page* page = cache->buckets[bucket];
    while (page != NULL) {
      tarn_sqlite3_page* const next = page->chain;
      if (page->key >= key) tarn_sqlite3_drop(cache, page);
      page = next;
    }
    bucket = (bucket + 1) & (cache->bucket_count - 1);
  }
  cache->key_most = key - 1;
}

static inline sqlite3_pcache_methods2 tarn_sqlite3_cache_methods(void) {
  sqlite3_pcache_methods2 made;
  memset(&made, 0, sizeof made);
  made.iVersion = 1;
  made.xInit = tarn_sqlite3_caches_init;
  made.xShutdown = tarn_sqlite3_caches_end;
  made.xCreate = tarn_sqlite3_cache_create;
  made.xCachesize = tarn_sqlite3_cache_resize;
  made.xPagecount = tarn_sqlite3_cache_count;
  made.xFetch = tarn_sqlite3_cache_fetch;
  made.xUnpin = tarn_sqlite3_cache_unpin;
  made.xRekey = tarn_sqlite3_cache_rekey;
  made.xTruncate = tarn_sqlite3_cache_truncate;
  made.xDestroy = tarn_sqlite3_cache_destroy;
  made.xShrink = tarn_sqlite3_cache_shrink;
  return made;
}

#ifdef __cplusplus
}
#endif

#endif
#endif
