/* peaks: five ways to reach a peak and to free it.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <semaphore.h>

#include "task.h"

enum { THREADS = 16 };

/* A thread's part of a peak, and the state of its own random numbers. */
typedef struct part {
  list blocks;
  size_t bytes;
  uint64_t random;
  sem_t* full; /* Null: the thread ends when it has filled the list. */
} part;

static void peak_small(task* asked) {
  list blocks = {0};
  list_fill(&blocks, asked->bytes, small_sizes, &asked->random);
  list_free(&blocks);
}

static void peak_large(task* asked) {
  list blocks = {0};
  list_fill(&blocks, asked->bytes, large_sizes, &asked->random);
  list_free(&blocks);
}

static void sleep_for_good(void) {
  sem_t never;
  sem_init(&never, 0, 0);
  for (;;) sem_wait(&never);
}

static void* fill_part(void* argument) {
  part* own = argument;
  list_fill(&own->blocks, own->bytes, small_sizes, &own->random);
  if (own->full != NULL) {
    sem_post(own->full);
    sleep_for_good();
  }
  return NULL;
}

/* One thread makes the blocks and sleeps; this one frees them. */
static void peak_thread(task* asked) {
  static sem_t full;
  static part producer;
  pthread_t thread;
  sem_init(&full, 0, 0);
  producer = (part){.bytes = asked->bytes, .random = random_next(&asked->random), .full = &full};
  thread_start(fill_part, &producer, &thread);
  while (sem_wait(&full) != 0) {
  }
  list_free(&producer.blocks);
}

/* All threads are alive at once, each with its part, and have ended before anything is freed. */
static void peak_ended(task* asked) {
  static part parts[THREADS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    parts[i] = (part){.bytes = asked->bytes / THREADS, .random = random_next(&asked->random)};
    thread_start(fill_part, &parts[i], &threads[i]);
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; ++i) list_free(&parts[i].blocks);
}

/* Blocks of one size only; then of another, four times as large. */
static void peak_class(task* asked) {
  list blocks = {0};
  const size_t size = 64 + random_next(&asked->random) % 192;
  list_fill(&blocks, asked->bytes, (sizes){size, size}, &asked->random);
  list_free(&blocks);
  list_fill(&blocks, asked->bytes, (sizes){4 * size, 4 * size}, &asked->random);
  list_free(&blocks);
}

const choice peaks[] = {
    {"small", peak_small}, {"large", peak_large}, {"thread", peak_thread},
    {"ended", peak_ended}, {"class", peak_class}, {NULL, NULL},
};
