/* signal_storm: a profiling signal every 100 microseconds, whose handler does not allocate, while
 * threads allocate and free; interrupted system calls and half-done operations leave no trace.
 *
 * SPDX-License-Identifier: MIT */
#include "load.h"
#include "signal_timer.h"

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
  /* No SA_RESTART: system calls do fail with EINTR. */
  const timer_t timer = signal_timer_start((signal_timer){SIGPROF, 0, 100000, handle});
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
