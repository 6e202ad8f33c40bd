/* heaps: the essentials of tarn/heap/heap.h in plain C11, as a program in C meets them.
 *
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "tarn/diagnose/report.h"
#include "tarn/tarn.h"

static size_t opaque(size_t n) {
  volatile size_t hidden = n;
  return hidden;
}

static int is_none(tarn_heap heap) { return heap.record == NULL && heap.id == 0; }
static int same(tarn_heap a, tarn_heap b) { return a.record == b.record && a.id == b.id; }

static tarn_heap_stats stats_of(tarn_heap heap) {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  CHECK(tarn_heap_get_stats(heap, &stats) == 0);
  return stats;
}

static tarn_heap make(int threads) {
  const tarn_heap_options options = TARN_HEAP_OPTIONS(.name = "in C", .threads = threads);
  const tarn_heap heap = tarn_heap_create(&options);
  CHECK(!is_none(heap));
  return heap;
}

static void blocks_of_each_size(int threads) {
  const tarn_heap heap = make(threads);
  unsigned char* blocks[400];
  size_t bytes = 0;
  uint64_t live_bytes = 0;
  for (int i = 0; i < 400; ++i, bytes += bytes / 32 + 1) {
    blocks[i] = tarn_heap_allocate(heap, bytes);
    CHECK(blocks[i] != NULL);
    CHECK((uintptr_t)blocks[i] % 16 == 0);
    const size_t usable = tarn_malloc_usable_size(blocks[i]);
    CHECK(usable >= bytes);
    live_bytes += usable;
    memset(blocks[i], i & 0xff, usable);
    CHECK(same(tarn_heap_of(blocks[i]), heap));
    CHECK(tarn_heap_owns(heap, blocks[i]));
    if (bytes > 2000000) bytes = 0;
  }
  CHECK(stats_of(heap).live_blocks == 400);
  CHECK(stats_of(heap).live_bytes == live_bytes);
  for (int i = 0; i < 400; ++i) {
    const size_t usable = tarn_malloc_usable_size(blocks[i]);
    CHECK(blocks[i][0] == (i & 0xff) && blocks[i][usable - 1] == (i & 0xff));
    if (i % 2 == 0) {
      tarn_heap_deallocate(blocks[i]);
    } else {
      tarn_free(blocks[i]);
    }
  }
  CHECK(stats_of(heap).live_blocks == 0);
  CHECK(stats_of(heap).live_bytes == 0);
  CHECK(tarn_heap_destroy(heap) == 0);
}

static void forms_of_allocation(void) {
  const tarn_heap heap = make(TARN_HEAP_SHARED);
  for (int round = 0; round < 3; ++round) {
    unsigned char* const zeroed = tarn_heap_allocate_zeroed(heap, 30, 30);
    CHECK(zeroed != NULL);
    for (int i = 0; i < 900; ++i) CHECK(zeroed[i] == 0);
    memset(zeroed, 0xff, 900);
    tarn_heap_deallocate(zeroed);
  }
  for (size_t alignment = 1; alignment <= (size_t)1 << 20; alignment *= 2) {
    void* const aligned = tarn_heap_allocate_aligned(heap, alignment, 100);
    CHECK(aligned != NULL && (uintptr_t)aligned % alignment == 0);
  }
  errno = 0;
  CHECK(tarn_heap_allocate_aligned(heap, opaque(24), 100) == NULL && errno == EINVAL);
  errno = 0;
  CHECK(tarn_heap_allocate(heap, opaque((size_t)PTRDIFF_MAX + 1)) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(tarn_heap_allocate_zeroed(heap, opaque(SIZE_MAX / 2), 3) == NULL && errno == ENOMEM);
  CHECK(tarn_heap_destroy(heap) == 0);
}

static void new_sizes(void) {
  const tarn_heap heap = make(TARN_HEAP_SHARED);
  char* p = tarn_heap_reallocate(heap, NULL, 10);
  CHECK(p != NULL);
  memcpy(p, "contents", 9);
  for (size_t bytes = 20; bytes < 1000000; bytes *= 3) {
    p = tarn_heap_reallocate(heap, p, bytes);
    CHECK(p != NULL && strcmp(p, "contents") == 0);
    CHECK(same(tarn_heap_of(p), heap));
  }
  p = tarn_heap_reallocate(tarn_heap_main(), p, 30);
  CHECK(p != NULL && strcmp(p, "contents") == 0);
  CHECK(same(tarn_heap_of(p), tarn_heap_main()));
  CHECK(tarn_heap_try_expand(p, tarn_malloc_usable_size(p)) == 1);
  CHECK(tarn_heap_try_expand(p, 1000000) == 0);
  CHECK(tarn_heap_reallocate(heap, p, 0) == NULL);
  CHECK(stats_of(heap).live_blocks == 0);
  CHECK(tarn_heap_destroy(heap) == 0);
}

static void no_heap(void) {
  const tarn_heap none = {NULL, 0};
  static int object;
  CHECK(tarn_heap_destroy(none) == 0);
  errno = 0;
  CHECK(tarn_heap_allocate(none, 8) == NULL && errno == EINVAL);
  CHECK(is_none(tarn_heap_of(NULL)));
  CHECK(is_none(tarn_heap_of(&object)));
  CHECK(!tarn_heap_owns(none, &object));
  tarn_heap_options options = {.bytes = sizeof options - 1};
  errno = 0;
  CHECK(is_none(tarn_heap_create(&options)) && errno == EINVAL);
  options.bytes = sizeof options;
  options.threads = 3;
  errno = 0;
  CHECK(is_none(tarn_heap_create(&options)) && errno == EINVAL);
  errno = 0;
  CHECK(tarn_heap_destroy(tarn_heap_main()) == -1 && errno == EINVAL);
  errno = 0;
  CHECK(tarn_heap_clear(tarn_heap_main()) == -1 && errno == EINVAL);
}

struct cache {
  tarn_heap heap;
  void* block;
  int calls;
};

static size_t drop_block(tarn_heap heap, size_t wanted_bytes, void* context) {
  struct cache* const cache = context;
  CHECK(same(heap, cache->heap));
  CHECK(wanted_bytes == 300000);
  ++cache->calls;
  const size_t given = tarn_malloc_usable_size(cache->block);
  tarn_free(cache->block);
  cache->block = NULL;
  return given;
}

static void limits(void) {
  struct cache cache = {.calls = 0};
  const tarn_heap_options options =
      TARN_HEAP_OPTIONS(.ceiling_bytes = 512 * 1024, .reclaim = drop_block, .context = &cache);
  cache.heap = tarn_heap_create(&options);
  cache.block = tarn_heap_allocate(cache.heap, 300000);
  CHECK(cache.block != NULL && cache.calls == 0);
  CHECK(tarn_heap_allocate(cache.heap, 300000) != NULL);
  CHECK(cache.calls == 1);
  errno = 0;
  CHECK(tarn_heap_allocate(cache.heap, 300000) == NULL && errno == ENOMEM);
  CHECK(cache.calls == 2);
  CHECK(stats_of(cache.heap).committed_bytes == 303104);
  CHECK(stats_of(cache.heap).committed_bytes_peak == 303104);
  CHECK(tarn_heap_destroy(cache.heap) == 0);
}

static void statistics(int threads) {
  enum { count = 3000 };
  static void* blocks[count];
  const tarn_heap heap = make(threads);
  tarn_heap_deallocate(tarn_heap_allocate(heap, 2000)); /* No longer young. */
  const tarn_fixed fixed = tarn_heap_fixed(heap, 20, 4);
  for (int i = 0; i < count; ++i) {
    blocks[i] = tarn_fixed_allocate(fixed);
    CHECK(blocks[i] != NULL);
    memset(blocks[i], 1, 20);
  }
  tarn_heap_stats stats = stats_of(heap);
  CHECK(stats.requested_bytes == count * 20 && stats.requested_is_exact == 1);
  CHECK(stats.live_bytes == count * 20 && stats.live_bytes_peak >= stats.live_bytes);
  CHECK(stats.resident_bytes >= count * 20 && stats.resident_bytes <= stats.committed_bytes);
  const uint64_t resident = stats.resident_bytes;
  for (int i = 0; i < count; ++i) tarn_heap_deallocate(blocks[i]);
  CHECK(tarn_heap_trim(heap, 0) != 0);
  stats = stats_of(heap);
  CHECK(stats.live_bytes == 0 && stats.requested_bytes == 0);
  CHECK(stats.live_bytes_peak >= count * 20);
  CHECK(stats.resident_bytes < resident);
  for (int i = 0; i < 100; ++i) CHECK(tarn_heap_allocate(heap, 100) != NULL);
  stats = stats_of(heap);
  CHECK(stats.requested_bytes == 100 * 100 && stats.requested_is_exact == 0);
  tarn_heap_stats old = {.bytes = sizeof old - 1};
  errno = 0;
  CHECK(tarn_heap_get_stats(heap, &old) == -1 && errno == EINVAL);
  CHECK(stats_of(tarn_heap_main()).live_bytes_peak >= stats_of(tarn_heap_main()).live_bytes);
  CHECK(tarn_heap_destroy(heap) == 0);
}

