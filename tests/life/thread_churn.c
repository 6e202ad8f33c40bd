/* thread_churn [THREADS]: 100,000 threads (in the short run a tenth) that each allocate a little
 * and end; what one leaves, the next one frees. Memory stays bounded, so what a thread takes from
 * tarn is found again after its end.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "check.h"
#include "family.h"
#include "pattern.h"

#ifndef TARN_PERCENT
#define TARN_PERCENT 100
#endif

enum { AT_ONCE = 4, KEPT = 3 };

typedef struct bequest {
  void* blocks[KEPT];
  size_t size;
} bequest;

static bequest bequests[AT_ONCE];
static size_t current_round;

static void* body(void* argument) {
  bequest* mine = argument;
  for (size_t i = 0; i < KEPT; ++i) {
    if (mine->size != 0) CHECK(pattern_holds(mine->blocks[i], mine->size, (unsigned)i));
    FAMILY(free)(mine->blocks[i]);
  }
  void* passing[8];
  for (size_t i = 0; i < 8; ++i) passing[i] = FAMILY(malloc)((i + 1) * (current_round % 97 + 1));
  mine->size = 24 + current_round % 2000;
  for (size_t i = 0; i < KEPT; ++i) {
    mine->blocks[i] = FAMILY(malloc)(mine->size);
    CHECK(mine->blocks[i] != NULL);
    pattern_fill(mine->blocks[i], mine->size, (unsigned)i);
  }
  for (size_t i = 0; i < 8; ++i) {
    CHECK(passing[i] != NULL);
    FAMILY(free)(passing[i]);
  }
  return NULL;
}

static void run_round(size_t round) {
  pthread_t threads[AT_ONCE];
  current_round = round;
  for (size_t i = 0; i < AT_ONCE; ++i) {
    CHECK(pthread_create(&threads[i], NULL, body, &bequests[i]) == 0);
  }
  for (size_t i = 0; i < AT_ONCE; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(int argc, char** argv) {
  const size_t threads =
      argc > 1 ? strtoul(argv[1], NULL, 10) : SCALED(100000) / 100 * TARN_PERCENT;
  const size_t rounds = threads / AT_ONCE;
  begin(200 + (unsigned)threads / 1000);
  for (size_t round = 0; round < rounds / 20; ++round) run_round(round);
  const size_t resident_before = resident_bytes();
  const size_t mapped_before = mapped_bytes();
  for (size_t round = rounds / 20; round < rounds; ++round) run_round(round);
  CHECK_RESIDENT_BELOW(resident_before + 24 * MEBIBYTE);
  CHECK(TARN_TEST_DIVISOR > 1 || mapped_bytes() < mapped_before + 256 * MEBIBYTE);
  return 0;
}
