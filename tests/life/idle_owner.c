/* idle_owner: a thread allocates and then sleeps, and another one frees all of it. malloc_trim
 * gives the memory back all the same, and the sleeper goes on with it when it wakes up.
 *
 * SPDX-License-Identifier: MIT */
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>

#include "check.h"
#include "family.h"
#include "pattern.h"

enum { BLOCKS = 400000, BLOCK_BYTES = 200, OWN_PART = 7, KEPT_PART = 20000 };

static unsigned char* blocks[BLOCKS];
static sem_t has_allocated;
static sem_t may_go_on;

static void* own(void* argument) {
  (void)argument;
  for (int turn = 0; turn < 3; ++turn) {
    for (size_t i = 0; i < BLOCKS; ++i) {
      if (blocks[i] != NULL) continue; /* Kept from the turn before. */
      blocks[i] = FAMILY(malloc)(BLOCK_BYTES);
      CHECK(blocks[i] != NULL);
      memset(blocks[i], (int)(i & 0xFF), BLOCK_BYTES);
    }
    /* What it frees itself wakes pages that others empty later. */
    for (size_t i = 0; i < BLOCKS / 2; i += OWN_PART) {
      FAMILY(free)(blocks[i]);
      blocks[i] = NULL;
    }
    sem_post(&has_allocated);
    sem_wait(&may_go_on);
  }
  return NULL;
}

static void check_contents(size_t i) {
  CHECK(blocks[i][0] == (i & 0xFF) && blocks[i][BLOCK_BYTES - 1] == (i & 0xFF));
}

int main(void) {
  begin(100);
  CHECK(sem_init(&has_allocated, 0, 0) == 0 && sem_init(&may_go_on, 0, 0) == 0);
  memset(blocks, 0, sizeof blocks);
  const size_t resident_before = resident_bytes();
  pthread_t owner;
  CHECK(pthread_create(&owner, NULL, own, NULL) == 0);
  for (int turn = 0; turn < 3; ++turn) {
    sem_wait(&has_allocated);
    for (size_t i = 0; i < BLOCKS; ++i) {
      if (blocks[i] == NULL) continue;
      check_contents(i);
      if (i % KEPT_PART == 1) continue;
      FAMILY(free)(blocks[i]);
      blocks[i] = NULL;
    }
    FAMILY(malloc_trim)(0);
    /* Of 84 MB: the pages of the blocks that are kept, and the owner's current one. */
    CHECK_RESIDENT_BELOW(resident_before + 10 * MEBIBYTE);
    for (size_t i = 1; i < BLOCKS; i += KEPT_PART) {
      if (blocks[i] != NULL) check_contents(i);
    }
    sem_post(&may_go_on);
  }
  CHECK(pthread_join(owner, NULL) == 0);
  return 0;
}
