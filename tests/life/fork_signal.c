/* fork_signal: a signal handler that forks, at whatever point of malloc or free it interrupts. The
 * child returns from the handler into the interrupted call and must finish it.
 *
 * Usage: fork_signal single | threads. With threads, others allocate meanwhile, so the child also
 * does without threads that were inside the allocator.
 *
 * SPDX-License-Identifier: MIT */
#include "handler_forks.h"
#include "load.h"

/* Only the main thread takes the signal: it is the one that the test looks at. */
static void block_signal_in_threads(load* background) {
  signal_mask(SIG_BLOCK, SIGUSR1);
  load_start(background, 2);
  signal_mask(SIG_UNBLOCK, SIGUSR1);
}

int main(int argc, char** argv) {
  begin(120);
  static load background;
  const bool has_threads = argc == 2 && strcmp(argv[1], "threads") == 0;
  if (has_threads) block_signal_in_threads(&background);
  const timer_t timer = handler_forks_start();
  uint64_t seed = 1;
  while (fork_count < FORKS && !is_child) load_churn(seed++, 50, background.shared);
  if (is_child) {
    alarm(30);
    load_churn(seed, 2000, background.shared);
    _exit(0);
  }
  handler_forks_finish(timer, 0);
  if (has_threads) load_stop(&background);
  return 0;
}
