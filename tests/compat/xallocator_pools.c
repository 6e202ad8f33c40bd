/* compat/xallocator.h with STATIC_POOLS, in C: no heap, no OS, before main.
 *
 * SPDX-License-Identifier: MIT */
#include "xallocator.h"

#include <stdint.h>
#include <string.h>

#include "../check.h"

static const char* misuse;
void tarn_static_misuse(const char* kind, const void* pool, const void* p);
void tarn_static_misuse(const char* kind, const void* pool, const void* p) {
  (void)pool;
  (void)p;
  misuse = kind;
}

/* A heap that nobody may call while this is set; stdio has its buffer by then. */
static int no_heap;
#ifndef TARN_SANITIZED /* They have one of their own. */
void* __libc_malloc(size_t size);
void* malloc(size_t size);
void* malloc(size_t size) {
  if (no_heap) abort();
  return __libc_malloc(size);
}
#endif

static char* early;
__attribute__((constructor)) static void before_main(void) { early = xmalloc(390); }

int main(void) {
  CHECK(early != NULL);
  printf("%d classes at most\n", MAX_ALLOCATORS);
  no_heap = 1;
  xalloc_init();
  lock_init();
  lock_get();
  lock_release();
  lock_destroy();

  char* blocks[MAX_BLOCKS];
  for (int i = 0; i < MAX_BLOCKS; ++i) {
    blocks[i] = xmalloc(200);
    CHECK(blocks[i] != NULL && (uintptr_t)blocks[i] % 16 == 0);
    memset(blocks[i], i, 256);
  }
  CHECK(xmalloc(200) == NULL); /* Strict: no other class serves it. */
  xfree(blocks[5]);
  CHECK(xmalloc(250) == blocks[5]);
  for (int i = 0; i < MAX_BLOCKS; ++i) {
    for (int j = 0; j < 256; ++j) CHECK(i == 5 || blocks[i][j] == (char)i);
    xfree(blocks[i]);
  }
  CHECK(xmalloc(4097) == NULL && xmalloc(SIZE_MAX - 3) == NULL);

  CHECK((uintptr_t)xmalloc(385) % 16 == 0 && (uintptr_t)xmalloc(385) % 16 == 0);
  char* p = xmalloc(300);
  strcpy(p, "contents");
  CHECK(xrealloc(p, 10) == p && xrealloc(p, 396) == p);
  char* const grown = xrealloc(p, 397);
  CHECK(grown != p && strcmp(grown, "contents") == 0);
  CHECK(xrealloc(grown, 5000) == NULL && strcmp(grown, "contents") == 0);
  CHECK(xrealloc(grown, 0) == NULL);
  CHECK(misuse == NULL);

  xfree(grown);
  CHECK(misuse != NULL && strcmp(misuse, "double free") == 0);
  misuse = NULL;
  xfree(&p);
  CHECK(misuse != NULL && strcmp(misuse, "invalid free") == 0);
  misuse = NULL;
  xfree(early + 1);
  CHECK(misuse != NULL && strcmp(misuse, "invalid free") == 0);
  misuse = NULL;
  CHECK(xrealloc(grown, 20) == NULL && misuse != NULL);

  size_t bytes = 0;
  size_t peak = 0;
  size_t in_use = 0;
  size_t classes = 0;
  for (; tarn_xstatic_stats(classes, &bytes, &peak, &in_use); ++classes) {
    if (bytes == 396) CHECK(in_use == 3 && peak == 4);
    if (bytes == 256) CHECK(in_use == 0 && peak == MAX_BLOCKS);
  }
  CHECK(classes == MAX_ALLOCATORS);
  xfree(early);
  xalloc_stats();
  xalloc_destroy();
  CHECK(tarn_xstatic_check() == 1);
  return 0;
}
