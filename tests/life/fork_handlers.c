/* fork_handlers: a program's own fork handlers allocate and free, before and after tarn's run.
 *
 * SPDX-License-Identifier: MIT */

#include "load.h"

static int early;
static int prepared;
static int parents;
static int children;
static void* passed;

static void prepare(void) {
  ++prepared;
  passed = malloc(100);
  CHECK(passed != NULL);
  load_churn(7, 50, NULL);
}

static void early_churn(void) {
  ++early;
  load_churn(6, 50, NULL);
}

static void in_parent(void) {
  ++parents;
  free(passed);
  load_churn(8, 50, NULL);
}

static void in_child(void) {
  ++children;
  free(passed);
  load_churn(9, 50, NULL);
}

/* Registered before the constructor of any library runs: the prepare part of these comes last, and
 * the other two come first. */
static void pre_initialise(int argc, char** argv, char** environment) {
  (void)argc;
  (void)argv;
  (void)environment;
  CHECK(pthread_atfork(early_churn, early_churn, early_churn) == 0);
}
__attribute__((section(".preinit_array"),
               used)) static void (*pre_initialiser)(int, char**, char**) = pre_initialise;

int main(void) {
  begin(90);
  static load background;
  CHECK(pthread_atfork(prepare, in_parent, in_child) == 0);
  load_start(&background, 2);
  for (int turn = 0; turn < 300; ++turn) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      alarm(30);
      CHECK(children == 1 && prepared == turn + 1 && early == 2 * turn + 2);
      load_churn((uint64_t)turn + 1, 100, NULL);
      _exit(0);
    }
    CHECK(status_of_child(child) == 0);
  }
  CHECK(prepared == 300 && parents == 300 && children == 0);
  load_stop(&background);
  return 0;
}
