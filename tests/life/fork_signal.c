/* fork_signal: a signal handler that forks, at whatever point of malloc or free it interrupts. The
 * child returns from the handler into the interrupted call and must finish it.
 *
 * Usage: fork_signal single | threads. With threads, others allocate meanwhile, so the child also
 * does without threads that were inside the allocator.
 *
 * SPDX-License-Identifier: MIT */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "load.h"

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

static timer_t start_timer(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  timer_t timer;
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  const struct itimerspec period = {.it_interval = {0, 1500000}, .it_value = {0, 1500000}};
  CHECK(timer_settime(timer, 0, &period, NULL) == 0);
  return timer;
}

/* Only the main thread takes the signal: it is the one that the test looks at. */
static void block_signal_in_threads(load* background) {
  sigset_t set;
  sigset_t before;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  CHECK(pthread_sigmask(SIG_BLOCK, &set, &before) == 0);
  load_start(background, 2);
  CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
}

int main(int argc, char** argv) {
  begin(120);
  static load background;
  const bool has_threads = argc == 2 && strcmp(argv[1], "threads") == 0;
  if (has_threads) block_signal_in_threads(&background);
  const timer_t timer = start_timer();
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
