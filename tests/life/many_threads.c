/* many_threads: 8,000 threads that are alive at the same time have all allocated, and end one after
 * the other. What the library does at the end of the last of them costs about as much as at the
 * end of the first: it must not look at all threads that ended before.
 *
 * Each thread reads its own processor time before and after the library's part of its end, in
 * destructors of keys made before and after the library's. Medians of a thousand threads are
 * compared, so that other work on the machine does not matter.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "check.h"
#include "family.h"
#include "pattern.h"

enum { THREADS = 8000, COMPARED = 1000, RATIO_MAX = 8 };

typedef struct participant {
  pthread_t thread;
  sem_t may_end;
  size_t size;
  void* block;
  long end_ns;
} participant;

static participant participants[THREADS];
static sem_t have_allocated;
static pthread_key_t first_key;
static pthread_key_t last_key;

static long processor_ns(void) {
  struct timespec now;
  CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
  return now.tv_sec * 1000000000 + now.tv_nsec;
}

static void end_begins(void* argument) {
  participant* self = argument;
  self->end_ns = -processor_ns();
}

static void end_is_done(void* argument) {
  participant* self = argument;
  self->end_ns += processor_ns();
}

static void* body(void* argument) {
  participant* self = argument;
  self->block = FAMILY(malloc)(self->size);
  CHECK(self->block != NULL);
  pattern_fill(self->block, self->size, (unsigned)self->size);
  CHECK(pthread_setspecific(first_key, self) == 0 && pthread_setspecific(last_key, self) == 0);
  CHECK(sem_post(&have_allocated) == 0);
  while (sem_wait(&self->may_end) != 0) CHECK(errno == EINTR);
  return NULL;
}

static void start(void) {
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, 65536) == 0);
  for (size_t i = 0; i < THREADS; ++i) {
    participant* next = &participants[i];
    next->size = 20 + i % 500;
    CHECK(sem_init(&next->may_end, 0, 0) == 0);
    const int error = pthread_create(&next->thread, &attributes, body, next);
    if (error == EAGAIN) skip("so many threads are not allowed here");
    CHECK(error == 0);
  }
  for (size_t i = 0; i < THREADS; ++i) {
    while (sem_wait(&have_allocated) != 0) CHECK(errno == EINTR);
  }
}

static int compare(const void* a, const void* b) {
  const long left = *(const long*)a;
  const long right = *(const long*)b;
  return (left > right) - (left < right);
}

/* The median of what COMPARED threads from the given one on took at their end. */
static long median_from(size_t first) {
  static long costs[COMPARED];
  for (size_t i = 0; i < COMPARED; ++i) costs[i] = participants[first + i].end_ns;
  qsort(costs, COMPARED, sizeof costs[0], compare);
  return costs[COMPARED / 2];
}

int main(void) {
  begin(120);
  CHECK(pthread_key_create(&first_key, end_begins) == 0);
  FAMILY(free)(FAMILY(malloc)(100)); /* From here on the library has its key, between the two. */
  CHECK(pthread_key_create(&last_key, end_is_done) == 0);
  CHECK(sem_init(&have_allocated, 0, 0) == 0);
  start();
  for (size_t i = 0; i < THREADS; ++i) {
    CHECK(sem_post(&participants[i].may_end) == 0);
    CHECK(pthread_join(participants[i].thread, NULL) == 0);
  }
  for (size_t i = 0; i < THREADS; ++i) {
    participant* ended = &participants[i];
    CHECK(pattern_holds(ended->block, ended->size, (unsigned)ended->size));
    FAMILY(free)(ended->block);
  }
  const long early = median_from(0);
  const long late = median_from(THREADS - COMPARED);
  dprintf(STDERR_FILENO, "ends of threads take %ld ns at first, %ld ns at last\n", early, late);
  CHECK(early > 0 && late < RATIO_MAX * early);
  return 0;
}
