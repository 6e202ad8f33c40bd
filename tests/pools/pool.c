/* pool.c: tarn/pool/pool.h from C: the same promises, with the essentials of each.
 *
 * SPDX-License-Identifier: MIT */
#include "tarn/pool/pool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../check.h"

struct node {
  struct node* next;
  double value;
  char flag;
};

static struct { size_t taken, given, allowed; } counts;

static tarn_chunk acquire(void* context, size_t bytes, size_t alignment) {
  CHECK(context == &counts);
  if (counts.taken == counts.allowed) return (tarn_chunk){0};
  ++counts.taken;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  return (tarn_chunk){aligned_alloc(alignment, rounded), bytes};
}

static void release(void* context, tarn_chunk chunk) {
  CHECK(context == &counts);
  ++counts.given;
  free(chunk.data);
}

static const tarn_source source = {
    .bytes = sizeof source, .acquire = acquire, .release = release, .context = &counts};

static int sum_up(void* block, void* context) {
  *(double*)context += ((struct node*)block)->value;
  return 0;
}

static int stop(void* block, void* context) {
  (void)block;
  return ++*(int*)context == 3 ? 42 : 0;
}

static void in_mode(int mode) {
  const tarn_pool_options options =
      TARN_POOL_OPTIONS(.name = "nodes", .mode = mode, .block_bytes = sizeof(struct node),
                        .source = &source, .chunk_blocks = 10);
  counts.taken = counts.given = 0;
  counts.allowed = SIZE_MAX;
  tarn_pool pool;
  CHECK(tarn_pool_init(&pool, &options) == 0);
  struct node* list = NULL;
  for (int i = 0; i < 100; ++i) {
    struct node* const node = tarn_pool_allocate(&pool);
    CHECK(node != NULL && (uintptr_t)node % _Alignof(struct node) == 0);
    *node = (struct node){list, i, 'x'};
    list = node;
  }
  CHECK(counts.taken == 10 && tarn_pool_check(&pool));
  double sum = 0;
  CHECK(tarn_pool_walk(&pool, sum_up, &sum) == 0 && sum == 4950);
  int visits = 0;
  CHECK(tarn_pool_walk(&pool, stop, &visits) == 42 && visits == 3);
  CHECK(tarn_pool_owns(&pool, &list->flag) && !tarn_pool_owns(&pool, &list));

  tarn_pool_stats stats = TARN_POOL_STATS();
  CHECK(tarn_pool_get_stats(&pool, &stats) == 0);
  CHECK(stats.live_blocks == 100 && stats.capacity_blocks == 100 && stats.chunks == 10);
  CHECK(stats.block_bytes == sizeof(struct node) && stats.stride_bytes >= stats.block_bytes);
  stats.bytes = 4;
  errno = 0;
  CHECK(tarn_pool_get_stats(&pool, &stats) == -1 && errno == EINVAL);

  tarn_pool moved;
  tarn_pool_move(&moved, &pool);
  CHECK(tarn_pool_allocate(&pool) == NULL && tarn_pool_check(&moved));
  while (list != NULL) {
    struct node* const next = list->next;
    tarn_pool_deallocate(&moved, list);
    list = next;
  }
  tarn_pool_deallocate(&moved, NULL);
  CHECK(counts.given == 9);
  CHECK(tarn_pool_trim(&moved) != 0 && counts.given == 10);
  CHECK(tarn_pool_reserve(&moved, 25) == 0 && counts.taken == 13);
  counts.allowed = 13;
  errno = 0;
  CHECK(tarn_pool_reserve(&moved, 31) == -1 && errno == ENOMEM);
  for (int i = 0; i < 30; ++i) CHECK(tarn_pool_allocate(&moved) != NULL);
  errno = 0;
  CHECK(tarn_pool_allocate(&moved) == NULL && errno == ENOMEM);
  tarn_pool_clear(&moved);
  CHECK(tarn_pool_check(&moved));
  tarn_pool_destroy(&moved);
  tarn_pool_destroy(&moved);
  CHECK(counts.given == counts.taken);
}

int main(void) {
  in_mode(TARN_MODE_FAST);
  in_mode(TARN_MODE_CHECKED);
  tarn_pool_options options = TARN_POOL_OPTIONS();
  tarn_pool pool;
  errno = 0;
  CHECK(tarn_pool_init(&pool, &options) == -1 && errno == EINVAL);
  CHECK(tarn_pool_allocate(&pool) == NULL);
  tarn_pool_destroy(&pool);
  options.block_bytes = 24; /* From malloc's heap. */
  CHECK(tarn_pool_init(&pool, &options) == 0 && tarn_pool_allocate(&pool) != NULL);
  tarn_pool_destroy(&pool);
  puts("pool.c: ok");
  return 0;
}
