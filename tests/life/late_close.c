/* late_close: libtarn.so is opened and closed again by a program that runs on another malloc. Its
 * threads allocated meanwhile and end afterwards, and blocks outlive the handle.
 *
 * Usage: late_close LIBTARN_SO. Nothing is preloaded.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "check.h"
#include "pattern.h"

enum { THREADS = 16, ROUNDS = 20, BLOCKS = 40 };

typedef struct functions {
  void* (*take)(size_t size);
  void (*give)(void* block);
} functions;

static functions tarn;
static pthread_barrier_t have_allocated;
static pthread_barrier_t is_closed;

static void* find(void* library, const char* name) {
  void* found = dlsym(library, name);
  CHECK(found != NULL);
  return found;
}

static void* open_library(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) dprintf(STDERR_FILENO, "%s\n", dlerror());
  CHECK(library != NULL);
  void* take = find(library, "tarn_malloc");
  void* give = find(library, "tarn_free");
  memcpy(&tarn.take, &take, sizeof take);
  memcpy(&tarn.give, &give, sizeof give);
  return library;
}

static void* body(void* argument) {
  const size_t seed = (size_t)(uintptr_t)argument;
  void* blocks[BLOCKS];
  for (size_t i = 0; i < BLOCKS; ++i) {
    const size_t size = i == 0 ? 200000 : i * 30 + seed;
    blocks[i] = tarn.take(size);
    CHECK(blocks[i] != NULL);
    pattern_fill(blocks[i], size, (unsigned)i);
  }
  pthread_barrier_wait(&have_allocated);
  pthread_barrier_wait(&is_closed);
  for (size_t i = 0; i < BLOCKS; ++i) {
    CHECK(pattern_holds(blocks[i], i == 0 ? 200000 : i * 30 + seed, (unsigned)i));
    if (seed % 2 == 0) tarn.give(blocks[i]); /* Its code is still there. */
  }
  return NULL;
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  alarm(60);
  CHECK(pthread_barrier_init(&have_allocated, NULL, THREADS + 1) == 0);
  CHECK(pthread_barrier_init(&is_closed, NULL, THREADS + 1) == 0);
  void* block = NULL;
  for (int round = 0; round < ROUNDS; ++round) {
    void* library = open_library(argv[1]);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; ++i) {
      CHECK(pthread_create(&threads[i], NULL, body, (void*)(i + 1)) == 0);
    }
    pthread_barrier_wait(&have_allocated);
    if (round > 0) CHECK(pattern_holds(block, 1000, (unsigned)round - 1));
    tarn.give(block);
    block = tarn.take(1000);
    CHECK(block != NULL);
    pattern_fill(block, 1000, (unsigned)round);
    CHECK(dlclose(library) == 0);
    pthread_barrier_wait(&is_closed);
    for (int i = 0; i < THREADS; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  }
  CHECK(pattern_holds(block, 1000, ROUNDS - 1));
  return 0;
}
