/* thread_keys: destructors of thread-specific data that allocate in every round they are given, in
 * threads whose heap may have been given up already; main frees what they leave.
 *
 * SPDX-License-Identifier: MIT */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"
#include "family.h"
#include "pattern.h"

enum { KEYS = 16, THREADS_AT_ONCE = 4 };

/* The thread sanitizer takes its own state down in the last round. */
#ifdef TARN_TEST_TSAN
enum { ROUNDS = PTHREAD_DESTRUCTOR_ITERATIONS - 1 };
#else
enum { ROUNDS = PTHREAD_DESTRUCTOR_ITERATIONS };
#endif

typedef struct value {
  size_t key;
  int round;
  struct value* next;
  char content[100];
} value;

static pthread_key_t keys[KEYS];
static _Atomic(value*) left_over;
static atomic_long destructor_calls;

static value* take_value(size_t key, int round) {
  value* fresh = FAMILY(malloc)(sizeof *fresh);
  CHECK(fresh != NULL);
  fresh->key = key;
  fresh->round = round;
  pattern_fill(fresh->content, sizeof fresh->content, (unsigned)round);
  return fresh;
}

/* The last round's value would be lost: it is chained up for main. */
static void destroy(void* argument) {
  value* old = argument;
  CHECK(pattern_holds(old->content, sizeof old->content, (unsigned)old->round));
  value* next = take_value(old->key, old->round + 1);
  void* large = FAMILY(malloc)(50000 + old->key * 30000);
  CHECK(large != NULL);
  FAMILY(free)(large);
  if (next->round < ROUNDS) {
    CHECK(pthread_setspecific(keys[old->key], next) == 0);
  } else {
    next->next = atomic_load(&left_over);
    while (!atomic_compare_exchange_weak(&left_over, &next->next, next)) {
    }
  }
  FAMILY(free)(old);
  atomic_fetch_add(&destructor_calls, 1);
}

static void* body(void* unused) {
  for (size_t key = 0; key < KEYS; ++key) {
    CHECK(pthread_setspecific(keys[key], take_value(key, 0)) == 0);
  }
  return unused;
}

int main(void) {
  begin(120);
  const long rounds = SCALED(1000);
  /* Destructors run in the order of the keys. An allocator may make a key of its own at its first
   * use, so half of these run before it in every round, and half after it, in the last too. */
  for (size_t key = 0; key < KEYS / 2; ++key) {
    CHECK(pthread_key_create(&keys[key], destroy) == 0);
  }
  FAMILY(free)(FAMILY(malloc)(100));
  for (size_t key = KEYS / 2; key < KEYS; ++key) {
    CHECK(pthread_key_create(&keys[key], destroy) == 0);
  }
  const size_t before = resident_bytes();
  for (long round = 0; round < rounds; ++round) {
    pthread_t threads[THREADS_AT_ONCE];
    for (int i = 0; i < THREADS_AT_ONCE; ++i) {
      CHECK(pthread_create(&threads[i], NULL, body, NULL) == 0);
    }
    for (int i = 0; i < THREADS_AT_ONCE; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
    value* next = NULL;
    for (value* at = atomic_exchange(&left_over, NULL); at != NULL; at = next) {
      next = at->next;
      FAMILY(free)(at);
    }
  }
  CHECK(atomic_load(&destructor_calls) == rounds * THREADS_AT_ONCE * KEYS * ROUNDS);
  CHECK_RESIDENT_BELOW(before + 64 * MEBIBYTE);
  return 0;
}
