/* subject: the program that the command's tests run; its first argument says what it does.
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef SUBJECT_OWN_MALLOC
/* Enough of a malloc to be found as one, and to run this program. */
static char arena[1 << 20];
static size_t arena_used;
void* malloc(size_t bytes) {
  const size_t start = (arena_used + 15) & ~(size_t)15;
  if (bytes > sizeof arena - start) return NULL;
  arena_used = start + bytes;
  return arena + start;
}
void free(void* block) { (void)block; }
#endif

#ifdef SUBJECT_JEMALLOC_TEXT
/* What a stripped program with jemalloc inside carries in its read-only data. */
const char* subject_message = "<jemalloc>: Error in something\n";
#endif

#ifdef SUBJECT_SANITIZED
void __asan_init(void);
void __asan_init(void) {}
#endif

#ifdef SUBJECT_PYTHON
void* PyObject_Malloc(size_t bytes);
void* PyObject_Malloc(size_t bytes) { return malloc(bytes); }
#endif

#ifdef SUBJECT_TARN
#include <tarn/tarn.h>
void* (*subject_allocate)(size_t) = tarn_malloc;
#endif

/* Counts every signal until SIGUSR1 comes, then prints what came. */
static int count_signals(void) {
  sigset_t all;
  sigfillset(&all);
  sigdelset(&all, SIGTSTP); /* this one acts, so that the subject can be stopped */
  sigprocmask(SIG_SETMASK, &all, NULL);
  int counts[65] = {0};
  puts("ready");
  fflush(stdout);
  for (;;) {
    const int signal = sigwaitinfo(&all, NULL);
    if (signal < 0) continue;
    if (signal == SIGPIPE) return 1; /* nobody reads any more: the test has ended */
    ++counts[signal];
    if (signal == SIGUSR1) break;
    printf("got %d\n", signal);
    fflush(stdout);
  }
  for (int signal = 1; signal < 65; ++signal) {
    if (counts[signal] > 0) printf("count %d %d\n", signal, counts[signal]);
  }
  return 0;
}

static int print_environment(void) {
  const char* const preload = getenv("LD_PRELOAD");
  const char* const options = getenv("TARN_OPTIONS");
  printf("%s\n%s\n", preload == NULL ? "" : preload, options == NULL ? "" : options);
  return 0;
}

/* Prints the sum of the bytes on stdin, so that a test sees whether each run had all of them. */
static int sum_input(void) {
  unsigned long sum = 0;
  for (int byte = getchar(); byte != EOF; byte = getchar()) sum += (unsigned char)byte;
  fprintf(stderr, "%lu\n", sum);
  return sum == 0 ? 9 : 0;
}

/* A table of many small blocks, for the run on the real library. */
static int allocate(void) {
  enum { block_count = 10000 };
  char** const blocks = malloc(sizeof *blocks * block_count);
  if (blocks == NULL) return 1;
  for (int i = 0; i < block_count; ++i) {
    blocks[i] = malloc(1000);
    if (blocks[i] == NULL) return 1;
    memset(blocks[i], i, 1000);
  }
  for (int i = 0; i < block_count; ++i) free(blocks[i]);
  free(blocks);
  return 0;
}

/* Takes the file away that its requests are counted in. */
static int cut_sizes(void) {
  const char* const file = getenv("TARN_SIZES");
  _exit(file != NULL && truncate(file, 0) == 0 ? 0 : 1);
}

int main(int argc, char** argv) {
  const char* const verb = argc > 1 ? argv[1] : "";
  const char* const argument = argc > 2 ? argv[2] : "0";
  if (strcmp(verb, "exit") == 0) return atoi(argument);
  if (strcmp(verb, "leave") == 0) _exit(atoi(argument));
  if (strcmp(verb, "die") == 0) return raise(atoi(argument));
  if (strcmp(verb, "say") == 0) return puts(argument) < 0;
  if (strcmp(verb, "count") == 0) return count_signals();
  if (strcmp(verb, "environment") == 0) return print_environment();
  if (strcmp(verb, "sum") == 0) return sum_input();
  if (strcmp(verb, "allocate") == 0) return allocate();
  if (strcmp(verb, "cut_sizes") == 0) return cut_sizes();
  fprintf(stderr, "subject: what is '%s'?\n", verb);
  return 99;
}
