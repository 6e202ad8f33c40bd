/* rows: single figures about memory that is given back, or not taken; each prints its own.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "task.h"

enum { GIBIBYTE_BITS = 30, SERVED_BITS_MAX = 47, ZEROS_GIBIBYTES = 2 };
enum { ENDED_THREADS = 64, KEPT_OF = 20, ENDED_BYTES = 200 };
enum { PAIRS = 100000, PAIR_BYTES = 200000, PAIR_THREADS = 2 };
enum { RING = 4096, BATCH = 64, HANDED = 4000000, HANDED_BYTES = 64, HANDED_MIXED = 511 };

/* What is resident of a program that has done next to nothing. */
static void row_resident(task* asked) {
  (void)asked;
  for (int i = 0; i < 100; ++i) block_take(100);
  printf("{\"kib\": %ld}\n", resident_kib());
}

/* Ten times a GiB of zeros, of which a byte is used. */
static void row_sparse(task* asked) {
  (void)asked;
  const double start = seconds_now();
  for (int i = 0; i < 10; ++i) {
    char* zeros = calloc(1, (size_t)1 << GIBIBYTE_BITS);
    if (zeros == NULL) exit(NO_MEMORY);
    zeros[(size_t)1 << (GIBIBYTE_BITS - 1)] = 1;
    free(zeros);
  }
  printf("{\"seconds\": %.4f, \"kib\": %ld}\n", seconds_now() - start, peak_kib());
}

/* The largest power of two that is not refused. Nothing is written. */
static void row_served(task* asked) {
  (void)asked;
  int served = 0;
  for (int bits = GIBIBYTE_BITS; bits <= SERVED_BITS_MAX; ++bits) {
    void* block = malloc((size_t)1 << bits);
    if (block != NULL) served = bits;
    free(block);
  }
  printf("{\"gib\": %ld}\n", served == 0 ? 0L : 1L << (served - GIBIBYTE_BITS));
}

/* 2 GiB of zeros after a block of as much was freed; a block that doubles from 1 MiB to 1 GiB. */
static void row_growth(task* asked) {
  (void)asked;
  const double start = seconds_now();
  const size_t zeros_bytes = (size_t)ZEROS_GIBIBYTES << GIBIBYTE_BITS;
  void* volatile zeros = malloc(zeros_bytes);
  free(zeros);
  zeros = calloc(1, zeros_bytes);
  free(zeros);
  char* grown = (char*)block_take(MEBIBYTE);
  for (size_t bytes = 2 * MEBIBYTE; bytes <= (size_t)1 << GIBIBYTE_BITS; bytes *= 2) {
    grown = realloc(grown, bytes);
    if (grown == NULL) exit(NO_MEMORY);
  }
  free(grown);
  printf("{\"seconds\": %.4f, \"kib\": %ld}\n", seconds_now() - start, peak_kib());
}

static size_t ended_count; /* Blocks of each thread. */
static pthread_barrier_t all_have_taken;

/* Every twentieth block stays: no page of the thread is wholly free. */
static void* leave_holes(void* argument) {
  (void)argument;
  list freed = {0};
  for (size_t i = 0; i < ended_count; ++i) {
    block* taken = block_take(ENDED_BYTES);
    if (i % KEPT_OF == 0) continue;
    taken->next = freed.first;
    freed.first = taken;
  }
  pthread_barrier_wait(&all_have_taken); /* Else later threads would use what earlier ones left. */
  list_free(&freed);
  return NULL;
}

/* Threads end and leave holes; then the main thread takes as much as the holes have room for. */
static void row_holes(task* asked) {
  pthread_t threads[ENDED_THREADS];
  pthread_barrier_init(&all_have_taken, NULL, ENDED_THREADS);
  ended_count = asked->bytes / ENDED_THREADS / ENDED_BYTES;
  for (int i = 0; i < ENDED_THREADS; ++i) thread_start(leave_holes, NULL, &threads[i]);
  for (int i = 0; i < ENDED_THREADS; ++i) pthread_join(threads[i], NULL);
  const long ended = peak_kib();
  list again = {0};
  list_fill(&again, asked->bytes / KEPT_OF * (KEPT_OF - 1), (sizes){ENDED_BYTES, ENDED_BYTES},
            &asked->random);
  printf("{\"ended_kib\": %ld, \"kib\": %ld}\n", ended, peak_kib());
  list_free(&again);
}

static void* large_pairs(void* argument) {
  (void)argument;
  for (int i = 0; i < PAIRS; ++i) {
    char* volatile taken = malloc(PAIR_BYTES);
    *taken = 1;
    free(taken);
  }
  return NULL;
}

/* Nanoseconds of a malloc and a free of 200,000 bytes, by one thread and by two at once. */
static void row_pairs(task* asked) {
  (void)asked;
  double ns[PAIR_THREADS];
  for (int count = 1; count <= PAIR_THREADS; ++count) {
    pthread_t threads[PAIR_THREADS];
    const double start = seconds_now();
    for (int i = 0; i < count; ++i) thread_start(large_pairs, NULL, &threads[i]);
    for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
    ns[count - 1] = (seconds_now() - start) * 1e9 / PAIRS;
  }
  printf("{\"ns\": %.1f, \"two_ns\": %.1f}\n", ns[0], ns[1]);
}

static char* ring[RING];
static _Alignas(64) atomic_int made; /* Stored with release after a batch; the consumer acquires. */
static _Alignas(64) atomic_int used; /* The other way round. */

/* Blocks of sizes from HANDED_BYTES to this. */
static void* produce(void* size_most) {
  const size_t sizes = *(const size_t*)size_most - HANDED_BYTES + 1;
  unsigned random = 1;
  for (int i = 0; i < HANDED;) {
    while (i - atomic_load_explicit(&used, memory_order_acquire) > RING - BATCH) sched_yield();
    for (int k = 0; k < BATCH; ++k, ++i) {
      random = random * 1664525u + 1013904223u;
      ring[i % RING] = malloc(HANDED_BYTES + (random >> 16) % sizes);
      ring[i % RING][0] = 1;
    }
    atomic_store_explicit(&made, i, memory_order_release);
  }
  return NULL;
}

/* Nanoseconds a block that one thread makes and another one frees. */
static double hand_over(size_t most) {
  pthread_t producer;
  atomic_store(&made, 0);
  atomic_store(&used, 0);
  const double start = seconds_now();
  thread_start(produce, &most, &producer);
  for (int i = 0; i < HANDED;) {
    const int until = atomic_load_explicit(&made, memory_order_acquire);
    if (until == i) sched_yield();
    for (; i < until; ++i) free(ring[i % RING]);
    atomic_store_explicit(&used, i, memory_order_release);
  }
  pthread_join(producer, NULL);
  return (seconds_now() - start) * 1e9 / HANDED;
}

static void row_handover(task* asked) {
  (void)asked;
  const double same = hand_over(HANDED_BYTES);
  printf("{\"ns\": %.1f, \"mixed_ns\": %.1f}\n", same, hand_over(HANDED_MIXED));
}

const choice rows[] = {
    {"resident", row_resident}, {"sparse", row_sparse}, {"served", row_served},
    {"growth", row_growth},     {"holes", row_holes},   {"pairs", row_pairs},
    {"handover", row_handover}, {NULL, NULL},
};
