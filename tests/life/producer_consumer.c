/* producer_consumer: blocks go one way, from threads that only allocate to threads that only free.
 * However many pass, the memory in use is that of the blocks under way.
 *
 * Usage: producer_consumer small | mixed.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "check.h"
#include "family.h"
#include "pattern.h"

enum { SLOTS = 2048, PAIRS = 2 };

typedef struct lane {
  _Alignas(64) atomic_size_t head;
  _Alignas(64) atomic_size_t tail;
  unsigned char* slots[SLOTS];
  size_t total;
  size_t size_limit;
  pthread_t producer;
  pthread_t consumer;
} lane;

static void* produce(void* argument) {
  lane* self = argument;
  uint64_t state = 11;
  for (size_t sent = 0; sent < self->total; ++sent) {
    const size_t size = 16 + random_next(&state) % self->size_limit;
    unsigned char* block = FAMILY(malloc)(size);
    CHECK(block != NULL);
    memset(block, (int)(sent & 0xFF), size);
    while (sent - atomic_load(&self->tail) >= SLOTS) sched_yield();
    self->slots[sent % SLOTS] = block;
    atomic_store(&self->head, sent + 1);
  }
  return NULL;
}

static void* consume(void* argument) {
  lane* self = argument;
  for (size_t got = 0; got < self->total; ++got) {
    while (atomic_load(&self->head) == got) sched_yield();
    unsigned char* block = self->slots[got % SLOTS];
    CHECK(block[0] == (got & 0xFF) && block[15] == (got & 0xFF));
    FAMILY(free)(block);
    atomic_store(&self->tail, got + 1);
  }
  return NULL;
}

int main(int argc, char** argv) {
  begin(150);
  CHECK(argc == 2);
  const int is_small = strcmp(argv[1], "small") == 0;
  static lane lanes[PAIRS];
  const size_t before = resident_bytes();
  for (size_t i = 0; i < PAIRS; ++i) {
    lanes[i].total = SCALED((size_t)(is_small ? 4000000 : 200000));
    lanes[i].size_limit = is_small ? 512 : 40000;
    CHECK(pthread_create(&lanes[i].producer, NULL, produce, &lanes[i]) == 0);
    CHECK(pthread_create(&lanes[i].consumer, NULL, consume, &lanes[i]) == 0);
  }
  /* Under way at most: 2 lanes x 2048 blocks x 20 KB on average = 84 MB when mixed, 1 MB else. */
  const size_t bound = before + (is_small ? 48 : 256) * MEBIBYTE;
  while (atomic_load(&lanes[0].tail) < lanes[0].total) {
    CHECK_RESIDENT_BELOW(bound);
    usleep(2000);
  }
  for (size_t i = 0; i < PAIRS; ++i) {
    CHECK(pthread_join(lanes[i].producer, NULL) == 0);
    CHECK(pthread_join(lanes[i].consumer, NULL) == 0);
  }
  CHECK_RESIDENT_BELOW(bound);
  return 0;
}
