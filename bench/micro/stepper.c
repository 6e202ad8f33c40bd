/* stepper PRELOAD PROGRAM ARGS...: counts the instructions that a program executes, one by one.
 *
 * For libraries that Valgrind cannot run, such as one that reserves more address space than it
 * grants. Some hundred thousand steps a second, so for short runs. PRELOAD "-" preloads nothing.
 * The count goes to stderr; 1 is returned when the program does not end well.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3) {
    fputs("usage: stepper PRELOAD PROGRAM ARGS...\n", stderr);
    return 2;
  }
  const pid_t child = fork();
  if (child == 0) {
    if (strcmp(argv[1], "-") != 0) {
      setenv("LD_PRELOAD", argv[1], 1);
    }
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    execvp(argv[2], argv + 2);
    _exit(127);
  }
  unsigned long long steps = 0;
  int status = 0;
  /* The first stop is the exec. A signal that is not a step's is passed on. */
  for (long signal = 0; waitpid(child, &status, 0) == child && WIFSTOPPED(status); ++steps) {
    signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    if (ptrace(PTRACE_SINGLESTEP, child, NULL, signal) != 0) {
      break;
    }
  }
  fprintf(stderr, "%llu\n", steps);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}
