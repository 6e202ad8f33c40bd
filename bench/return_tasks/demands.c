/* demands: what a program does after its peak, while what it has resident is sampled.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "task.h"

enum { HOLD_TICKS = 10, PAIRS_A_TICK = 2000, PAIR_BYTES_MAX = 3000, BLOCKS_MAX = 8 };

/* Calls nothing. */
static void demand_idle(task* asked) {
  for (int tick = 1; tick <= asked->ticks; ++tick) sample_at(tick);
}

/* Pairs of small blocks, 20,000 a second, from the first tick on. */
static void demand_small(task* asked) {
  for (int tick = 1; tick <= asked->ticks; ++tick) {
    for (int i = 0; i < PAIRS_A_TICK; ++i) {
      free(block_take(sizeof(block) + random_next(&asked->random) % PAIR_BYTES_MAX));
    }
    sample_at(tick);
  }
}

/* As many bytes again, in up to eight blocks; held for a second. */
static void demand_large(task* asked) {
  list blocks = {0};
  const size_t count = 1 + random_next(&asked->random) % BLOCKS_MAX;
  const size_t size = asked->bytes / count;
  for (int tick = 1; tick <= asked->ticks; ++tick) {
    if (tick == asked->pause_ticks + 1) {
      work_begins();
      list_fill(&blocks, size * count, (sizes){size, size}, &asked->random);
      work_ends();
    } else if (tick == asked->pause_ticks + 1 + HOLD_TICKS) {
      list_free(&blocks);
    }
    sample_at(tick);
  }
}

static void* take_and_free(void* argument) {
  task* asked = argument;
  list blocks = {0};
  work_begins();
  list_fill(&blocks, asked->bytes, small_sizes, &asked->random);
  work_ends();
  const struct timespec hold = {.tv_sec = HOLD_TICKS * TICK_MS / 1000};
  nanosleep(&hold, NULL);
  list_free(&blocks);
  return NULL;
}

/* As many bytes again, in small blocks of a thread that starts now and then ends. */
static void demand_thread(task* asked) {
  pthread_t thread;
  for (int tick = 1; tick <= asked->ticks; ++tick) {
    if (tick == asked->pause_ticks + 1) thread_start(take_and_free, asked, &thread);
    sample_at(tick);
  }
  pthread_join(thread, NULL);
}

const choice demands[] = {
    {"idle", demand_idle},
    {"small", demand_small},
    {"large", demand_large},
    {"thread", demand_thread},
    {NULL, NULL},
};