static void class_tables(void) {
  size_t table[TARN_HEAP_CLASSES_MAX];
  size_t count = tarn_class_table(1, 32, 4096, TARN_HEAP_CLASS_GRAIN, table, 128);
  CHECK(count == 8 && table[0] == 32 && table[7] == 4096);
  count = tarn_class_table_add(table, count, 128, 396);
  CHECK(count == 9 && table[4] == 400);
  CHECK(tarn_class_table(8, 32, 8 << 20, 1, NULL, 0) == 145);
  const double fill = tarn_class_fill(table, count, 257, 512);
  CHECK(fill > 0.856 && fill < 0.857); /* 98432 of 144 * 400 + 112 * 512 bytes */
  errno = 0;
  CHECK(tarn_class_fill(table, count, 1, 4097) == 0 && errno == EINVAL);
  errno = 0;
  CHECK(tarn_class_table(0, 32, 64, 16, table, 128) == 0 && errno == EINVAL);
  errno = 0;
  CHECK(tarn_class_table_add(table, 9, 9, 48) == 0 && errno == ENOSPC);
  for (int threads = TARN_HEAP_SHARED; threads <= TARN_HEAP_CONFINED; ++threads) {
    tarn_heap_options options =
        TARN_HEAP_OPTIONS(.threads = threads, .class_bytes = table, .class_count = count);
    const tarn_heap heap = tarn_heap_create(&options);
    CHECK(!is_none(heap));
    for (size_t bytes = 0; bytes < 10000; bytes += 3) {
      void* const p = tarn_heap_allocate(heap, bytes);
      CHECK(p != NULL);
      size_t at = 0;
      while (at < count && table[at] < bytes) ++at;
      const size_t expected = at < count ? table[at] : (bytes + 4095) / 4096 * 4096;
      CHECK(tarn_malloc_usable_size(p) == expected);
      CHECK(tarn_heap_reallocate(heap, p, expected) == p);
      if (bytes % 2 == 0) tarn_heap_deallocate(p);
    }
    CHECK(tarn_malloc_usable_size(tarn_fixed_allocate(tarn_heap_fixed(heap, 36, 4))) == 36);
    CHECK(tarn_heap_destroy(heap) == 0);
    options.class_count = 129;
    errno = 0;
    CHECK(is_none(tarn_heap_create(&options)) && errno == ENOSPC);
    options.class_count = 0;
    errno = 0;
    CHECK(is_none(tarn_heap_create(&options)) && errno == EINVAL);
  }
}

