/* heap.c: tarn/heap/heap_source.h from C.
 *
 * SPDX-License-Identifier: MIT */
#include "tarn/heap/heap_source.h"

#include <errno.h>
#include <string.h>

#include "../check.h"
#include "tarn/pool/pool.h"

int main(void) {
  const tarn_heap_options limits = TARN_HEAP_OPTIONS(.ceiling_bytes = 1 << 20);
  const tarn_heap none = {NULL, 0};
  tarn_heap heap = tarn_heap_create(&limits);
  tarn_source source = tarn_heap_source(&heap);
  tarn_pool_options options = TARN_POOL_OPTIONS(.block_bytes = 100, .source = &source);
  tarn_heap_stats stats = TARN_HEAP_STATS();
  tarn_pool pool;
  tarn_chunk chunk;
  size_t blocks = 0;
  void* p;

  CHECK(tarn_pool_init(&pool, &options) == 0);
  while ((p = tarn_pool_allocate(&pool)) != NULL) {
    memset(p, 1, 100);
    ++blocks;
  }
  CHECK(blocks > 5000 && blocks < (1 << 20) / 100);
  tarn_pool_destroy(&pool);
  CHECK(tarn_heap_get_stats(heap, &stats) == 0 && stats.live_blocks == 0);
  errno = 0;
  chunk = source.acquire(source.context, 2 << 20, 16);
  CHECK(chunk.data == NULL && chunk.bytes == 0 && errno == ENOMEM);
  chunk = source.acquire(source.context, 1000, 4096);
  CHECK(chunk.data != NULL && chunk.bytes >= 1000 && (uintptr_t)chunk.data % 4096 == 0);
  source.release(source.context, chunk);
  tarn_heap_destroy(heap);

  source = tarn_heap_source(&none);
  CHECK(source.acquire(source.context, 16, 16).data == NULL);
  source = tarn_heap_source(NULL);
  CHECK(source.acquire(source.context, 16, 16).data == NULL);
  return 0;
}
