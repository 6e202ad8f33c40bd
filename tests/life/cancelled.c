/* cancelled: threads that somebody has cancelled already, and that come to what opens and writes
 * files: a search for unreachable blocks, its report, what is said of misuse. None of it is the
 * place at which they end: others would stand still for ever, or a crime stay unnamed.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

#include "check.h"
#include "tarn/diagnose/unreachable.h"
#include "tarn/tarn.h"

static atomic_int is_cancelled;
static atomic_int other_ticks;
static atomic_int over;
static atomic_int came_through;

static void* tick(void* unused) {
  while (atomic_load(&over) == 0) {
    atomic_fetch_add(&other_ticks, 1);
    usleep(100);
  }
  return unused;
}

static void wait_until_cancelled(void) {
  while (atomic_load(&is_cancelled) == 0) sched_yield();
}

static void* search(void* unused) {
  wait_until_cancelled();
  tarn_unreachable_result result = TARN_UNREACHABLE_RESULT();
  CHECK(tarn_find_unreachable(NULL, NULL, NULL, &result) == 0);
  CHECK(result.threads_stopped + result.threads_missed >= 2);
  atomic_store(&came_through, 1);
  return unused;
}

static void* print(void* file) {
  wait_until_cancelled();
  CHECK(tarn_print_unreachable(*(int*)file, NULL, NULL) == 0);
  atomic_store(&came_through, 1);
  return NULL;
}

static void* offend(void* checked) {
  wait_until_cancelled();
  tarn_free(checked);
  tarn_free(checked);
  return NULL;
}

static void run_cancelled(void* (*function)(void*), void* argument) {
  atomic_store(&is_cancelled, 0);
  atomic_store(&came_through, 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, function, argument) == 0);
  CHECK(pthread_cancel(thread) == 0);
  atomic_store(&is_cancelled, 1);
  CHECK(pthread_join(thread, NULL) == 0);
}

/* A lost block of known site. */
static void lose(tarn_heap checked) { memset(tarn_heap_allocate(checked, 4321), 1, 4321); }

static void misuse_is_named(tarn_heap checked) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    run_cancelled(offend, tarn_heap_allocate(checked, 10));
    _exit(0);
  }
  close(ends[1]);
  char said[2000] = "";
  size_t length = 0;
  for (ssize_t got; (got = read(ends[0], said + length, sizeof said - 1 - length)) > 0;) {
    length += (size_t)got;
  }
  close(ends[0]);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  CHECK(strstr(said, "tarn: double free") != NULL);
}

int main(void) {
  begin(60);
  const tarn_heap_options options = TARN_HEAP_OPTIONS(.mode = TARN_MODE_CHECKED);
  const tarn_heap checked = tarn_heap_create(&options);
  misuse_is_named(checked);
  pthread_t other;
  CHECK(pthread_create(&other, NULL, tick, NULL) == 0);
  run_cancelled(search, NULL);
  CHECK(atomic_load(&came_through) == 1);
  const int ticks = atomic_load(&other_ticks);
  while (atomic_load(&other_ticks) == ticks) usleep(100);
  lose(checked);
  int ends[2];
  CHECK(pipe(ends) == 0);
  run_cancelled(print, &ends[1]);
  CHECK(atomic_load(&came_through) == 1);
  close(ends[1]);
  close(ends[0]);
  atomic_store(&over, 1);
  CHECK(pthread_join(other, NULL) == 0);
  return 0;
}
