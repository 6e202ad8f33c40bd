/* xallocator_static.c: the family of compat/xallocator.h from static pools, whose sizes and counts
 * are chosen at compile time: no heap, no OS, no library. Compile it with the program, as C11 or
 * C++17. Define STATIC_POOLS everywhere, and the same of these:
 *
 *   MAX_BLOCKS              blocks of each class (32)
 *   XALLOCATOR_CLASSES(X)   the classes, ascending: X(bytes, blocks) X(bytes, blocks) ...; numbers
 *   MAX_ALLOCATORS          if defined: there must not be more classes than that
 *   XALLOCATOR_SPILL        1: a class that is exhausted is served by the next one (0)
 *   XALLOCATOR_OWN_LOCK     the program's lock, from xalloc_init to xalloc_destroy
 *   XALLOCATOR_LOCK_FREE    for threads, interrupt and signal handlers (the default with a C
 * library) XALLOCATOR_NO_LOCK      for one thread at a time (the default without)
 *
 * Usable before main. A wrong free: see tarn_static_misuse (tarn/detail/static_bits.h).
 *
 * SPDX-License-Identifier: MIT */
#ifndef STATIC_POOLS
#define STATIC_POOLS
#endif
#include "xallocator.h"

#include "../pool/static_pool.h"

/* The list of classes is laid out as a table. */
/* clang-format off */
#ifndef XALLOCATOR_CLASSES
#define XALLOCATOR_CLASSES(X)                                                             \
  X(16, MAX_BLOCKS) X(32, MAX_BLOCKS) X(64, MAX_BLOCKS) X(128, MAX_BLOCKS)                \
  X(256, MAX_BLOCKS) X(396, MAX_BLOCKS) X(512, MAX_BLOCKS) X(768, MAX_BLOCKS)             \
  X(1024, MAX_BLOCKS) X(2048, MAX_BLOCKS) X(4096, MAX_BLOCKS)
#endif
/* clang-format on */
#ifndef XALLOCATOR_SPILL
#define XALLOCATOR_SPILL 0
#endif

#if __STDC_HOSTED__ && !defined(XALLOCATOR_OWN_LOCK) && !defined(XALLOCATOR_NO_LOCK) && \
    !defined(XALLOCATOR_LOCK_FREE)
#define XALLOCATOR_LOCK_FREE
#endif

#ifdef XALLOCATOR_OWN_LOCK
static int tarn_xstatic_locks;
#define TARN_XSTATIC_LOCK(pool) ((void)(pool), tarn_xstatic_locks ? lock_get() : (void)0)
#define TARN_XSTATIC_UNLOCK(pool) ((void)(pool), tarn_xstatic_locks ? lock_release() : (void)0)
void tarn_xstatic_use_lock(int yes) { tarn_xstatic_locks = yes; }
#else
#define TARN_XSTATIC_LOCK(pool) ((void)(pool))
#define TARN_XSTATIC_UNLOCK(pool) ((void)(pool))
void tarn_xstatic_use_lock(int yes) { (void)yes; }
#endif

#ifdef XALLOCATOR_LOCK_FREE
#define TARN_XSTATIC_POOL(bytes, blocks) \
  TARN_STATIC_POOL_LOCK_FREE(tarn_xpool_##bytes, bytes, blocks, 16)
#else
#define TARN_XSTATIC_POOL(bytes, blocks)                                          \
  TARN_STATIC_POOL_WITH(tarn_xpool_##bytes, bytes, blocks, 16, TARN_XSTATIC_LOCK, \
                        TARN_XSTATIC_UNLOCK)
#endif
XALLOCATOR_CLASSES(TARN_XSTATIC_POOL)

#define TARN_XSTATIC_MEMBER(bytes, blocks) struct tarn_xpool_##bytes of_##bytes;
static struct tarn_xstatic { XALLOCATOR_CLASSES(TARN_XSTATIC_MEMBER) } tarn_xstatic;

#define TARN_XSTATIC_NOT_ABOVE(bytes, blocks) < (size_t)(bytes) ? 0 : 1) + ((size_t)(bytes)
TARN_STATIC_ASSERT(((size_t)0 XALLOCATOR_CLASSES(TARN_XSTATIC_NOT_ABOVE) < SIZE_MAX ? 0 : 1) == 0,
                   "the classes of xallocator ascend by their bytes");
#ifdef MAX_ALLOCATORS
#define TARN_XSTATIC_ONE(bytes, blocks) +1
TARN_STATIC_ASSERT(0 XALLOCATOR_CLASSES(TARN_XSTATIC_ONE) <= MAX_ALLOCATORS,
                   "MAX_ALLOCATORS is less than the classes of XALLOCATOR_CLASSES");
#endif

/* Blocks are aligned to 16. */
void* tarn_xstatic_malloc(size_t alignment, size_t bytes) {
  void* p = NULL;
  int tries = alignment <= 16;
#define TARN_XSTATIC_TRY(size, blocks)                         \
  if (tries && bytes <= (size)) {                              \
    p = tarn_xpool_##size##_allocate(&tarn_xstatic.of_##size); \
    tries = p == NULL && XALLOCATOR_SPILL;                     \
  }
  XALLOCATOR_CLASSES(TARN_XSTATIC_TRY)
  return p;
}

void tarn_xstatic_free(void* p) {
#define TARN_XSTATIC_GIVE(size, blocks)                         \
  if (tarn_xpool_##size##_owns(&tarn_xstatic.of_##size, p)) {   \
    tarn_xpool_##size##_deallocate(&tarn_xstatic.of_##size, p); \
  } else
  XALLOCATOR_CLASSES(TARN_XSTATIC_GIVE) {
    tarn_static_judge(TARN_STATIC_FOREIGN, &tarn_xstatic, p);
  }
}

size_t tarn_xstatic_usable_bytes(const void* p) {
#define TARN_XSTATIC_USABLE(size, blocks) \
  if (tarn_xpool_##size##_is_live(&tarn_xstatic.of_##size, p)) return size;
  XALLOCATOR_CLASSES(TARN_XSTATIC_USABLE)
  return 0;
}

void* tarn_xstatic_realloc(void* p, size_t bytes) {
  size_t usable;
  void* moved;
  if (p == NULL) return tarn_xstatic_malloc(16, bytes);
  usable = tarn_xstatic_usable_bytes(p);
  if (bytes == 0 || usable == 0) { /* Reports what is no live block. */
    tarn_xstatic_free(p);
    return NULL;
  }
  if (bytes <= usable) return p;
  moved = tarn_xstatic_malloc(16, bytes);
  if (moved == NULL) return NULL;
  __builtin_memcpy(moved, p, usable);
  tarn_xstatic_free(p);
  return moved;
}

int tarn_xstatic_stats(size_t number, size_t* block_bytes, size_t* peak, size_t* in_use) {
#define TARN_XSTATIC_STATS(size, blocks)                                                \
  if (number-- == 0) {                                                                  \
    const tarn_static_stats stats = tarn_xpool_##size##_stats(&tarn_xstatic.of_##size); \
    *block_bytes = stats.block_bytes;                                                   \
    *peak = stats.peak;                                                                 \
    *in_use = stats.in_use;                                                             \
    return 1;                                                                           \
  }
  XALLOCATOR_CLASSES(TARN_XSTATIC_STATS)
  return 0;
}

int tarn_xstatic_check(void) {
#define TARN_XSTATIC_CHECK(size, blocks) \
  if (!tarn_xpool_##size##_check(&tarn_xstatic.of_##size)) return 0;
  XALLOCATOR_CLASSES(TARN_XSTATIC_CHECK)
  return 1;
}
