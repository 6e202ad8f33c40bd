/* xmalloc and its sisters as functions (compat/xallocator.c): a library takes their addresses.
 *
 * SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "../check.h"

void* xmalloc(size_t size);
void xfree(void* p);
void* xrealloc(void* p, size_t size);
void xalloc_init(void);
void xalloc_destroy(void);
void xalloc_stats(void);

int main(void) {
  void* (*const allocate)(size_t) = xmalloc;
  void* (*const resize)(void*, size_t) = xrealloc;
  void (*const give)(void*) = xfree;
  xalloc_init();
  char* const p = allocate(100);
  CHECK(p != NULL);
  p[99] = 1;
  char* const q = resize(p, 1000);
  CHECK(q != NULL && q[99] == 1);
  give(q);
  xalloc_stats();
  xalloc_destroy();
  return 0;
}
