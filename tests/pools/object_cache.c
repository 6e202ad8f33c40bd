/* object_cache.c: tarn/pool/object_cache.h from C.
 *
 * SPDX-License-Identifier: MIT */
#include "tarn/pool/object_cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../check.h"

struct parser {
  int* table;
  int runs;
};

static struct { int built, ended, refuses; } counts;

static int construct(void* object, void* context) {
  CHECK(context == &counts);
  if (counts.refuses) return 1;
  struct parser* const parser = object;
  parser->table = malloc(100);
  parser->runs = 0;
  ++counts.built;
  return 0;
}

static void destruct(void* object, void* context) {
  CHECK(context == &counts);
  free(((struct parser*)object)->table);
  ++counts.ended;
}

int main(void) {
  tarn_object_cache_options options =
      TARN_OBJECT_CACHE_OPTIONS(.construct = construct, .destruct = destruct, .context = &counts,
                                .idle_max = 3);
  options.objects = TARN_POOL_OPTIONS();
  options.objects.block_bytes = sizeof(struct parser);
  tarn_object_cache cache;
  CHECK(tarn_object_cache_init(&cache, &options) == 0);
  struct parser* const first = tarn_object_cache_take(&cache);
  first->runs = 7;
  tarn_object_cache_give(&cache, first);
  CHECK(tarn_object_cache_take(&cache) == first && first->runs == 7);
  struct parser* others[5];
  for (int i = 0; i < 5; ++i) CHECK((others[i] = tarn_object_cache_take(&cache)) != NULL);
  CHECK(counts.built == 6 && cache.misses == 6 && cache.hits == 1);
  for (int i = 0; i < 5; ++i) tarn_object_cache_give(&cache, others[i]);
  CHECK(cache.idle_count == 3 && counts.ended == 2);
  CHECK(tarn_object_cache_trim(&cache, 1) == 2 && counts.ended == 4);
  CHECK(tarn_object_cache_take(&cache) != NULL);
  counts.refuses = 1;
  CHECK(tarn_object_cache_take(&cache) == NULL);
  tarn_object_cache_give(&cache, NULL);
  tarn_object_cache_destroy(&cache);
  CHECK(counts.built == counts.ended);

  options.objects.block_bytes = 0;
  errno = 0;
  CHECK(tarn_object_cache_init(&cache, &options) == -1 && errno == EINVAL);
  CHECK(tarn_object_cache_take(&cache) == NULL);
  tarn_object_cache_destroy(&cache);
  CHECK(tarn_object_cache_init(&cache, NULL) == -1);
  options.objects.block_bytes = SIZE_MAX;
  CHECK(tarn_object_cache_init(&cache, &options) == -1);
  puts("object_cache.c: ok");
  return 0;
}
