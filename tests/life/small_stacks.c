/* small_stacks: threads with the smallest stack that the system allows, 16 KiB, whose guard page
 * and thread-local data come out of it; every path of the allocator has to fit into what is left.
 *
 * SPDX-License-Identifier: MIT */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"
#include "family.h"
#include "pattern.h"

enum { AT_ONCE = 4, HANDED_OVER = 64 };

static _Atomic(void*) handed_over[HANDED_OVER];

static void use_every_function(size_t size) {
  void* blocks[6] = {
      FAMILY(malloc)(size),        FAMILY(calloc)(1, size),           FAMILY(realloc)(NULL, size),
      FAMILY(memalign)(256, size), FAMILY(aligned_alloc)(4096, size), NULL};
  CHECK(FAMILY(posix_memalign)(&blocks[5], 64, size) == 0);
  for (int i = 0; i < 6; ++i) {
    CHECK(blocks[i] != NULL);
    memset(blocks[i], i, size < 5000 ? size : 5000);
    blocks[i] = FAMILY(realloc)(blocks[i], size + size / 2);
    CHECK(blocks[i] != NULL && ((char*)blocks[i])[0] == i);
  }
  for (int i = 0; i < 6; ++i) FAMILY(free)(blocks[i]);
}

static void* body(void* argument) {
  const size_t seed = (size_t)(uintptr_t)argument;
  for (size_t size = 1; size < 3000000; size = size * 4 + seed % 7) use_every_function(size);
  for (size_t i = 0; i < HANDED_OVER; ++i) {
    void* mine = FAMILY(malloc)(i * 20 + seed % 100);
    CHECK(mine != NULL);
    FAMILY(free)(atomic_exchange(&handed_over[i], mine));
  }
  if (seed % 16 == 0) (void)FAMILY(malloc_trim)(0);
  return NULL;
}

int main(void) {
  begin(90);
  const size_t stack_bytes = 16384;
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  if (pthread_attr_setstacksize(&attributes, stack_bytes) != 0) {
    /* Processors with large registers need more for a signal frame alone. */
    const long least = sysconf(_SC_THREAD_STACK_MIN);
    CHECK(least > 0 && pthread_attr_setstacksize(&attributes, (size_t)least) == 0);
  }
  const uintptr_t rounds = SCALED(100);
  for (uintptr_t round = 0; round < rounds; ++round) {
    pthread_t threads[AT_ONCE];
    for (uintptr_t i = 0; i < AT_ONCE; ++i) {
      void* seed = (void*)(round * AT_ONCE + i);
      CHECK(pthread_create(&threads[i], &attributes, body, seed) == 0);
    }
    for (int i = 0; i < AT_ONCE; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  }
  for (size_t i = 0; i < HANDED_OVER; ++i) FAMILY(free)(atomic_load(&handed_over[i]));
  return 0;
}
