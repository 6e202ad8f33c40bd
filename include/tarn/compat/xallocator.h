/* compat/xallocator.h: the names of D. Lafreniere's xallocator ("Replace malloc/free with a Fast
 * Fixed Block Memory Allocator"), in C and C++, over tarn/pool/xalloc.h, which says what each
 * function promises. The library exports none of the names: a program compiles with this folder
 * among its include paths, and links with tarn. docs/xallocator.md says what differs from the
 * source. (compat/xallocator.c makes functions of them, for who needs their names.)
 *
 * With STATIC_POOLS, defined in all files alike, nothing of the library is linked: compile
 * xallocator_static.c, which lies beside this file, with the program.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_COMPAT_XALLOCATOR_H
#define TARN_COMPAT_XALLOCATOR_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>

#include "../detail/api.h"
#include "DataTypes.h"

#if defined(TARN_XALLOCATOR_FUNCTIONS) && defined(__cplusplus)
#define TARN_XALLOCATOR_INLINE extern "C"
#elif defined(TARN_XALLOCATOR_FUNCTIONS)
#define TARN_XALLOCATOR_INLINE extern
#elif defined(__cplusplus)
#define TARN_XALLOCATOR_INLINE TARN_NOTES_CALLER inline
#else
#define TARN_XALLOCATOR_INLINE TARN_NOTES_CALLER static inline
#endif

/* How xalloc_stats prints a line. Without a C library it prints nothing. */
#ifndef XALLOCATOR_PRINT
#if __STDC_HOSTED__
#include <stdio.h>
#define XALLOCATOR_PRINT(bytes, count, in_use)                                      \
  ((void)printf("xallocator Block Size: %lu Block Count: %lu Blocks In Use: %lu\n", \
                (unsigned long)(bytes), (unsigned long)(count), (unsigned long)(in_use)))
#else
#define XALLOCATOR_PRINT(bytes, count, in_use) ((void)(bytes), (void)(count), (void)(in_use))
#endif
#endif

/* To use a lock of the program's own, define XALLOCATOR_OWN_LOCK in all files alike, and these four
 * functions. They are called from xalloc_init to xalloc_destroy. lock_get and lock_release must not
 * use the family. */
#ifdef XALLOCATOR_OWN_LOCK
#ifdef __cplusplus
extern "C" {
#endif
void lock_init(void);
void lock_get(void);
void lock_release(void);
void lock_destroy(void);
#ifdef __cplusplus
}
#endif
#endif

#ifdef STATIC_POOLS
/* How many blocks each class of the static pools has. */
#ifndef MAX_BLOCKS
#define MAX_BLOCKS 32
#endif

#ifdef __cplusplus
extern "C" {
#endif
void* tarn_xstatic_malloc(size_t alignment, size_t bytes);
void* tarn_xstatic_realloc(void* p, size_t bytes);
void tarn_xstatic_free(void* p);
size_t tarn_xstatic_usable_bytes(const void* p);
int tarn_xstatic_check(void);
/* The counts of a class. Returns 1, or 0 when there is no class with that number; numbers begin
 * with 0. */
int tarn_xstatic_stats(size_t number, size_t* block_bytes, size_t* peak, size_t* in_use);
void tarn_xstatic_use_lock(int yes);
#ifdef __cplusplus
}
#endif

TARN_XALLOCATOR_INLINE void* xmalloc(size_t size) { return tarn_xstatic_malloc(16, size); }
TARN_XALLOCATOR_INLINE void xfree(void* p) { tarn_xstatic_free(p); }
TARN_XALLOCATOR_INLINE void* xrealloc(void* p, size_t size) {
  return tarn_xstatic_realloc(p, size);
}

