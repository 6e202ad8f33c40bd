/* signal_storm: a profiling signal every 100 microseconds, whose handler does not allocate, while
 * threads allocate and free; interrupted system calls and half-done operations leave no trace.
 *
 * SPDX-License-Identifier: MIT */
#include <signal.h>
#include <time.h>

#include "load.h"

static atomic_long signal_count;

static void handle(int signal_number) {
  (void)signal_number;
  const int saved = errno;
  atomic_fetch_add(&signal_count, 1);
  errno = EINTR; /* As a careless handler leaves it, before it is put right. */
  errno = saved;
}

int main(void) {
  begin(90);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handle; /* No SA_RESTART: system calls do fail with EINTR. */
  CHECK(sigaction(SIGPROF, &action, NULL) == 0);
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGPROF;
  timer_t timer;
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  const struct itimerspec period = {.it_interval = {0, 100000}, .it_value = {0, 100000}};
  CHECK(timer_settime(timer, 0, &period, NULL) == 0);
  static load background;
  load_start(&background, 3);
  load_churn(77, SCALED(400000), background.shared);
  for (uint64_t seed = 78; atomic_load(&signal_count) < 2000; ++seed) {
    load_churn(seed, 1000, background.shared);
  }
  load_stop(&background);
  CHECK(timer_delete(timer) == 0);
  return 0;
}
