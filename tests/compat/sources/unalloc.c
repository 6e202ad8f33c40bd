/* A program to the interface of "Fast by tens malloc() and free() at 25% memory cost": its
 * functions under their names, in its benchmark's ways: slots that are freed and filled, and that
 * are resized. C and C++.
 *
 * SPDX-License-Identifier: MIT */
#ifdef AS_FUNCTIONS /* Of compat/unalloc.c: a library that knows the names only. */
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
void* unalloc(size_t size);
void* uncalloc(size_t count, size_t size);
void* unrealloc(void* p, size_t size);
void unfree(void* p);
#ifdef __cplusplus
}
#endif
#else
#include <unalloc.h>
#endif

#include <string.h>

#include "require.h"

enum { slots = 1024, iterations = 100000 };
static char* table[slots];

/* A random slot is freed and filled again. */
static void free_and_allocate(void) {
  int i;
  memset(table, 0, sizeof table);
  srand(1);
  for (i = 0; i < iterations; ++i) {
    const int slot = rand() % slots;
    const size_t size = ((size_t)rand() & 0x7FFF) << 1;
    if (table[slot] != NULL) {
      REQUIRE(table[slot][0] == (char)slot);
      unfree(table[slot]);
    }
    table[slot] = (char*)unalloc(size + 1);
    REQUIRE(table[slot] != NULL);
    table[slot][0] = (char)slot;
  }
  for (i = 0; i < slots; ++i) unfree(table[i]);
}

/* A random slot is resized; null the first time. */
static void reallocate(void) {
  int i;
  memset(table, 0, sizeof table);
  for (i = 0; i < iterations; ++i) {
    const int slot = rand() % slots;
    const size_t size = ((size_t)rand() & 0x7FFF) << 1;
    const int is_new = table[slot] == NULL;
    table[slot] = (char*)unrealloc(table[slot], size + 1);
    REQUIRE(table[slot] != NULL);
    REQUIRE(is_new || table[slot][0] == (char)slot);
    table[slot][0] = (char)slot;
  }
  for (i = 0; i < slots; ++i) unfree(table[i]);
}

/* By the functions' addresses, as libraries are told of an allocator. */
static void by_address(void) {
  void* (*const allocate)(size_t) = unalloc;
  void* (*const resize)(void*, size_t) = unrealloc;
  void (*const give)(void*) = unfree;
  char* p = (char*)allocate(100);
  REQUIRE(p != NULL);
  p = (char*)resize(p, 128); /* Its class holds it. */
  give(p);
}

int main(void) {
  int* zeroed;
  int i;
  free_and_allocate();
  reallocate();
  by_address();
  zeroed = (int*)uncalloc(1000, sizeof *zeroed);
  REQUIRE(zeroed != NULL);
  for (i = 0; i < 1000; ++i) REQUIRE(zeroed[i] == 0);
  unfree(zeroed);
  unfree(NULL);
  return 0;
}
