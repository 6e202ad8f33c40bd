/* signal_timer: a signal that comes at a steady pace, for programs about being interrupted.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TESTS_LIFE_SIGNAL_TIMER_H
#define TARN_TESTS_LIFE_SIGNAL_TIMER_H

#include <signal.h>
#include <time.h>

#include "check.h"

typedef struct signal_timer {
  int signal_number;
  int flags; /* Of sigaction: with SA_RESTART system calls do not fail with EINTR. */
  long period_ns;
  void (*handle)(int signal_number);
} signal_timer;

/* Some thread that does not block it takes the signal, the main thread rather than others. */
static inline timer_t signal_timer_start(signal_timer wanted) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = wanted.handle;
  action.sa_flags = wanted.flags;
  CHECK(sigaction(wanted.signal_number, &action, NULL) == 0);
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = wanted.signal_number;
  timer_t timer;
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  const struct timespec pace = {0, wanted.period_ns};
  const struct itimerspec period = {.it_interval = pace, .it_value = pace};
  CHECK(timer_settime(timer, 0, &period, NULL) == 0);
  return timer;
}

/* For the calling thread and the threads that it starts; `how` as in pthread_sigmask. */
static inline void signal_mask(int how, int signal_number) {
  sigset_t set;
  CHECK(sigemptyset(&set) == 0 && sigaddset(&set, signal_number) == 0);
  CHECK(pthread_sigmask(how, &set, NULL) == 0);
}

#endif
