/* apart: heaps whose memory lies apart, and frozen ones, as a program in C meets them.
 *
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "tarn/tarn.h"

static int is_none(tarn_heap heap) { return heap.record == NULL && heap.id == 0; }

static int is_zero(const unsigned char* p, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    if (p[i] != 0) return 0;
  }
  return 1;
}

static tarn_heap_options plain(void) {
  const tarn_heap_options options = TARN_HEAP_OPTIONS(.name = "in C");
  return options;
}

static void in_a_region(void) {
  static unsigned char memory[TARN_HEAP_REGION_BYTES_MIN];
  tarn_heap_options options = plain();
  options.region = memory;
  options.region_bytes = sizeof memory - 1;
  CHECK(is_none(tarn_heap_create(&options)) && errno == EINVAL);
  options.region_bytes = sizeof memory;
  const tarn_heap heap = tarn_heap_create(&options);
  CHECK(!is_none(heap));
  CHECK(is_none(tarn_heap_create(&options)) && errno == EINVAL);
  size_t served = 0;
  for (unsigned char* p; (p = tarn_heap_allocate(heap, 100)) != NULL; served += 100) {
    CHECK(p >= memory && p + 100 <= memory + sizeof memory);
    memset(p, 1, 100);
  }
  CHECK(errno == ENOMEM && served > 12000);
  CHECK(tarn_heap_delete(heap) == -1 && errno == ENOTSUP);
  CHECK(tarn_heap_destroy(heap) == 0);
}

struct counts {
  int taken, given;
  int refuses;
};

static tarn_chunk take(void* context, size_t bytes, size_t alignment) {
  struct counts* const counts = context;
  if (counts->refuses) return (tarn_chunk){0};
  ++counts->taken;
  CHECK(alignment == 4096);
  return (tarn_chunk){aligned_alloc(alignment, bytes), bytes};
}

static void give(void* context, tarn_chunk chunk) {
  struct counts* const counts = context;
  ++counts->given;
  CHECK(chunk.bytes != 0);
  free(chunk.data);
}

static void from_a_source(void) {
  struct counts counts = {0};
  const tarn_source source =
      TARN_SOURCE(.acquire = take, .release = give, .context = &counts, .chunk_bytes = 100000);
  tarn_heap_options options = plain();
  options.source = &source;
  counts.refuses = 1;
  CHECK(is_none(tarn_heap_create(&options)) && errno == ENOMEM);
  counts.refuses = 0;
  const tarn_heap heap = tarn_heap_create(&options);
  CHECK(!is_none(heap) && counts.taken == 1);
  void* const large = tarn_heap_allocate(heap, 5000000);
  CHECK(large != NULL && counts.taken == 2);
  counts.refuses = 1;
  CHECK(tarn_heap_allocate(heap, 5000000) == NULL && errno == ENOMEM);
  CHECK(tarn_heap_allocate(heap, 100) != NULL);
  tarn_free(large);
  CHECK(counts.given == 1);
  CHECK(tarn_heap_destroy(heap) == 0);
  CHECK(counts.given == counts.taken);
}

static void secret(void) {
  tarn_heap_options options = plain();
  options.flags = TARN_HEAP_SECRET;
  const tarn_heap heap = tarn_heap_create(&options);
  if (is_none(heap)) {
    CHECK(errno == EPERM);
    fprintf(stderr, "apart.c: no memory may be locked here; secrets are not tested\n");
    return;
  }
  unsigned char* const kept = tarn_heap_allocate(heap, 200);
  unsigned char* const p = tarn_heap_allocate(heap, 200);
  CHECK(kept != NULL && p != NULL);
  memset(p, 7, 200);
  memset(kept, 8, 200);
  tarn_free(p);
  CHECK(is_zero(p + sizeof(void*), 200 - sizeof(void*)));
  CHECK(kept[199] == 8);
  CHECK(tarn_heap_destroy(heap) == 0);
  options.flags = 1u << 30;
  CHECK(is_none(tarn_heap_create(&options)) && errno == EINVAL);
}

static void frozen(unsigned flags) {
  tarn_heap_options options = plain();
  options.flags = flags;
  const tarn_heap heap = tarn_heap_create(&options);
  unsigned char* p = NULL;
  for (int i = 0; i < 1000; ++i) {
    p = tarn_heap_allocate(heap, 100);
    CHECK(p != NULL);
    memset(p, 9, 100);
  }
  CHECK(tarn_heap_freeze(heap) == 0);
  CHECK(p[50] == 9);
  CHECK(tarn_heap_allocate(heap, 100) == NULL && errno == EPERM);
  CHECK(tarn_heap_clear(heap) == -1 && errno == EPERM);
  CHECK(tarn_heap_thaw(heap) == 0);
  p[50] = 10;
  tarn_free(p);
  CHECK(tarn_heap_allocate(heap, 100) != NULL);
  CHECK(tarn_heap_freeze(heap) == 0);
  CHECK(tarn_heap_destroy(heap) == 0);
  CHECK(tarn_heap_freeze(tarn_heap_main()) == -1 && errno == EINVAL);
}

int main(void) {
  in_a_region();
  from_a_source();
  secret();
  frozen(0);
  frozen(TARN_HEAP_SEPARATE);
  puts("ok");
  return 0;
}
