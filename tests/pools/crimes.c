/* crimes: uses a pool's blocks wrongly, each run in one way, for tools to find.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "tarn/arena/shared_arena.h"
#include "tarn/pool/pool.h"

static tarn_pool pool;

static void free_twice(void) {
  void* const p = tarn_pool_allocate(&pool);
  void* const q = tarn_pool_allocate(&pool);
  tarn_pool_deallocate(&pool, p);
  tarn_pool_deallocate(&pool, p);
  tarn_pool_deallocate(&pool, q);
}

static void write_behind(void) {
  volatile char* const p = tarn_pool_allocate(&pool);
  p[41] = 1;
}

static void use_after_free(void) {
  volatile char* const p = tarn_pool_allocate(&pool);
  void* const q = tarn_pool_allocate(&pool);
  tarn_pool_deallocate(&pool, (void*)p);
  p[5] = 1;
  tarn_pool_deallocate(&pool, q);
}

static void read_fresh(void) {
  const volatile char* const p = tarn_pool_allocate(&pool);
  if (p[3] == 7) puts("seven");
}

static void nothing(void) {
  for (int round = 0; round < 3; ++round) {
    char* blocks[1000];
    for (int i = 0; i < 1000; ++i) memset(blocks[i] = tarn_pool_allocate(&pool), i, 40);
    for (int i = 0; i < 1000; i += 2) tarn_pool_deallocate(&pool, blocks[i]);
    tarn_pool_trim(&pool);
    tarn_pool_clear(&pool);
  }
}

/* None: what a front leaves to its arena is still there, also for tools. */
static void outlive_front(void) {
  tarn_shared_arena shared;
  tarn_arena front;
  if (tarn_shared_arena_init(&shared, NULL) != 0) return;
  if (tarn_shared_arena_front(&shared, &front, 0) != 0) return;
  char* const text = tarn_arena_format(&front, "%d", 7);
  tarn_arena_destroy(&front);
  if (strcmp(text, "7") != 0) puts("it is gone");
  tarn_shared_arena_destroy(&shared);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*commit)(void);
  } crimes[] = {{"double-free", free_twice},   {"overrun", write_behind},
                {"nothing", nothing},          {"use-after-free", use_after_free},
                {"uninitialised", read_fresh}, {"outlive", outlive_front}};
  const tarn_pool_options options = TARN_POOL_OPTIONS(.name = "nodes", .block_bytes = 40);
  if (argc != 2 || tarn_pool_init(&pool, &options) != 0) return 2;
  for (size_t i = 0; i < sizeof crimes / sizeof crimes[0]; ++i) {
    if (strcmp(argv[1], crimes[i].name) != 0) continue;
    crimes[i].commit();
    tarn_pool_destroy(&pool);
    return 0;
  }
  return 2;
}
