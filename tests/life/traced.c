/* traced: a debugger stops the process at each of its system calls, or after each of its
 * instructions, while threads of it allocate. Nothing of the library waits for ever, takes an
 * interrupted call for a failed one, or needs a signal that the tracer sees first.
 *
 * Usage: traced calls | steps
 *
 * SPDX-License-Identifier: MIT */
#include <signal.h>
#include <sys/ptrace.h>

#include "load.h"

enum { STEPS = 20000 };

static void be_traced(void) {
  CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
  CHECK(raise(SIGSTOP) == 0);
}

/* Threads of it, a fork, and large blocks: everything that makes calls. */
static void make_calls(void) {
  static load background;
  be_traced();
  load_start(&background, 2);
  load_churn(5, 20000, background.shared);
  const pid_t child = fork();
  if (child == 0) {
    load_churn(6, 300, NULL);
    _exit(0);
  }
  CHECK(status_of_child(child) == 0);
  for (size_t i = 0; i < 20; ++i) {
    void* const block = malloc((i + 1) * MEBIBYTE);
    CHECK(block != NULL);
    void* const grown = realloc(block, 2 * (i + 1) * MEBIBYTE);
    CHECK(grown != NULL);
    free(grown);
  }
  load_stop(&background);
  (void)malloc_trim(0);
  _exit(0);
}

static void make_steps(void) {
  be_traced();
  for (uint64_t seed = 1;; ++seed) load_churn(seed, 100, NULL);
}

/* The next tracee that stops, or -1 when all have ended. */
static pid_t next_stopped(int* status) {
  const pid_t stopped = waitpid(-1, status, __WALL);
  CHECK(stopped > 0 || errno == ECHILD);
  return stopped;
}

static void trace_calls(pid_t first) {
  int status = 0;
  unsigned long stops = 0;
  CHECK(waitpid(first, &status, 0) == first && WIFSTOPPED(status));
  const long what =
      PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD;
  CHECK(ptrace(PTRACE_SETOPTIONS, first, NULL, what) == 0);
  CHECK(ptrace(PTRACE_SYSCALL, first, NULL, NULL) == 0);
  for (pid_t at; (at = next_stopped(&status)) > 0;) {
    if (!WIFSTOPPED(status)) {
      CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
      continue;
    }
    ++stops;
    const int sig = WSTOPSIG(status);
    const bool is_of_tracing = sig == SIGTRAP || sig == (SIGTRAP | 0x80) || sig == SIGSTOP;
    (void)ptrace(PTRACE_SYSCALL, at, NULL, is_of_tracing ? 0L : (long)sig);
  }
  printf("%lu stops\n", stops);
  CHECK(stops > 500);
}

static void trace_steps(pid_t child) {
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
  for (size_t i = 0; i < SCALED(STEPS); ++i) {
    CHECK(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0);
    CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
    CHECK(WSTOPSIG(status) == SIGTRAP);
  }
  CHECK(ptrace(PTRACE_DETACH, child, NULL, NULL) == 0);
  usleep(50000); /* It goes on by itself. */
  CHECK(waitpid(child, &status, WNOHANG) == 0);
  CHECK(kill(child, SIGKILL) == 0);
  CHECK(WIFSIGNALED(status_of_child(child)));
}

int main(int argc, char** argv) {
  begin(120);
  CHECK(argc == 2);
  const bool is_calls = strcmp(argv[1], "calls") == 0;
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    if (is_calls) make_calls();
    make_steps();
  }
  if (is_calls) {
    trace_calls(child);
  } else {
    trace_steps(child);
  }
  return 0;
}
