/* traced: a debugger stops the process at each of its system calls, or after each of its
 * instructions, while it allocates (in the first case, with threads and a fork). Nothing of the
 * library waits for ever, takes an interrupted call for a failed one, or needs a signal that the
 * tracer sees first.
 *
 * Usage: traced calls | steps
 *
 * SPDX-License-Identifier: MIT */
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>

#include "load.h"

enum { STEPS = 40000, INSTRUCTIONS_MOST = 40000 };

static volatile unsigned long* rounds; /* Shared: how far the child has come. */

static void be_traced(void) {
  if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(77);
  CHECK(raise(SIGSTOP) == 0);
}

/* Threads of it, a fork, and large blocks: everything that makes calls. */
static void make_calls(void) {
  static load background;
  be_traced();
  load_start(&background, 2);
  load_churn(5, 6000, background.shared);
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

static void work_once(size_t turn) {
  void* const small = malloc(turn % 600 + 1);
  void* const other = malloc(turn * 7 % 3000 + 1);
  CHECK(small != NULL && other != NULL);
  free(small);
  free(other);
  ++*rounds;
}

static void make_steps(void) {
  for (size_t turn = 0; turn < 100; ++turn) work_once(turn); /* What is done once is done. */
  *rounds = 0;
  be_traced();
  for (size_t turn = 0;; ++turn) work_once(turn);
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
  CHECK(waitpid(first, &status, 0) == first);
  if (!WIFSTOPPED(status)) skip("no process may be traced here");
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
  CHECK(stops > 100);
}

static void trace_steps(pid_t child) {
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  if (!WIFSTOPPED(status)) skip("no process may be traced here");
  for (size_t i = 0; i < SCALED(STEPS); ++i) {
    CHECK(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0);
    CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
    CHECK(WSTOPSIG(status) == SIGTRAP);
  }
  CHECK(*rounds >= SCALED(STEPS) / INSTRUCTIONS_MOST);
  const unsigned long before = *rounds;
  CHECK(ptrace(PTRACE_DETACH, child, NULL, NULL) == 0);
  while (*rounds < before + 1000) usleep(1000); /* It goes on by itself. */
  CHECK(waitpid(child, &status, WNOHANG) == 0);
  CHECK(kill(child, SIGKILL) == 0);
  CHECK(WIFSIGNALED(status_of_child(child)));
}

int main(int argc, char** argv) {
  begin(120);
  CHECK(argc == 2);
  rounds = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(rounds != MAP_FAILED);
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
