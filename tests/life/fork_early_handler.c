/* fork_early_handler: a library that the program needs registers a child handler before the
 * allocator starts, so it comes before the allocator's own. It takes and gives blocks while the
 * locks are still as the fork found them, held by threads that the child does not have.
 *
 * SPDX-License-Identifier: MIT */

#include "load.h"

int fork_early_children(void); /* Of the library: how often its handler ran. */

enum { FORKS = 150, THREADS = 3 };

static atomic_bool stopping;

/* Always inside the store, as good as. */
static void* hammer(void* argument) {
  while (!atomic_load(&stopping)) {
    void* first = malloc(opaque(300000));
    void* second = malloc(opaque(200000));
    CHECK(first != NULL && second != NULL);
    free(first);
    free(second);
  }
  return argument;
}

int main(void) {
  begin(90);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    CHECK(pthread_create(&threads[i], NULL, hammer, NULL) == 0);
  }
  for (int turn = 0; turn < FORKS; ++turn) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      CHECK(fork_early_children() == 1);
      load_churn((uint64_t)turn + 1, 100, NULL);
      _exit(0);
    }
    CHECK(status_of_child(child) == 0);
  }
  CHECK(fork_early_children() == 0);
  atomic_store(&stopping, true);
  for (int i = 0; i < THREADS; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  return 0;
}
