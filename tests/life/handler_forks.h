/* handler_forks: a timer signal whose handler forks, FORKS times, wherever it finds the program.
 * Each child goes on where its parent was, with is_child set.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TESTS_LIFE_HANDLER_FORKS_H
#define TARN_TESTS_LIFE_HANDLER_FORKS_H

#include <unistd.h>

#include "signal_timer.h"

enum { FORKS = 300 };

static volatile sig_atomic_t fork_count;
static volatile sig_atomic_t is_child;
static pid_t children[FORKS];

static inline void fork_once(int signal_number) {
  (void)signal_number;
  const int saved = errno;
  if (!is_child && fork_count < FORKS) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      is_child = 1;
      alarm(20);
    } else {
      children[fork_count] = child;
      fork_count = fork_count + 1;
    }
  }
  errno = saved;
}

static inline timer_t handler_forks_start(void) {
  return signal_timer_start((signal_timer){SIGUSR1, SA_RESTART, 1500000, fork_once});
}

/* In the parent, when all forks have been made: every child exited with this status. */
static inline void handler_forks_finish(timer_t timer, int exit_status) {
  CHECK(timer_delete(timer) == 0);
  for (int i = 0; i < FORKS; ++i) {
    CHECK(status_of_child(children[i]) == exit_status << 8);
  }
}

#endif
