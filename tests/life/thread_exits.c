/* thread_exits: every way for a thread to end. It returns, calls pthread_exit deep inside, is
 * cancelled while it waits, ends detached, or is C11's; its clean-up code frees and allocates.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <threads.h>

#include "check.h"
#include "family.h"
#include "pattern.h"

static atomic_int live_blocks;
static atomic_int waiting;
static atomic_int detached_done;

static void* take(size_t size) {
  void* block = FAMILY(malloc)(size);
  CHECK(block != NULL);
  memset(block, 0x3C, size);
  atomic_fetch_add(&live_blocks, 1);
  return block;
}

static void give(void* block) {
  void* passing = FAMILY(malloc)(700);
  CHECK(passing != NULL);
  FAMILY(free)(passing);
  FAMILY(free)(block);
  atomic_fetch_sub(&live_blocks, 1);
}

static void descend_and_exit(int depth) {
  pthread_cleanup_push(give, take((size_t)depth * 100 + 1));
  if (depth < 20)
    descend_and_exit(depth + 1);
  else if (opaque(1) == 1)
    pthread_exit(take(50));
  pthread_cleanup_pop(1);
}

static void* exit_deep_inside(void* unused) {
  descend_and_exit(0);
  return unused;
}

/* Cancellation inside a call that the thread sanitizer intercepts leaves it blind to that thread's
 * locks from then on; there only pthread_testcancel is left as the place. */
static void pause_briefly(void) {
#ifdef TARN_TEST_TSAN
  sched_yield();
#else
  usleep(100);
#endif
}

static void* wait_to_be_cancelled(void* unused) {
  pthread_cleanup_push(give, take(5000));
  pthread_cleanup_push(give, take(400000));
  atomic_fetch_add(&waiting, 1);
  for (;;) {
    void* block = FAMILY(malloc)(200);
    CHECK(block != NULL);
    FAMILY(free)(block);
    pthread_testcancel();
    pause_briefly();
  }
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
  return unused;
}

static void* run_detached(void* argument) {
  give(argument);
  give(take(300));
  atomic_fetch_add(&detached_done, 1);
  return NULL;
}

#ifdef TARN_TEST_TSAN
/* The thread sanitizer knows nothing of the standard's threads. */
static void run_standard_thread(void) {}
#else
static int run_standard(void* argument) {
  give(argument);
  give(take(123));
  thrd_exit(5);
}

static void run_standard_thread(void) {
  thrd_t standard;
  int code = 0;
  CHECK(thrd_create(&standard, run_standard, take(90)) == thrd_success);
  CHECK(thrd_join(standard, &code) == thrd_success && code == 5);
}
#endif

static void run_round(int round) {
  pthread_t exiting;
  pthread_t cancelled;
  pthread_t detached;
  CHECK(pthread_create(&exiting, NULL, exit_deep_inside, NULL) == 0);
  CHECK(pthread_create(&cancelled, NULL, wait_to_be_cancelled, NULL) == 0);
  CHECK(pthread_create(&detached, NULL, run_detached, take(900)) == 0);
  CHECK(pthread_detach(detached) == 0);
  run_standard_thread();
  void* result = NULL;
  CHECK(pthread_join(exiting, &result) == 0);
  give(result);
  while (atomic_load(&waiting) != round + 1) usleep(50);
  CHECK(pthread_cancel(cancelled) == 0);
  CHECK(pthread_join(cancelled, &result) == 0 && result == PTHREAD_CANCELED);
  while (atomic_load(&detached_done) != round + 1) usleep(50);
}

int main(void) {
  begin(120);
  const int rounds = SCALED(1500);
  size_t before = 0;
  for (int round = 0; round < rounds; ++round) {
    if (round == rounds / 10) before = resident_bytes();
    run_round(round);
  }
  CHECK(atomic_load(&live_blocks) == 0);
  CHECK_RESIDENT_BELOW(before + 24 * MEBIBYTE);
  return 0;
}
