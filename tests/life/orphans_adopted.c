/* orphans_adopted: many threads end and leave pages that are nearly free. Who allocates afterwards
 * uses these, whichever thread had them.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "check.h"
#include "family.h"

enum { THREADS = 64, BLOCKS = 20000, BLOCK_BYTES = 200, KEPT_PART = 20 };

static void* kept[THREADS][BLOCKS / KEPT_PART];
static pthread_barrier_t all_have;

static void* work(void* argument) {
  void** const own = argument;
  void** const blocks = FAMILY(malloc)(BLOCKS * sizeof *blocks);
  CHECK(blocks != NULL);
  for (size_t i = 0; i < BLOCKS; ++i) {
    blocks[i] = FAMILY(malloc)(BLOCK_BYTES);
    CHECK(blocks[i] != NULL);
    memset(blocks[i], 1, BLOCK_BYTES);
  }
  pthread_barrier_wait(&all_have);
  for (size_t i = 0; i < BLOCKS; ++i) {
    if (i % KEPT_PART == 0) {
      own[i / KEPT_PART] = blocks[i];
    } else {
      FAMILY(free)(blocks[i]);
    }
  }
  FAMILY(free)(blocks);
  return NULL;
}

int main(void) {
  begin(100);
  pthread_t threads[THREADS];
  CHECK(pthread_barrier_init(&all_have, NULL, THREADS) == 0);
  for (size_t i = 0; i < THREADS; ++i) {
    CHECK(pthread_create(&threads[i], NULL, work, kept[i]) == 0);
  }
  for (size_t i = 0; i < THREADS; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  const size_t count = (size_t)THREADS * (BLOCKS - BLOCKS / KEPT_PART);
  void** const blocks = FAMILY(malloc)(count * sizeof *blocks);
  CHECK(blocks != NULL);
  memset(blocks, 0, count * sizeof *blocks);
  const size_t before = resident_bytes();
  for (size_t i = 0; i < count; ++i) {
    blocks[i] = FAMILY(malloc)(BLOCK_BYTES);
    CHECK(blocks[i] != NULL);
    memset(blocks[i], 2, BLOCK_BYTES);
  }
  CHECK_RESIDENT_BELOW(before + before / 20);
  return 0;
}
