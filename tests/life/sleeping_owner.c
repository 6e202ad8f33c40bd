/* sleeping_owner trim|take: a thread makes blocks and sleeps; another one frees all. Their memory
 * goes back when the thread that is awake trims, and blocks of another size have it before the
 * process grows.
 *
 * SPDX-License-Identifier: MIT */
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>

#include "peak.h"

static const size_t made_bytes = 256 * MEBIBYTE;
static const size_t resident_most = 30 * MEBIBYTE;

static sem_t made;
static sem_t done;
static peak_block* blocks;

static void* make_and_sleep(void* argument) {
  blocks = peak_fill(made_bytes, 208, 1);
  sem_post(&made);
  while (sem_wait(&done) != 0) {
  }
  free(peak_take(200)); /* What it had is gone, and it goes on. */
  return argument;
}

static void expect_to_trim(void) {
  (void)malloc_trim(0);
  dprintf(STDERR_FILENO, "%zu KiB are resident after a trim\n", resident_bytes() / 1024);
  CHECK_RESIDENT_BELOW(resident_most);
}

static void expect_to_take(void) {
  const size_t peak = peak_bytes();
  peak_free(peak_fill(made_bytes / 2, 400000, 1));
  dprintf(STDERR_FILENO, "at most %zu KiB were resident, then %zu KiB\n", peak / 1024,
          peak_bytes() / 1024);
  CHECK(peak_bytes() <= peak / 100 * 105);
}

int main(int count, char** words) {
  CHECK(count == 2);
  begin(120);
  pthread_t thread;
  CHECK(sem_init(&made, 0, 0) == 0 && sem_init(&done, 0, 0) == 0);
  CHECK(pthread_create(&thread, NULL, make_and_sleep, NULL) == 0);
  while (sem_wait(&made) != 0) {
  }
  peak_free(blocks);
  if (strcmp(words[1], "trim") == 0) {
    expect_to_trim();
  } else {
    expect_to_take();
  }
  sem_post(&done);
  CHECK(pthread_join(thread, NULL) == 0);
  return 0;
}
