/* ended_owners: 64 threads end, and one in twenty of their blocks stays. A thread that takes as
 * much again as they have freed finds room between what stays.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "peak.h"

enum { THREADS = 64, BLOCKS = 20000, KEPT_OF = 20, BLOCK_BYTES = 208 };

static pthread_barrier_t all_have_taken;

/* The blocks that stay are nobody's: what matters is where they lie. */
static void* leave_holes(void* argument) {
  peak_block* freed = NULL;
  for (int i = 0; i < BLOCKS; ++i) {
    peak_block* block = peak_take(BLOCK_BYTES);
    if (i % KEPT_OF == 0) continue;
    block->next = freed;
    freed = block;
  }
  pthread_barrier_wait(&all_have_taken); /* Else later threads would take what earlier ones left. */
  peak_free(freed);
  return argument;
}

int main(void) {
  begin(120);
  pthread_t threads[THREADS];
  CHECK(pthread_barrier_init(&all_have_taken, NULL, THREADS) == 0);
  for (int i = 0; i < THREADS; ++i) {
    CHECK(pthread_create(&threads[i], NULL, leave_holes, NULL) == 0);
  }
  for (int i = 0; i < THREADS; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  const size_t ended = peak_bytes();
  peak_free(
      peak_fill((size_t)THREADS * BLOCKS / KEPT_OF * (KEPT_OF - 1) * BLOCK_BYTES, BLOCK_BYTES, 1));
  dprintf(STDERR_FILENO, "at most %zu KiB were resident, then %zu KiB\n", ended / 1024,
          peak_bytes() / 1024);
  CHECK(peak_bytes() <= ended / 100 * 105);
  return 0;
}
