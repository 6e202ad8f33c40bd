/* compat/xallocator.h with a lock of the program's own: the four hooks are the program's, and are
 * used from xalloc_init to xalloc_destroy.
 *
 * SPDX-License-Identifier: MIT */
#define XALLOCATOR_OWN_LOCK
#include "xallocator.h"

#include "../check.h"

static int is_made;
static int held;
static int gets;
void lock_init(void) { is_made = 1; }
void lock_get(void) {
  CHECK(is_made && held++ == 0);
  ++gets;
}
void lock_release(void) { CHECK(--held == 0); }
void lock_destroy(void) {
  CHECK(held == 0);
  is_made = 0;
}

void test_own_lock(void);
void test_own_lock(void) {
  void* const before = xmalloc(10); /* The family's own lock; not these. */
  CHECK(gets == 0);
  xalloc_init();
  const int at_first = gets;
  void* const p = xmalloc(10);
  CHECK(gets == at_first + 1 && held == 0);
  volatile size_t too_much = SIZE_MAX;
  CHECK(xmalloc(too_much) == NULL && held == 0);
  xfree(xrealloc(p, 1000));
  CHECK(gets > at_first + 3);
  xalloc_destroy();
  const int at_last = gets;
  xfree(before);
  xfree(xmalloc(10));
  CHECK(gets == at_last && !is_made);
}
