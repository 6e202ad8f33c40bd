/* fork_signal_short: a signal handler that forks hits threads that live for a moment: while they
 * start, in their first allocation, and while they end, before and after the library has let go of
 * them. The child finishes what was interrupted, and allocates on; so does the parent.
 *
 * SPDX-License-Identifier: MIT */
#include <sys/wait.h>

#include "load.h"
#include "signal_timer.h"

enum { FORKS = 500, STARTERS = 2, IN_FLIGHT = 3 };

/* Exit status of a child whose thread was hit while it ended, so that main sees that some were. */
enum { ENDED_LATE = 3 };

static atomic_int forks;
static atomic_int in_flight;
static atomic_bool is_child;
static atomic_bool was_hit_at_end;
static pthread_key_t first_key;
static pthread_key_t last_key;

static void handle(int signal_number) {
  (void)signal_number;
  const int saved = errno;
  if (!atomic_load(&is_child) && atomic_load(&in_flight) < IN_FLIGHT) {
    atomic_fetch_add(&in_flight, 1);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      atomic_store(&is_child, true);
      alarm(30);
    } else {
      atomic_fetch_add(&forks, 1);
    }
  }
  errno = saved;
}

/* What the child does once the interrupted call is done. */
static void go_on_as_child(void) {
  static load background;
  load_churn(5, 300, NULL);
  load_start(&background, 1);
  load_churn(6, 300, background.shared);
  load_stop(&background);
  const pid_t grandchild = fork();
  if (grandchild == 0) {
    load_churn(7, 100, NULL);
    _exit(0);
  }
  CHECK(status_of_child(grandchild) == 0);
  _exit(atomic_load(&was_hit_at_end) ? ENDED_LATE : 0);
}

static void check_for_child(void) {
  if (atomic_load(&is_child)) go_on_as_child();
}

/* Runs at the thread's end, once before the library's own destructor and once after it. */
static void end(void* argument) {
  load_block* block = argument;
  uint64_t state = block->size;
  const bool was_child = atomic_load(&is_child);
  load_give(load_take(&state));
  load_give(block);
  if (atomic_load(&is_child)) {
    if (!was_child) atomic_store(&was_hit_at_end, true);
    go_on_as_child();
  }
}

static void* live_shortly(void* argument) {
  uint64_t state = (uint64_t)(uintptr_t)argument * 2654435761u + 1;
  signal_mask(SIG_UNBLOCK, SIGUSR1);
  load_block* first = load_take(&state);
  check_for_child();
  load_block* second = load_take(&state);
  check_for_child();
  CHECK(pthread_setspecific(first_key, first) == 0);
  CHECK(pthread_setspecific(last_key, second) == 0);
  return NULL;
}

static void* keep_starting(void* argument) {
  uintptr_t seed = (uintptr_t)argument;
  while (atomic_load(&forks) < FORKS) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, live_shortly, (void*)(seed += STARTERS)) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  return NULL;
}

int main(void) {
  begin(120);
  CHECK(pthread_key_create(&first_key, end) == 0);
  free(malloc(100)); /* From here on the library has its key, between the two. */
  CHECK(pthread_key_create(&last_key, end) == 0);
  signal_mask(SIG_BLOCK, SIGUSR1);
  pthread_t starters[STARTERS];
  for (uintptr_t i = 0; i < STARTERS; ++i) {
    CHECK(pthread_create(&starters[i], NULL, keep_starting, (void*)(i + 1)) == 0);
  }
  const timer_t timer = signal_timer_start((signal_timer){SIGUSR1, SA_RESTART, 700000, handle});
  int ended_late = 0;
  for (int reaped = 0; reaped < FORKS; ++reaped) {
    int status = -1;
    while (waitpid(-1, &status, 0) < 0) {
      CHECK(errno == ECHILD); /* None has been forked yet. */
      usleep(100);
    }
    CHECK(status == 0 || status == ENDED_LATE << 8);
    if (status != 0) ++ended_late;
    atomic_fetch_sub(&in_flight, 1);
    load_churn((uint64_t)reaped + 1, 50, NULL);
  }
  CHECK(timer_delete(timer) == 0);
  for (int i = 0; i < STARTERS; ++i) CHECK(pthread_join(starters[i], NULL) == 0);
  CHECK(ended_late > 0);
  return 0;
}
