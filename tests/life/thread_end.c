/* thread_end: threads end while others free, resize and read the blocks that they leave behind.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "check.h"
#include "family.h"
#include "load.h"
#include "pattern.h"

enum { SLOTS = 8192, MAKERS_AT_ONCE = 4, TAKERS = 2, BLOCKS_EACH = 300 };

static _Atomic(load_block*) slots[SLOTS];
static atomic_size_t put_count;
static atomic_size_t taken_count;
static atomic_bool stopping;

static void put(load_block* block) {
  for (size_t at = atomic_fetch_add(&put_count, 1);; ++at) {
    load_block* empty = NULL;
    if (atomic_compare_exchange_weak(&slots[at % SLOTS], &empty, block)) return;
    if (at % 64 == 0) sched_yield();
  }
}

static void* make(void* argument) {
  uint64_t state = (uint64_t)(uintptr_t)argument * 7919 + 1;
  for (int i = 0; i < BLOCKS_EACH; ++i) put(load_take(&state));
  return NULL;
}

static void* take(void* argument) {
  size_t turn = (size_t)(uintptr_t)argument;
  for (bool is_last = false, idle = false; !(idle && is_last);) {
    /* Read before the scan: what was put before the stop is then seen by it. */
    is_last = atomic_load(&stopping);
    idle = true;
    for (size_t at = 0; at < SLOTS; ++at) {
      load_block* block = atomic_exchange(&slots[(at + turn) % SLOTS], NULL);
      if (block == NULL) continue;
      idle = false;
      load_check(block);
      if (++turn % 5 == 0) {
        block = FAMILY(realloc)(block, block->size * 2);
        CHECK(block != NULL);
        load_check(block);
      }
      FAMILY(free)(block);
      atomic_fetch_add(&taken_count, 1);
    }
    if (idle) sched_yield();
  }
  return NULL;
}

int main(void) {
  begin(150);
  const size_t rounds = SCALED(1000);
  const size_t before = resident_bytes();
  pthread_t takers[TAKERS];
  for (size_t i = 0; i < TAKERS; ++i) {
    CHECK(pthread_create(&takers[i], NULL, take, (void*)(uintptr_t)(i * SLOTS / TAKERS)) == 0);
  }
  for (size_t round = 0; round < rounds; ++round) {
    pthread_t makers[MAKERS_AT_ONCE];
    for (size_t i = 0; i < MAKERS_AT_ONCE; ++i) {
      void* seed = (void*)(uintptr_t)(round * MAKERS_AT_ONCE + i + 1);
      CHECK(pthread_create(&makers[i], NULL, make, seed) == 0);
    }
    for (size_t i = 0; i < MAKERS_AT_ONCE; ++i) CHECK(pthread_join(makers[i], NULL) == 0);
  }
  atomic_store(&stopping, true);
  for (size_t i = 0; i < TAKERS; ++i) CHECK(pthread_join(takers[i], NULL) == 0);
  CHECK(atomic_load(&taken_count) == rounds * MAKERS_AT_ONCE * BLOCKS_EACH);
  CHECK_RESIDENT_BELOW(before + 256 * MEBIBYTE);
  return 0;
}
