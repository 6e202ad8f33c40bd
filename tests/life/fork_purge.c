/* fork_purge: forks while another thread frees large blocks and trims, that is, while spans are
 * being purged. In the child nothing is lost: what is committed, after a trim of its own, is what
 * is live.
 *
 * SPDX-License-Identifier: MIT */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "check.h"
#include "pattern.h"

enum { BLOCKS = 60, FORKS = 200 };

static const size_t block_bytes = 3 * MEBIBYTE;
static const size_t lost_most = 8 * MEBIBYTE;

static atomic_bool stopping;

static void* free_and_trim(void* argument) {
  static char* blocks[BLOCKS];
  while (!atomic_load(&stopping)) {
    for (size_t i = 0; i < BLOCKS; ++i) {
      blocks[i] = malloc(block_bytes);
      CHECK(blocks[i] != NULL);
      memset(blocks[i], 1, block_bytes);
    }
    for (size_t i = 0; i < BLOCKS; i += 2) free(blocks[i]);
    for (size_t i = 1; i < BLOCKS; i += 2) free(blocks[i]);
    (void)malloc_trim(0);
  }
  return argument;
}

static void child_body(void) {
  alarm(60);
  (void)malloc_trim(0);
  const struct mallinfo2 info = mallinfo2();
  const size_t lost = info.arena > info.uordblks ? info.arena - info.uordblks : 0;
  if (lost > lost_most) {
    dprintf(STDERR_FILENO, "committed %zu KiB, live %zu KiB, resident %zu KiB\n", info.arena / 1024,
            info.uordblks / 1024, resident_bytes() / 1024);
  }
  CHECK(lost <= lost_most);
  _exit(0);
}

int main(void) {
  begin(200);
  pthread_t thread;
  uint64_t state = 7;
  CHECK(pthread_create(&thread, NULL, free_and_trim, NULL) == 0);
  for (int i = 0; i < FORKS; ++i) {
    usleep((useconds_t)(1000 + random_next(&state) % 20000));
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) child_body();
    CHECK(status_of_child(child) == 0);
  }
  atomic_store(&stopping, true);
  CHECK(pthread_join(thread, NULL) == 0);
  return 0;
}
