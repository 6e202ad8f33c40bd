/* fork_early_library: has fork handlers since before the allocator's own, and has not allocated.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "check.h"
#include "pattern.h"

int fork_early_children(void);

static int children;

static void take_and_give(size_t size) {
  void* block = malloc(size);
  CHECK(block != NULL);
  pattern_fill(block, size, 3);
  CHECK(pattern_holds(block, size, 3));
  free(block);
}

/* Comes first of all child handlers. A hang ends with SIGALRM. */
static void in_child(void) {
  alarm(10);
  ++children;
  take_and_give(300000);
  take_and_give(100);
}

int fork_early_children(void) { return children; }

__attribute__((constructor)) static void start(void) {
  if (pthread_atfork(NULL, NULL, in_child) != 0) abort();
}
