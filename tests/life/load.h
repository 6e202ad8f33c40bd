/* load: a worker that allocates, checks and frees at random, for programs that need a background.
 *
 * Each worker keeps blocks of its own and passes some through shared slots, so that blocks are
 * freed by threads that did not allocate them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TESTS_LIFE_LOAD_H
#define TARN_TESTS_LIFE_LOAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "check.h"
#include "family.h"
#include "pattern.h"

enum { LOAD_SLOTS = 64, LOAD_SHARED_SLOTS = 256, LOAD_THREADS_MAX = 8 };

/* Every block of the load begins with its size; the rest holds the pattern. */
typedef struct load_block {
  size_t size;
} load_block;

typedef struct load {
  atomic_bool stopping;
  _Atomic(load_block*) shared[LOAD_SHARED_SLOTS];
  pthread_t threads[LOAD_THREADS_MAX];
  size_t thread_count;
} load;

static inline load_block* load_take(uint64_t* state) {
  const uint64_t kind = random_next(state) % 100;
  const size_t limit = kind < 85 ? 600 : kind < 99 ? 20000 : 400000;
  const size_t size = sizeof(load_block) + random_next(state) % limit;
  load_block* block = (load_block*)FAMILY(malloc)(size);
  CHECK(block != NULL);
  block->size = size;
  pattern_fill(block + 1, size - sizeof *block, (unsigned)size);
  return block;
}

static inline void load_check(const load_block* block) {
  CHECK(pattern_holds(block + 1, block->size - sizeof *block, (unsigned)block->size));
}

static inline void load_give(load_block* block) {
  if (block == NULL) return;
  load_check(block);
  FAMILY(free)(block);
}

/* `rounds` steps on the thread's own slots and on `shared`, which may be null. */
static inline void load_churn(uint64_t seed, size_t rounds, _Atomic(load_block*)* shared) {
  load_block* slots[LOAD_SLOTS] = {NULL};
  uint64_t state = seed * 2654435761u + 1;
  for (size_t round = 0; round < rounds; ++round) {
    const size_t index = random_next(&state) % LOAD_SLOTS;
    load_give(slots[index]);
    slots[index] = load_take(&state);
    if (shared != NULL && round % 4 == 0) {
      const size_t slot = random_next(&state) % LOAD_SHARED_SLOTS;
      slots[index] = atomic_exchange(&shared[slot], slots[index]);
    }
  }
  for (size_t i = 0; i < LOAD_SLOTS; ++i) load_give(slots[i]);
}

static inline void* load_worker(void* argument) {
  load* self = (load*)argument;
  uint64_t seed = (uint64_t)(uintptr_t)&seed;
  while (!atomic_load(&self->stopping)) load_churn(++seed, 500, self->shared);
  return NULL;
}

static inline void load_start(load* self, size_t thread_count) {
  memset(self, 0, sizeof *self);
  self->thread_count = thread_count;
  for (size_t i = 0; i < thread_count; ++i) {
    CHECK(pthread_create(&self->threads[i], NULL, load_worker, self) == 0);
  }
}

static inline void load_stop(load* self) {
  atomic_store(&self->stopping, true);
  for (size_t i = 0; i < self->thread_count; ++i) {
    CHECK(pthread_join(self->threads[i], NULL) == 0);
  }
  for (size_t i = 0; i < LOAD_SHARED_SLOTS; ++i) load_give(atomic_load(&self->shared[i]));
}

#endif
