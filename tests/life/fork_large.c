/* fork_large: hundreds of forks while threads take, resize and give large blocks, that is, while
 * one of them is inside the store. Each child goes on with the blocks that lie in the slots: it
 * verifies, resizes and frees them, takes others, and trims; its memory stays bounded.
 *
 * Then each child starts threads of its own and forks the next: what one fork cannot recover (a
 * block in a vanished thread's hands, a span half-cut) is lost, but it does not pile up.
 *
 * SPDX-License-Identifier: MIT */
#include <sched.h>

#include "load.h"

enum { SLOTS = 24, THREADS = 3, GENERATIONS = 20 };

/* From a large block to one that moves by page tables when it grows. */
static const size_t least_bytes = 130000;
static const size_t spread_bytes = 500000;

static _Atomic(load_block*) slots[SLOTS];
static atomic_bool stopping;
static atomic_size_t steps_done;
static atomic_size_t steps_allowed;
static pthread_t threads[THREADS];

static size_t random_size(uint64_t* state) {
  return least_bytes + random_next(state) % spread_bytes;
}

static void fill(load_block* block, size_t size) {
  block->size = size;
  pattern_fill(block + 1, size - sizeof *block, (unsigned)size);
}

static load_block* take(size_t size) {
  load_block* block = FAMILY(malloc)(size);
  CHECK(block != NULL);
  fill(block, size);
  return block;
}

static load_block* resize(load_block* block, size_t size) {
  load_check(block);
  const size_t before = block->size;
  const size_t kept = before < size ? before : size;
  block = FAMILY(realloc)(block, size);
  CHECK(block != NULL);
  CHECK(block->size == before);
  CHECK(pattern_holds_prefix(block + 1, kept - sizeof *block, before - sizeof *block,
                             (unsigned)before));
  fill(block, size);
  return block;
}

/* A block is in a slot only while it is whole: a fork finds it verified or not at all. */
static void step(uint64_t* state) {
  const size_t slot = random_next(state) % SLOTS;
  load_block* block = atomic_exchange(&slots[slot], NULL);
  if (block == NULL) {
    block = take(random_size(state));
  } else if (random_next(state) % 3 == 0) {
    load_give(block);
    block = NULL;
  } else {
    block = resize(block, random_size(state));
  }
  load_give(atomic_exchange(&slots[slot], block));
  atomic_fetch_add(&steps_done, 1);
}

static void* work(void* argument) {
  uint64_t state = (uint64_t)(uintptr_t)argument * 2654435761u + 1;
  while (!atomic_load(&stopping)) {
    if (atomic_load(&steps_done) < atomic_load(&steps_allowed)) {
      step(&state);
    } else {
      usleep(50);
    }
  }
  return NULL;
}

static void start_threads(uint64_t seed) {
  atomic_store(&stopping, false);
  for (size_t i = 0; i < THREADS; ++i) {
    void* argument = (void*)(uintptr_t)(seed * THREADS + i + 1);
    CHECK(pthread_create(&threads[i], NULL, work, argument) == 0);
  }
}

/* Returns while the threads still have most of their steps to go, each time at another point. */
static void let_threads_step(size_t turn) {
  const size_t before = atomic_load(&steps_done);
  atomic_store(&steps_allowed, before + 120);
  while (atomic_load(&steps_done) < before + turn % 40) sched_yield();
}

static void stop_threads(void) {
  atomic_store(&stopping, true);
  for (size_t i = 0; i < THREADS; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void give_all(void) {
  for (size_t slot = 0; slot < SLOTS; ++slot) load_give(atomic_exchange(&slots[slot], NULL));
}

static void use_what_was_inherited(uint64_t* state) {
  for (size_t slot = 0; slot < SLOTS; ++slot) {
    load_block* block = atomic_exchange(&slots[slot], NULL);
    if (block == NULL) continue;
    const bool grows = random_next(state) % 2 == 0;
    if (grows) block = resize(block, block->size * 2);
    load_give(block);
  }
}

static void child_body(uint64_t turn) {
  alarm(60);
  uint64_t state = turn * 7919 + 1;
  use_what_was_inherited(&state);
  for (int i = 0; i < 30; ++i) step(&state);
  load_churn(turn + 1, 100, NULL);
  if (turn % 3 == 0) (void)FAMILY(malloc_trim)(0);
  if (turn % 20 == 0) {
    const size_t mapped = mapped_bytes();
    for (int i = 0; i < 1000; ++i) step(&state);
    CHECK(TARN_TEST_DIVISOR > 1 || mapped_bytes() < mapped + 64 * MEBIBYTE);
    give_all();
    (void)FAMILY(malloc_trim)(0);
    void* large = FAMILY(malloc)(64 * MEBIBYTE);
    CHECK(large != NULL);
    FAMILY(free)(large);
  }
  give_all();
  _exit(0);
}

static void fork_many(size_t forks) {
  start_threads(1);
  for (size_t turn = 0; turn < forks; ++turn) {
    let_threads_step(turn);
    const pid_t child = fork();
    if (child == 0) child_body(turn);
    CHECK(status_of_child(child) == 0);
  }
  stop_threads();
}

/* The process of generation n is the child of generation n - 1, and has nobody's threads. */
static void live_and_fork(int generation, size_t resident_first, size_t mapped_first) {
  alarm(120);
  uint64_t state = (uint64_t)generation + 1;
  use_what_was_inherited(&state);
  (void)FAMILY(malloc_trim)(0);
  if (generation == 1) {
    resident_first = resident_bytes();
    mapped_first = mapped_bytes();
  } else if (generation > 1) {
    CHECK_RESIDENT_BELOW(resident_first + 48 * MEBIBYTE);
    CHECK(TARN_TEST_DIVISOR > 1 || mapped_bytes() < mapped_first + 512 * MEBIBYTE);
  }
  if (generation == GENERATIONS) _exit(0);
  start_threads((uint64_t)generation + 1);
  let_threads_step(40 + (size_t)generation);
  const pid_t child = fork();
  if (child == 0) live_and_fork(generation + 1, resident_first, mapped_first);
  stop_threads();
  CHECK(status_of_child(child) == 0);
  give_all();
  if (generation > 0) _exit(0);
}

int main(void) {
  begin(120);
  fork_many(SCALED(200));
  /* A sanitizer's own locks do not survive a fork among threads: no threads there in a child. */
  if (TARN_TEST_DIVISOR == 1) live_and_fork(0, 0, 0);
  return 0;
}
