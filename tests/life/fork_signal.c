/* fork_signal: a signal handler that forks, at whatever point of malloc or free it interrupts. The
 * child returns from the handler into the interrupted call and must finish it.
 *
 * Usage: fork_signal single | threads. With threads, others allocate meanwhile, so the child also
 * does without threads that were inside the allocator.
 *
 * SPDX-License-Identifier: MIT */
#include <sys/wait.h>

#include "load.h"
#include "signal_timer.h"

enum { FORKS = 300 };

static volatile sig_atomic_t fork_count;
static volatile sig_atomic_t is_child;
static pid_t children[FORKS];

static void handle(int signal_number) {
  (void)signal_number;
  const int saved = errno;
  if (!is_child && fork_count < FORKS) {
    const pid_t child = fork();
    if (child == 0) {
      is_child = 1;
    } else if (child > 0) {
      children[fork_count] = child;
      fork_count = fork_count + 1;
    }
  }
  errno = saved;
}

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
  const timer_t timer =
      signal_timer_start((signal_timer){SIGUSR1, SA_RESTART, 1500000, handle});
  uint64_t seed = 1;
  while (fork_count < FORKS && !is_child) load_churn(seed++, 50, background.shared);
  if (is_child) {
    alarm(30);
    load_churn(seed, 2000, background.shared);
    _exit(0);
  }
  CHECK(timer_delete(timer) == 0);
  for (int i = 0; i < FORKS; ++i) {
    int status = -1;
    CHECK(waitpid(children[i], &status, 0) == children[i]);
    CHECK(status == 0);
  }
  if (has_threads) load_stop(&background);
  return 0;
}
