/* fork_storm [FORKS]: 1,000 forks while other threads allocate. Each child checks and frees what it
 * inherited, allocates, starts a thread now and then, and forks again; nothing hangs, nothing is
 * damaged, and the parent goes on as if nothing had been.
 *
 * SPDX-License-Identifier: MIT */

#include "load.h"

enum { INHERITED = 200, IN_FLIGHT = 4, THREADS = 3 };

static load background;
static load_block* inherited[INHERITED];

static void* child_thread(void* argument) {
  load_churn((uint64_t)(uintptr_t)argument, 200, NULL);
  return NULL;
}

static void use_what_was_inherited(size_t turn) {
  for (size_t i = turn % 2; i < INHERITED; i += 2) {
    load_give(inherited[i]);
    inherited[i] = NULL;
  }
  for (size_t i = 0; i < LOAD_SHARED_SLOTS; i += 3) {
    load_give(atomic_exchange(&background.shared[i], NULL));
  }
  load_churn(turn + 1, 300, NULL);
}

static void finish_child(size_t turn) {
  use_what_was_inherited(turn);
  for (size_t i = 0; i < INHERITED; ++i) load_give(inherited[i]);
  _exit(0);
}

static void child_body(size_t turn) {
  alarm(60);
  use_what_was_inherited(turn);
  /* Not in the first children: the background's threads are starting then, and a sanitizer's own
   * malloc, from which threads come, may be locked for ever in the child. */
  if (turn % 16 == 15) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, child_thread, (void*)(uintptr_t)(turn + 5)) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
  if (turn % 2 == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) finish_child(turn + 1);
    CHECK(status_of_child(grandchild) == 0);
  }
  finish_child(turn);
}

int main(int argc, char** argv) {
  const size_t forks = argc > 1 ? strtoul(argv[1], NULL, 10) : SCALED(1000);
  begin(150 + (unsigned)forks / 10);
  uint64_t state = 17;
  load_start(&background, THREADS);
  pid_t children[IN_FLIGHT] = {0};
  for (size_t turn = 0; turn < forks; ++turn) {
    for (size_t i = 0; i < INHERITED; ++i) {
      if (inherited[i] == NULL) inherited[i] = load_take(&state);
    }
    if (children[turn % IN_FLIGHT] != 0) CHECK(status_of_child(children[turn % IN_FLIGHT]) == 0);
    children[turn % IN_FLIGHT] = fork();
    CHECK(children[turn % IN_FLIGHT] >= 0);
    if (children[turn % IN_FLIGHT] == 0) child_body(turn);
    load_give(inherited[turn % INHERITED]);
    inherited[turn % INHERITED] = NULL;
  }
  for (size_t i = 0; i < IN_FLIGHT; ++i) {
    if (children[i] != 0) CHECK(status_of_child(children[i]) == 0);
  }
  load_stop(&background);
  for (size_t i = 0; i < INHERITED; ++i) load_give(inherited[i]);
  return 0;
}
