/* A program to the interface of D. Lafreniere's xallocator in C and C++: each function, as the
 * article and its main use them, with its benchmark's sizes.
 *
 * SPDX-License-Identifier: MIT */
#ifdef AS_FUNCTIONS /* Of compat/xallocator.c: a library that knows the names only. */
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
void* xmalloc(size_t size);
void xfree(void* p);
void* xrealloc(void* p, size_t size);
void xalloc_init(void);
void xalloc_destroy(void);
void xalloc_stats(void);
#ifdef __cplusplus
}
#endif
#else
#include "xallocator.h"
#endif

#include <stdint.h>
#include <string.h>

#include "require.h"

typedef void* (*AllocFunc)(size_t size);
typedef void (*DeallocFunc)(void* ptr);

enum { allocations = 10000, size_most = 4000 };
static void* blocks[allocations];
static void* larger[allocations];

/* Half-sized blocks, every other one freed, full-sized blocks, and all freed. */
static void benchmark(AllocFunc allocate, DeallocFunc deallocate) {
  int i;
  for (i = 0; i < allocations; ++i) {
    blocks[i] = allocate(size_most / 2);
    REQUIRE(blocks[i] != NULL);
    memcpy(blocks[i], &i, sizeof i);
  }
  for (i = 0; i < allocations; i += 2) deallocate(blocks[i]);
  for (i = 0; i < allocations; ++i) {
    larger[i] = allocate(size_most);
    REQUIRE(larger[i] != NULL);
  }
  for (i = 1; i < allocations; i += 2) {
    REQUIRE(memcmp(blocks[i], &i, sizeof i) == 0);
    deallocate(blocks[i]);
  }
  for (i = allocations - 1; i >= 0; --i) deallocate(larger[i]);
}

static void each_size(void) {
  size_t size;
  for (size = 0; size <= 5000; size += 1 + size / 16) {
    char* p = (char*)xmalloc(size);
    REQUIRE(p != NULL && (uintptr_t)p % sizeof(void*) == 0);
    memset(p, 1, size);
    p = (char*)xrealloc(p, 2 * size + 1);
    REQUIRE(p != NULL && (size == 0 || p[size - 1] == 1));
    xfree(p);
  }
}

int main(void) {
  char* text;
  int run;
  xalloc_init();
  xfree(xmalloc(100));
  text = (char*)xmalloc(24);
  strcpy(text, "TEST STRING");
  text = (char*)xrealloc(text, 124);
  REQUIRE(strcmp(text, "TEST STRING") == 0);
  xfree(text);
  text = (char*)xrealloc(NULL, 10);
  REQUIRE(text != NULL);
  REQUIRE(xrealloc(text, 0) == NULL);
  xfree(NULL);
  each_size();
  for (run = 0; run < 3; ++run) benchmark(xmalloc, xfree);
  xalloc_stats();
#ifndef AS_FUNCTIONS
  lock_get();
  xfree(xmalloc(16));
  lock_release();
#endif
  xalloc_destroy();
  return 0;
}
