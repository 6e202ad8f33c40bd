/* before_main: allocation from the pre-initialisers, from constructors of every priority, and from
 * a thread that one of them starts; all of it still whole in main.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "check.h"
#include "family.h"
#include "pattern.h"

enum { BLOCKS_MAX = 4096 };

static struct {
  void* block;
  size_t size;
} early[BLOCKS_MAX];
static size_t early_count;
static void* thread_blocks[100];
static pthread_t thread;

static void take_some(void) {
  for (size_t size = 1; size < 3000000; size += size / 3 + 1) {
    const size_t index = early_count++;
    CHECK(index < BLOCKS_MAX);
    void* block = index % 3 == 0 ? calloc(1, size) : malloc(size);
    CHECK(block != NULL);
    early[index].block = block;
    early[index].size = size;
    pattern_fill(block, size, (unsigned)index);
    void* gone = malloc(size);
    CHECK(gone != NULL);
    free(gone);
  }
}

static void* thread_body(void* unused) {
  for (size_t i = 0; i < 100; ++i) {
    thread_blocks[i] = malloc(i * 50 + 1);
    CHECK(thread_blocks[i] != NULL);
    pattern_fill(thread_blocks[i], i * 50 + 1, 1);
  }
  return unused;
}

/* Pre-initialisers run before the constructor of any library, libtarn.so's own included. */
static void pre_initialise(int argc, char** argv, char** environment) {
  (void)argc;
  (void)argv;
  (void)environment;
  take_some();
}
__attribute__((section(".preinit_array"),
               used)) static void (*pre_initialiser)(int, char**, char**) = pre_initialise;

__attribute__((constructor(101))) static void construct_first(void) { take_some(); }
__attribute__((constructor(65000))) static void construct_late(void) { take_some(); }
__attribute__((constructor)) static void construct_last(void) {
  take_some();
  CHECK(pthread_create(&thread, NULL, thread_body, NULL) == 0);
}

int main(void) {
  begin(30);
  CHECK(early_count > 100);
  take_some();
  CHECK(pthread_join(thread, NULL) == 0);
  for (size_t i = 0; i < early_count; ++i) {
    CHECK(pattern_holds(early[i].block, early[i].size, (unsigned)i));
    free(early[i].block);
  }
  for (size_t i = 0; i < 100; ++i) {
    CHECK(pattern_holds(thread_blocks[i], i * 50 + 1, 1));
    free(thread_blocks[i]);
  }
  return 0;
}
