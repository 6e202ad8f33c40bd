/* xalloc.h: one set of class pools (tarn/pool/class_pools.h) that the whole process shares, in C
 * and C++. compat/xallocator.h offers it as xmalloc and its sisters. (After D. Lafreniere, "Replace
 * malloc/free with a Fast Fixed Block Memory Allocator", 2016.)
 *
 * Any thread, under one lock. Usable before main and to the end of the process, and in the child of
 * a fork as in its parent. Classes: powers of two, 396 and 768, or those that tarn_xalloc_init
 * names. Memory comes from malloc's heap (tarn/heap/heap.h). The lock is not held while the source
 * is called, nor while owners of other memory are asked (tarn/heap/recover.h), so these may use the
 * family.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_XALLOC_H
#define TARN_XALLOC_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include "class_pools.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As in tarn/pool/class_pools.h: at least `bytes` bytes aligned to 16, to `alignment`, zero. Null
 * and ENOMEM when there are none. */
TARN_API TARN_ALLOCATES_SHARED(1) void* tarn_xmalloc(size_t bytes);
TARN_API TARN_ALLOCATES_SHARED(2) void* tarn_xmalloc_aligned(size_t alignment, size_t bytes);
TARN_API TARN_ALLOCATES_SHARED(1, 2) void* tarn_xcalloc(size_t count, size_t bytes);

/* As tarn_class_pools_reallocate: never moves to become smaller; 0 bytes frees p and gives null. */
TARN_API TARN_MUST_USE void* tarn_xrealloc(void* p, size_t bytes);

/* Takes a block back; null is ignored, errno is kept. What is no live block of this family is
 * reported (`tarn: double free: xfree(...)`, `tarn: invalid free: xfree(...)`) and ends the
 * process, without the lock. */
TARN_API void tarn_xfree(void* p);

/* What the block may use; 0: p is not the start of a live block. Any pointer. */
TARN_API size_t tarn_xalloc_usable_bytes(const void* p);

/* Has the family ready, with these options or (null) its own. It makes itself ready at the first
 * call, so nobody need do this. 0, or -1: EBUSY where `options` is not null and it is ready, as it
 * stays after tarn_xalloc_destroy while a block lives; else as tarn_class_pools_init. A lock in the
 * options is as for tarn_xalloc_set_lock; none there changes nothing. */
TARN_API int tarn_xalloc_init(const tarn_class_pools_options* options);

/* Gives all memory back that holds no live block, and begins the statistics anew. Live blocks stay;
 * each may be freed, by a destructor of a static object for instance: then its memory goes, too.
 * The next allocation is as the first one was. Linear in the chunks. */
TARN_API void tarn_xalloc_destroy(void);

/* The lock of the family: null, one of its own (the default), which the child of a fork finds free;
 * without functions, none: for programs of one thread; else yours, whose functions must not use the
 * family, nor throw once the source has been called. Call it while nobody else uses that, nor holds
 * it (tarn_xalloc_lock). It lasts beyond tarn_xalloc_destroy. */
TARN_API void tarn_xalloc_set_lock(const tarn_class_pools_lock* lock);

/* The first keeps all other threads out, until the second was called as often. The second does
 * nothing without a first. The family may be used between. */
TARN_API void tarn_xalloc_lock(void);
TARN_API void tarn_xalloc_unlock(void);

/* As in tarn/pool/class_pools.h, under the lock. */
TARN_API int tarn_xalloc_get_class_stats(size_t number, tarn_class_pool_stats* stats);
TARN_API int tarn_xalloc_get_stats(tarn_class_pools_stats* stats);
TARN_API void* tarn_xalloc_next(const void* p, size_t* bytes);
TARN_API size_t tarn_xalloc_trim(void);
TARN_API int tarn_xalloc_check(void);

#ifdef __cplusplus
}
#endif

#endif
#endif