#ifdef XALLOCATOR_OWN_LOCK
TARN_XALLOCATOR_INLINE void xalloc_init(void) {
  lock_init();
  tarn_xstatic_use_lock(1);
}
TARN_XALLOCATOR_INLINE void xalloc_destroy(void) {
  tarn_xstatic_use_lock(0);
  lock_destroy();
}
#else
TARN_XALLOCATOR_INLINE void xalloc_init(void) {}
TARN_XALLOCATOR_INLINE void xalloc_destroy(void) {}
#ifndef XALLOCATOR_NO_LOCK_NAMES
TARN_XALLOCATOR_INLINE void lock_init(void) {}
TARN_XALLOCATOR_INLINE void lock_get(void) {}
TARN_XALLOCATOR_INLINE void lock_release(void) {}
TARN_XALLOCATOR_INLINE void lock_destroy(void) {}
#endif
#endif

TARN_XALLOCATOR_INLINE void xalloc_stats(void) {
  size_t bytes = 0;
  size_t peak = 0;
  size_t in_use = 0;
  size_t i;
  for (i = 0; tarn_xstatic_stats(i, &bytes, &peak, &in_use); ++i) {
    if (peak != 0) XALLOCATOR_PRINT(bytes, peak, in_use);
  }
}

#else
#include "../pool/xalloc.h"

/* The sizes of the source's tables. Here no table can be full. */
#ifndef MAX_BLOCKS
#define MAX_BLOCKS 32
#endif
#ifndef MAX_ALLOCATORS
#define MAX_ALLOCATORS 45
#endif

TARN_XALLOCATOR_INLINE void* xmalloc(size_t size) { return tarn_xmalloc(size); }
TARN_XALLOCATOR_INLINE void xfree(void* p) { tarn_xfree(p); }
TARN_XALLOCATOR_INLINE void* xrealloc(void* p, size_t size) { return tarn_xrealloc(p, size); }

#ifdef XALLOCATOR_OWN_LOCK
TARN_XALLOCATOR_INLINE void tarn_xallocator_get(void* context) {
  (void)context;
  lock_get();
}
TARN_XALLOCATOR_INLINE void tarn_xallocator_release(void* context) {
  (void)context;
  lock_release();
}
TARN_XALLOCATOR_INLINE void xalloc_init(void) {
  const tarn_xalloc_hooks lock = {tarn_xallocator_get, tarn_xallocator_release, NULL};
  lock_init();
  tarn_xalloc_set_lock(&lock);
  (void)tarn_xalloc_init(NULL);
}
TARN_XALLOCATOR_INLINE void xalloc_destroy(void) {
  tarn_xalloc_destroy();
  tarn_xalloc_set_lock(NULL);
  lock_destroy();
}
#else
/* Neither of these two needs to be called. */
TARN_XALLOCATOR_INLINE void xalloc_init(void) { (void)tarn_xalloc_init(NULL); }
TARN_XALLOCATOR_INLINE void xalloc_destroy(void) { tarn_xalloc_destroy(); }
/* Between lock_get and lock_release other threads are kept out; the calling thread may use the
 * family. A program that uses these names for something else defines XALLOCATOR_NO_LOCK_NAMES. */
#ifndef XALLOCATOR_NO_LOCK_NAMES
TARN_XALLOCATOR_INLINE void lock_init(void) {}
TARN_XALLOCATOR_INLINE void lock_get(void) { tarn_xalloc_lock(); }
TARN_XALLOCATOR_INLINE void lock_release(void) { tarn_xalloc_unlock(); }
TARN_XALLOCATOR_INLINE void lock_destroy(void) {}
#endif
#endif

/* Prints a line on standard output for each class that was used. Block Count is the most blocks
 * that were in use at the same time, which is how many blocks recycling has made. */
TARN_XALLOCATOR_INLINE void xalloc_stats(void) {
  tarn_xalloc_class_stats stats = TARN_XALLOC_CLASS_STATS();
  size_t i;
  for (i = 0; tarn_xalloc_get_class_stats(i, &stats) == 0; ++i) {
    if (stats.in_use_peak != 0) {
      XALLOCATOR_PRINT(stats.block_bytes, stats.in_use_peak, stats.in_use);
    }
  }
}
#endif

#ifdef __cplusplus
#include "xallocator_class.hpp"
#endif

#endif
#endif
