/* keys_taken: the process has taken all keys for thread-specific data before the first allocation,
 * so nothing tells the library that a thread ends. It works nevertheless, with threads that come
 * and go, and what they leave behind can be freed.
 *
 * SPDX-License-Identifier: MIT */
#include <limits.h>

#include "load.h"

enum { AT_ONCE = 4 };

static load_block* left_behind[AT_ONCE];

static void* body(void* argument) {
  const size_t index = (size_t)(uintptr_t)argument % AT_ONCE;
  uint64_t state = (uint64_t)(uintptr_t)argument * 2654435761u + 1;
  load_churn((uint64_t)(uintptr_t)argument, 100, NULL);
  load_give(left_behind[index]);
  left_behind[index] = load_take(&state);
  return NULL;
}

static void take_all_keys(void) {
  pthread_key_t key;
  int error = 0;
  int taken = 0;
  while ((error = pthread_key_create(&key, NULL)) == 0) ++taken;
  CHECK(error == EAGAIN && taken > PTHREAD_KEYS_MAX / 2);
}

int main(void) {
  begin(60);
  take_all_keys();
  load_churn(1, 1000, NULL);
  const uintptr_t rounds = SCALED(100);
  for (uintptr_t round = 1; round <= rounds; ++round) {
    pthread_t threads[AT_ONCE];
    for (uintptr_t i = 0; i < AT_ONCE; ++i) {
      void* argument = (void*)(round * AT_ONCE + i);
      CHECK(pthread_create(&threads[i], NULL, body, argument) == 0);
    }
    for (int i = 0; i < AT_ONCE; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  }
  for (int i = 0; i < AT_ONCE; ++i) load_give(left_behind[i]);
  load_churn(2, 1000, NULL);
  return 0;
}
