/* xalloc.h: blocks of recycled sizes behind a malloc-like interface, in C and C++.
 * compat/xallocator.h offers it as xmalloc and its sisters. (After D. Lafreniere, "Replace
 * malloc/free with a Fast Fixed Block Memory Allocator", 2016.)
 *
 * A request is rounded up to a class: powers of two from 16 bytes to 128 KiB, 48, 396 and 768, or
 * powers of two and those that tarn_xalloc_init names. Blocks of a class come from malloc's pages
 * for that size, and are counted, so that each class says how many blocks were made and are in use.
 * Larger requests are large blocks, in whole pages of 4 KiB, counted by powers of two.
 *
 * Any thread, without a lock; usable before main and to the end of the process, and in the child of
 * a fork as in its parent. Allocating and freeing take constant time, apart from calls of the
 * operating system. tarn_realloc and tarn_free take the blocks, too, but leave them counted as in
 * use; so does a block that came from tarn_malloc and goes by tarn_xfree spoil the count.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_XALLOC_H
#define TARN_XALLOC_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "../detail/api.h"
#include "../detail/sized.h"
#include "../source/mode.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Allocate at least `bytes` bytes (0: a block of the smallest class): aligned to 16; aligned to
 * `alignment`, a power of two (else null with EINVAL); and all zero. The product is checked. Null
 * with ENOMEM when there is no memory. */
TARN_API TARN_ALLOCATES_SHARED(1) void* tarn_xmalloc(size_t bytes);
TARN_API TARN_ALLOCATES_SHARED(2) void* tarn_xmalloc_aligned(size_t alignment, size_t bytes);
TARN_API TARN_ALLOCATES_SHARED(1, 2) void* tarn_xcalloc(size_t count, size_t bytes);

/* Resizes a block. It stays where it is as long as its class has room, so within a class it never
 * moves to become smaller. Otherwise the contents are copied to a new block, aligned to 16. A null
 * p is allocated; 0 bytes frees p and returns null. On failure it returns null, and p is as it
 * was. */
TARN_API TARN_MUST_USE void* tarn_xrealloc(void* p, size_t bytes);

/* Frees a block, from any thread; null is ignored, and errno is kept. A pointer that is not the
 * start of a block is reported (`tarn: invalid free: xfree(...)`) where tarn_free tells that, too,
 * and above 1 KiB always, and ends the process. So is what the calling thread has just freed
 * (`tarn: double free: ...`): the last block of the same page, above 1 KiB one of the last four of
 * the class. A checked mode finds all wrong frees.
 *
 * Blocks above 1 KiB are kept for the calling thread to take again, last in, first out, and then
 * cost no touch of their memory. They go back like other free memory: what was not wanted for
 * purge_delay_ms when memory is next looked after, all of them at a trim, when the thread says that
 * it is idle or ends, and before an allocation fails. What other threads keep gives its memory up
 * then, but serves no other thread before its own allocates or frees again. */
TARN_API void tarn_xfree(void* p);

/* How many bytes of the block may be used: the size of its class. 0 for null and for what is no
 * block of malloc's heap; in a mode that is not fast, of the family's. */
TARN_API size_t tarn_xalloc_usable_bytes(const void* p);

/* A lock of the program's own. */
typedef struct tarn_xalloc_hooks {
  void (*lock)(void* context);
  void (*unlock)(void* context);
  void* context;
} tarn_xalloc_hooks;

enum tarn_xalloc_flag {
  TARN_XALLOC_COUNT_REQUESTS = 1 /* Each request is counted, at the price of the slow path. */
};

typedef struct tarn_xalloc_options {
  size_t bytes;              /* TARN_XALLOC_OPTIONS(...) sets it. */
  const size_t* class_bytes; /* Classes besides the powers of two: ascending, of at least 1. */
  size_t class_count;
  unsigned flags; /* Of enum tarn_xalloc_flag. */
  int mode;       /* An enum tarn_mode. TARN_OPTIONS=xalloc_mode=1 makes fast checked, and so on. */
} tarn_xalloc_options;

#define TARN_XALLOC_OPTIONS(...) TARN_SIZED(tarn_xalloc_options, __VA_ARGS__)

/* Chooses the classes, once and before the first block is allocated. Null options: the usual ones,
 * as without this call. A block takes its class's size rounded up to a multiple of 16, and from 1
 * KiB on to an eighth of a doubling; of two classes that take the same, the larger one stays. In a
 * mode that is not fast the family has a heap of its own, and blocks have the bytes that were asked
 * for; tarn/heap/heap.h says what each mode finds. Returns 0; or -1 with EBUSY when that was chosen
 * or a block was allocated before, with EINVAL for another mode and for classes that do not ascend
 * or are larger than 128 KiB, and as tarn_heap_create. */
TARN_API int tarn_xalloc_init(const tarn_xalloc_options* options);

/* Gives back what holds no live block (as tarn_malloc_trim), and counts from then on as if only the
 * live blocks had ever been made. Live blocks stay, and may be freed later, for instance by the
 * destructor of a static object. What other threads do meanwhile may be miscounted. */
TARN_API void tarn_xalloc_destroy(void);

/* From now on each operation takes the slow path and holds this lock once, while it counts; it is
 * not held while memory is asked for, nor for a report. Null: there is no lock, as at first, and
 * none is needed. The functions must not use the family. No other thread may use it during this
 * call. */
TARN_API void tarn_xalloc_set_lock(const tarn_xalloc_hooks* lock);

/* A lock that the program may use; no function above waits for it. tarn_xalloc_lock keeps other
 * callers of itself out until tarn_xalloc_unlock has been called as often. An unlock without a lock
 * does nothing. In the child of a fork it is held only if the forking thread holds it. */
TARN_API void tarn_xalloc_lock(void);
TARN_API void tarn_xalloc_unlock(void);

/* The numbers of one class. If the average request is far below block_bytes, or if the smallest and
 * the largest are equal, a class of that size would save memory. */
typedef struct tarn_xalloc_class_stats {
  size_t bytes;       /* TARN_XALLOC_CLASS_STATS(...) sets it. */
  size_t block_bytes; /* The size by which the class is named. Its blocks take a multiple of 16. */
  uint64_t in_use;

  /* How many blocks recycling has made: the most that were in use at the same time. In a program
   * with several threads some hundred more for each of them: what a thread has freed stays its own,
   * up to such a number, and others make blocks instead. */
  uint64_t in_use_peak;

  /* With TARN_XALLOC_COUNT_REQUESTS, and for large blocks, what was asked for: how often, the sum,
   * the smallest and the largest. Otherwise 0. */
  uint64_t requests;
  uint64_t requested_bytes;
  size_t requested_bytes_min;
  size_t requested_bytes_max;
} tarn_xalloc_class_stats;

#define TARN_XALLOC_CLASS_STATS(...) TARN_SIZED(tarn_xalloc_class_stats, __VA_ARGS__)

/* Sets *stats to the numbers of a class. Classes are numbered from 0 by size; behind those that
 * were chosen stand the powers of two that large blocks are counted under. Exact when no other
 * thread is using the family. Returns 0, or -1 with EINVAL, also when there is no class of that
 * number. Time linear in the most threads that there were at once. */
TARN_API int tarn_xalloc_get_class_stats(size_t number, tarn_xalloc_class_stats* stats);

#ifdef __cplusplus
}
#endif

#endif
#endif
