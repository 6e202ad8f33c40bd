/* Recovery in C: under a ceiling a cache with a callback shrinks and the allocation succeeds;
 * purgeable blocks vanish and say so. With threads, too, and in a parent's children.
 *
 * SPDX-License-Identifier: MIT */
#include "../check.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "tarn/heap/recover.h"
#include "tarn/tarn.h"

enum { kib = 1024, mib = 1024 * kib, cached_max = 64 };

struct cache {
  tarn_heap heap;
  void* blocks[cached_max];
  size_t count;
  size_t asked;
};

static int cache_add(struct cache* cache, size_t bytes) {
  void* block = tarn_heap_allocate(cache->heap, bytes);
  if (block == NULL || cache->count == cached_max) return 0;
  memset(block, 'c', bytes);
  cache->blocks[cache->count++] = block;
  return 1;
}

static size_t cache_shrink(size_t wanted, void* context) {
  struct cache* cache = context;
  size_t given = 0;
  ++cache->asked;
  while (given < wanted && cache->count != 0) {
    given += tarn_malloc_usable_size(cache->blocks[--cache->count]);
    tarn_free(cache->blocks[cache->count]);
  }
  return given;
}

static tarn_heap heap_with(size_t ceiling, int threads, tarn_heap parent) {
  tarn_heap_options options =
      TARN_HEAP_OPTIONS(.threads = threads, .parent = parent, .ceiling_bytes = ceiling);
  const tarn_heap heap = tarn_heap_create(&options);
  CHECK(heap.record != NULL);
  return heap;
}

static void a_cache_shrinks(int threads) {
  struct cache cache = {.heap = heap_with(4 * mib, threads, (tarn_heap){0})};
  const tarn_reclaimer_options options =
      TARN_RECLAIMER_OPTIONS(.name = "cache", .heap = cache.heap, .reclaim = cache_shrink,
                             .context = &cache);
  tarn_reclaimer reclaimer;
  CHECK(tarn_reclaimer_register(&reclaimer, &options) == 0);
  CHECK(tarn_reclaimer_register(&reclaimer, &options) == -1 && errno == EBUSY);
  for (int i = 0; i < 15; ++i) CHECK(cache_add(&cache, 250 * kib));
  CHECK(cache.asked == 0);
  char* wanted = tarn_heap_allocate(cache.heap, mib);
  CHECK(wanted != NULL);
  memset(wanted, 1, mib);
  CHECK(cache.asked != 0 && cache.count < 15 && cache.count > 8);
  tarn_reclaimer_set_estimate(&reclaimer, 0);
  const size_t asked = cache.asked;
  CHECK(tarn_heap_allocate(cache.heap, 3 * mib) == NULL && errno == ENOMEM);
  CHECK(cache.asked == asked);
  tarn_reclaimer_stats stats = TARN_RECLAIMER_STATS();
  CHECK(tarn_reclaimer_get_stats(&reclaimer, &stats) == 0);
  CHECK(stats.calls == cache.asked && stats.given_bytes >= 500 * kib);
  CHECK(tarn_reclaimer_unregister(&reclaimer) == 0);
  CHECK(tarn_reclaimer_unregister(&reclaimer) == -1 && errno == EINVAL);
  CHECK(tarn_heap_destroy(cache.heap) == 0);
}

/* The image, decoded when it is not there. */
static const unsigned char* image_of(tarn_purgeable* image, size_t bytes, int mark, int* decoded) {
  unsigned char* pixels = tarn_purgeable_lock(image);
  if (pixels != NULL) return pixels;
  pixels = tarn_purgeable_refill(image);
  if (pixels == NULL) return NULL;
  memset(pixels, mark, bytes);
  ++*decoded;
  tarn_purgeable_unlock(image);
  return tarn_purgeable_lock(image);
}

static void images_vanish(int threads) {
  enum { images = 32, bytes = 200 * kib };
  const tarn_heap heap = heap_with(4 * mib, threads, (tarn_heap){0});
  tarn_purgeable image[images] = {{0}};
  int decoded = 0;
  for (int i = 0; i < images; ++i) {
    CHECK(tarn_purgeable_begin(&image[i], heap, bytes) == 0);
    const unsigned char* pixels = image_of(&image[i], bytes, i, &decoded);
    CHECK(pixels != NULL && pixels[0] == i && pixels[bytes - 1] == i);
    tarn_purgeable_unlock(&image[i]);
  }
  CHECK(decoded == images);
  int vanished = 0;
  for (int i = 0; i < images; ++i) {
    errno = 0;
    const unsigned char* pixels = tarn_purgeable_lock(&image[i]);
    if (pixels == NULL) {
      CHECK(errno == 0);
      ++vanished;
    } else {
      CHECK(pixels[bytes / 2] == i);
      tarn_purgeable_unlock(&image[i]);
    }
  }
  CHECK(vanished >= images - 4 * mib / bytes && vanished < images);
  CHECK(tarn_recover_heap(heap, SIZE_MAX, TARN_RECOVER_PURGEABLES, NULL) >= 10 * bytes);
  for (int i = 0; i < images; ++i) {
    CHECK(tarn_purgeable_lock(&image[i]) == NULL);
    CHECK(tarn_purgeable_end(&image[i]) == 0);
  }
  CHECK(tarn_heap_destroy(heap) == 0);
}

enum { shared_images = 24, shared_bytes = 64 * kib };

struct shared {
  tarn_purgeable image[shared_images];
  int wrong;
};

static void* look_at_images(void* context) {
  struct shared* shared = context;
  int wrong = 0;
  int decoded = 0;
  for (int i = 0; i < 2000; ++i) {
    const int at = i * 7 % shared_images;
    const unsigned char* pixels = image_of(&shared->image[at], shared_bytes, at, &decoded);
    if (pixels == NULL) continue; /* Another thread fills it, or it vanished at once. */
    wrong += pixels[0] != at || pixels[shared_bytes - 1] != at;
    tarn_purgeable_unlock(&shared->image[at]);
  }
  __atomic_fetch_add(&shared->wrong, wrong, __ATOMIC_RELAXED);
  return NULL;
}

static void threads_share_images(void) {
  const tarn_heap parent = heap_with(mib, TARN_HEAP_SHARED, (tarn_heap){0});
  const tarn_heap child = heap_with(0, TARN_HEAP_SHARED, parent);
  static struct shared shared;
  for (int i = 0; i < shared_images; ++i) {
    CHECK(tarn_purgeable_begin(&shared.image[i], i % 2 == 0 ? parent : child, shared_bytes) == 0);
  }
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) {
    CHECK(pthread_create(&threads[i], NULL, look_at_images, &shared) == 0);
  }
  for (int i = 0; i < 3; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(shared.wrong == 0);
  for (int i = 0; i < shared_images; ++i) CHECK(tarn_purgeable_end(&shared.image[i]) == 0);
  CHECK(tarn_heap_destroy(child) == 0);
  CHECK(tarn_heap_destroy(parent) == 0);
}

int main(void) {
  for (int threads = TARN_HEAP_SHARED; threads <= TARN_HEAP_CONFINED; ++threads) {
    a_cache_shrinks(threads);
    images_vanish(threads);
  }
  threads_share_images();
  tarn_recover_stats stats = TARN_RECOVER_STATS();
  CHECK(tarn_recover_get_stats(&stats) == 0);
  CHECK(stats.purged >= 3 * 10 && stats.by_allocations > 0 && stats.reclaimed_bytes > 0);
  CHECK(tarn_recover(1, 64) == 0 && errno == EINVAL);
  return 0;
}
