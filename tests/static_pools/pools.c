/* The C form of static pools and heaps: allocation to exhaustion and back, walks, statistics,
 * misuse before anything changes, classes, spilling, locks, and the lock-free kind.
 *
 * SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "tarn/pool/static_pool.h"

static int lock_depth, locked_times;
static void take_lock(void* pool) {
  CHECK(pool != NULL && ++lock_depth == 1);
  ++locked_times;
}
#define DROP_LOCK(pool) ((void)(pool), --lock_depth)

TARN_STATIC_POOL(tiny_pool, 1, 3)
TARN_STATIC_POOL(node_pool, 24, 200)
TARN_STATIC_POOL_WITH(wide_pool, 40, 64, 64, take_lock, DROP_LOCK)
TARN_STATIC_POOL_LOCK_FREE(event_pool, 12, 130, 4)

#define SIZES(X) X(16, 3) X(48, 2) X(160, 1)
TARN_STATIC_HEAP(heap, SIZES)
TARN_STATIC_HEAP_WITH(spilling_heap, SIZES, 1, take_lock, DROP_LOCK)
TARN_STATIC_HEAP_LOCK_FREE(shared_heap, SIZES, 0)

static struct tiny_pool tiny;
static struct node_pool nodes;
static struct wide_pool wide;
static struct event_pool events;
static struct heap small;
static struct spilling_heap spilling;
static struct shared_heap shared;

static const char* last_kind;
static const void* last_pool;
static const void* last_p;
static int reports;
void tarn_static_misuse(const char* kind, const void* pool, const void* p) {
  CHECK(lock_depth == 0);
  last_kind = kind;
  last_pool = pool;
  last_p = p;
  ++reports;
}

#define CHECK_MISUSE(call, kind, pool, p)                                  \
  do {                                                                     \
    const int before = reports;                                            \
    call;                                                                  \
    CHECK(reports == before + 1 && strcmp(last_kind, kind) == 0);          \
    CHECK(last_pool == (const void*)(pool) && last_p == (const void*)(p)); \
  } while (0)

/* To exhaustion in the order of addresses, a hole in the middle, and back. */
#define TRY_POOL(name, pool, count, bytes, alignment)                                    \
  do {                                                                                   \
    void* blocks[count];                                                                 \
    CHECK(name##_check(&pool) && name##_next(&pool, NULL) == NULL);                      \
    for (size_t i = 0; i < (count); ++i) {                                               \
      blocks[i] = name##_allocate(&pool);                                                \
      CHECK(blocks[i] != NULL && (uintptr_t)blocks[i] % (alignment) == 0);               \
      CHECK(name##_index_of(&pool, blocks[i]) == i && name##_is_live(&pool, blocks[i])); \
      memset(blocks[i], 0xa5, bytes);                                                    \
      CHECK(name##_check(&pool) && name##_stats(&pool).peak == i + 1);                   \
    }                                                                                    \
    CHECK(name##_allocate(&pool) == NULL && name##_stats(&pool).failures == 1);          \
    CHECK(name##_stats(&pool).in_use == (count));                                        \
    void* const middle = blocks[(count) / 2];                                            \
    name##_deallocate(&pool, middle);                                                    \
    CHECK_MISUSE(name##_deallocate(&pool, middle), "double free", &pool, middle);        \
    CHECK(name##_check(&pool) && !name##_is_live(&pool, middle));                        \
    CHECK(name##_allocate(&pool) == middle);                                             \
    char* const after = (char*)blocks[(count)-1] + sizeof pool.data / (count);           \
    CHECK_MISUSE(name##_deallocate(&pool, after), "invalid free", &pool, after);         \
    CHECK_MISUSE(name##_deallocate(&pool, &pool), "invalid free", &pool, &pool);         \
    CHECK(!name##_owns(&pool, after) && name##_owns(&pool, after - 1));                  \
    size_t seen = 0;                                                                     \
    for (void* p = name##_next(&pool, NULL); p != NULL; p = name##_next(&pool, p)) {     \
      CHECK(p == blocks[seen++]);                                                        \
    }                                                                                    \
    CHECK(seen == (count));                                                              \
    for (size_t i = 0; i < (count); ++i) name##_deallocate(&pool, blocks[i]);            \
    name##_deallocate(&pool, NULL);                                                      \
    CHECK(name##_check(&pool) && name##_stats(&pool).in_use == 0);                       \
    CHECK(name##_stats(&pool).block_bytes == (bytes));                                   \
    CHECK(name##_stats(&pool).blocks == (count) && name##_stats(&pool).peak == (count)); \
  } while (0)

static void interior_frees(void) {
  char* const p = node_pool_allocate(&nodes);
  for (int i = 1; i < 24; ++i) {
    CHECK_MISUSE(node_pool_deallocate(&nodes, p + i), "invalid free", &nodes, p + i);
  }
  CHECK(node_pool_is_live(&nodes, p) && node_pool_check(&nodes));
  node_pool_deallocate(&nodes, p);
}

static void count_class(const tarn_static_stats* stats, void* context) {
  size_t* const sums = context;
  sums[0] += stats->blocks;
  sums[1] += stats->in_use;
  sums[2] += stats->failures;
}

static void heaps(void) {
  void* const a = heap_allocate(&small, 0, 1);
  void* const b = heap_allocate(&small, 17, 1);
  void* const c = heap_allocate(&small, 49, 16);
  CHECK(heap_block_bytes_of(&small, a) == 16 && heap_block_bytes_of(&small, b) == 48);
  CHECK(heap_block_bytes_of(&small, c) == 160 && heap_block_bytes_of(&small, &nodes) == 0);
  CHECK(heap_allocate(&small, 100, 1) == NULL); /* The class of 160 is exhausted. */
  CHECK(heap_allocate(&small, 161, 1) == NULL && heap_allocate(&small, SIZE_MAX, 1) == NULL);
  CHECK(heap_allocate(&small, 8, 4096) == NULL);
  size_t sums[3] = {0, 0, 0};
  heap_each_class(&small, count_class, sums);
  CHECK(sums[0] == 6 && sums[1] == 3 && sums[2] == 1);
  CHECK(heap_is_live(&small, b) && !heap_is_live(&small, (char*)b + 1) && heap_check(&small));
  heap_deallocate(&small, b);
  CHECK_MISUSE(heap_deallocate(&small, b), "double free", &small, b);
  CHECK_MISUSE(heap_deallocate(&small, (char*)a + 1), "invalid free", &small, (char*)a + 1);
  CHECK_MISUSE(heap_deallocate(&small, &nodes), "invalid free", &small, &nodes);
  heap_deallocate(&small, a);
  heap_deallocate(&small, c);
  heap_deallocate(&small, NULL);
  CHECK(heap_check(&small));

  void* blocks[6];
  for (int i = 0; i < 6; ++i) {
    blocks[i] = spilling_heap_allocate(&spilling, 10, 1);
    const size_t bytes = i < 3 ? 16 : i < 5 ? 48 : 160;
    CHECK(spilling_heap_block_bytes_of(&spilling, blocks[i]) == bytes);
  }
  CHECK(spilling_heap_allocate(&spilling, 10, 1) == NULL);
  for (int i = 0; i < 6; ++i) spilling_heap_deallocate(&spilling, blocks[i]);
  CHECK(spilling_heap_check(&spilling) && !spilling_heap_owns(&spilling, &small));

  void* const p = shared_heap_allocate(&shared, 40, 8);
  CHECK(shared_heap_is_live(&shared, p) && shared_heap_check(&shared));
  shared_heap_deallocate(&shared, p);
  CHECK_MISUSE(shared_heap_deallocate(&shared, p), "double free", &shared, p);
  CHECK(shared_heap_check(&shared));
}

int main(void) {
  TRY_POOL(tiny_pool, tiny, 3, 1, 1);
  TRY_POOL(node_pool, nodes, 200, 24, 8);
  TRY_POOL(wide_pool, wide, 64, 40, 64);
  TRY_POOL(event_pool, events, 130, 12, 4);
  interior_frees();
  heaps();
  CHECK(lock_depth == 0 && locked_times > 0);
  return 0;
}
