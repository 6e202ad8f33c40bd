/* fork_step: single steps through an allocation, with a fork at every k-th instruction. The child
 * finishes the call, starts threads that allocate, and finds all contents as they were.
 *
 * Usage: fork_step late | first | grow [FEWER]: an allocation by a thread whose end has been
 * announced, the first ones of a thread, a large block that is resized; FEWER divides the forks,
 * for modes of malloc that take many more instructions.
 *
 * SPDX-License-Identifier: MIT */
#include <sys/wait.h>

#include "load.h"

#ifdef __x86_64__
#include <signal.h>
#include <ucontext.h>
#include <x86intrin.h>

enum { TRAP_FLAG = 0x100, CHILD_THREADS = 2, LATE_BLOCKS = 30 };

static long steps;
static long forks;
static long stride;
static volatile sig_atomic_t is_child;
static pthread_key_t key;

static void on_step(int signal_number, siginfo_t* info, void* context) {
  (void)signal_number;
  (void)info;
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  if (++steps % stride != 0) return;
  const int saved = errno;
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    is_child = 1;
    registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    alarm(20);
  } else {
    int status = -1;
    const bool is_reaped = waitpid(child, &status, 0) == child;
    if (status != 0) dprintf(STDERR_FILENO, "status %#x after step %ld\n", status, steps);
    CHECK(is_reaped && status == 0);
    ++forks;
  }
  errno = saved;
}

/* Compiled in place: a call more would be stepped through as well. */
#define STEPS_BEGIN() __writeeflags(__readeflags() | TRAP_FLAG)
#define STEPS_END() __writeeflags(__readeflags() & ~(unsigned long long)TRAP_FLAG)

static void* take(size_t size, unsigned seed) {
  void* block = malloc(size);
  CHECK(block != NULL);
  pattern_fill(block, size, seed);
  return block;
}

static void give(void* block, size_t size, unsigned seed) {
  CHECK(pattern_holds(block, size, seed));
  free(block);
}

static void go_on_as_child(void) {
  static load background;
  load_start(&background, CHILD_THREADS);
  load_churn(5, 500, background.shared);
  load_stop(&background);
}

/* Runs after the library's own destructor: its key is the older one. */
static void allocate_late(void* argument) {
  (void)argument;
  void* kept[LATE_BLOCKS];
  for (unsigned i = 0; i < LATE_BLOCKS; ++i) kept[i] = take(48, i);
  for (unsigned i = 0; i < LATE_BLOCKS; i += 2) give(kept[i], 48, i);
  STEPS_BEGIN();
  void* small = malloc(48);
  void* other = malloc(700);
  STEPS_END();
  CHECK(small != NULL && other != NULL);
  pattern_fill(small, 48, 101);
  pattern_fill(other, 700, 102);
  if (is_child) go_on_as_child();
  for (unsigned i = 1; i < LATE_BLOCKS; i += 2) give(kept[i], 48, i);
  give(small, 48, 101);
  give(other, 700, 102);
  if (is_child) _exit(0);
}

static void* step_late(void* argument) {
  CHECK(pthread_setspecific(key, &key) == 0);
  free(malloc(10));
  return argument;
}

static void* step_first(void* argument) {
  STEPS_BEGIN();
  void* small = malloc(100);
  void* large = malloc(300000);
  STEPS_END();
  CHECK(small != NULL && large != NULL);
  pattern_fill(small, 100, 7);
  pattern_fill(large, 300000, 8);
  if (is_child) go_on_as_child();
  give(small, 100, 7);
  give(large, 300000, 8);
  if (is_child) _exit(0);
  return argument;
}

static void* step_grow(void* argument) {
  const size_t before = 600000;
  void* block = take(before, 9);
  void* wall = take(200000, 10);
  STEPS_BEGIN();
  block = realloc(block, 60000000);
  STEPS_END();
  CHECK(block != NULL);
  if (is_child) go_on_as_child();
  CHECK(pattern_holds_prefix(block, before, before, 9));
  free(block);
  give(wall, 200000, 10);
  if (is_child) _exit(0);
  return argument;
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void* (*body)(void*);
    long stride;
  } tests[] = {{"late", step_late, 5}, {"first", step_first, 17}, {"grow", step_grow, 7}};
  begin(90);
  CHECK(argc == 2 || argc == 3);
  const long fewer = argc == 3 ? atol(argv[2]) : 1;
  CHECK(fewer > 0);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_step;
  action.sa_flags = SA_SIGINFO;
  CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
  load_churn(3, 300, NULL); /* From here on the library has its key. */
  CHECK(pthread_key_create(&key, allocate_late) == 0);
  for (size_t i = 0; i < sizeof tests / sizeof tests[0]; ++i) {
    if (strcmp(argv[1], tests[i].name) != 0) continue;
    stride = tests[i].stride * fewer;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, tests[i].body, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  dprintf(STDERR_FILENO, "%ld steps, %ld forks\n", steps, forks);
  CHECK(stride != 0);
  if (steps == 0) skip("no single steps here");
  CHECK(forks > 20);
  return 0;
}
#else
int main(void) { skip("only x86-64 has this trap flag"); }
#endif