static void many_heaps(void) {
  enum { count = 1000 };
  static tarn_heap heaps[count];
  for (int i = 0; i < count; ++i) {
    heaps[i] = make(i % 3);
    CHECK(strcmp(tarn_heap_name(heaps[i]), "in C") == 0);
    for (int b = 0; b < i % 100; ++b) CHECK(tarn_heap_allocate(heaps[i], 50) != NULL);
  }
  for (int i = 0; i < count; ++i) {
    const int at = i * 7 % count;
    CHECK(stats_of(heaps[at]).live_blocks == (uint64_t)(at % 100));
    CHECK(tarn_heap_clear(heaps[at]) == 0);
    CHECK(stats_of(heaps[at]).committed_bytes == 0);
    CHECK(tarn_heap_destroy(heaps[at]) == 0);
  }
}

static void blocks_looked_at(void) {
  const tarn_heap heap = make(TARN_HEAP_SHARED);
  char* const one = tarn_heap_allocate(heap, 100);
  char* const two = tarn_heap_allocate(heap, 100);
  CHECK(tarn_heap_usable_bytes(one) >= 100 && tarn_heap_usable_bytes(NULL) == 0);
  CHECK(tarn_heap_look(heap, one) == TARN_HEAP_LIVE);
  CHECK(tarn_heap_look(heap, one + 1) == TARN_HEAP_NOTHING);
  tarn_heap_deallocate_sized(two, 100);
  CHECK(tarn_heap_look(heap, two) == TARN_HEAP_FREE);
  CHECK(tarn_heap_check(heap) == 1);
  CHECK(tarn_heap_destroy(heap) == 0);
  char text[80];
  CHECK(tarn_site_text(text, text, sizeof text) == strlen(text));
}

int main(void) {
  for (int threads = TARN_HEAP_SHARED; threads <= TARN_HEAP_CONFINED; ++threads) {
    blocks_of_each_size(threads);
    statistics(threads);
  }
  forms_of_allocation();
  new_sizes();
  no_heap();
  limits();
  class_tables();
  many_heaps();
  blocks_looked_at();
  return 0;
}
