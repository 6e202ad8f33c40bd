/* main_ended: the first thread has ended, and with it what the kernel says of the process as a
 * whole; the others go on, and search for unreachable blocks. Also while a thread blocks the
 * signal that would stop it.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#include "check.h"
#include "tarn/diagnose/unreachable.h"
#include "tarn/tarn.h"

enum { lost = 20, kept = 30 };

static pthread_t first;
static void* volatile keeps[kept];
static atomic_int blocks_signals;
static atomic_int over;

static __attribute__((noinline)) void lose(tarn_heap heap) {
  for (int i = 0; i < lost; ++i) memset(tarn_heap_allocate(heap, 200), 1, 200);
}

static __attribute__((noinline)) void clear_frames(void) {
  volatile char frames[8192];
  for (size_t i = 0; i < sizeof frames; ++i) frames[i] = 0;
}

static void search(tarn_heap heap, uint64_t missed) {
  const tarn_unreachable_options options =
      TARN_UNREACHABLE_OPTIONS(.heaps = &heap, .heap_count = 1);
  tarn_unreachable_result result = TARN_UNREACHABLE_RESULT();
  CHECK(tarn_find_unreachable(&options, NULL, NULL, &result) == 0);
  CHECK(result.threads_missed == missed);
  CHECK(result.blocks > 0 && result.blocks <= lost);
}

static void* block_signals(void* unused) {
  sigset_t all;
  sigfillset(&all);
  CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
  atomic_store(&blocks_signals, 1);
  while (atomic_load(&over) == 0) sched_yield();
  return unused;
}

static void* go_on(void* unused) {
  CHECK(pthread_join(first, NULL) == 0);
  const tarn_heap_options checked = TARN_HEAP_OPTIONS(.mode = TARN_MODE_CHECKED);
  const tarn_heap heap = tarn_heap_create(&checked);
  for (int i = 0; i < kept; ++i) keeps[i] = tarn_heap_allocate(heap, 200);
  lose(heap);
  clear_frames();
  search(heap, 0);
  pthread_t deaf;
  CHECK(pthread_create(&deaf, NULL, block_signals, NULL) == 0);
  while (atomic_load(&blocks_signals) == 0) sched_yield();
  search(heap, 1);
  atomic_store(&over, 1);
  CHECK(pthread_join(deaf, NULL) == 0);
  _exit(0);
  return unused;
}

int main(void) {
  begin(60);
  first = pthread_self();
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, go_on, NULL) == 0);
  pthread_exit(NULL);
}
