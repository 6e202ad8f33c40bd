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

/* Allocate at least `bytes` bytes, as the functions in tarn/pool/class_pools.h do: aligned to 16;
 * aligned to `alignment`; and all zero. Null with ENOMEM when there is no memory. */
TARN_API TARN_ALLOCATES_SHARED(1) void* tarn_xmalloc(size_t bytes);
TARN_API TARN_ALLOCATES_SHARED(2) void* tarn_xmalloc_aligned(size_t alignment, size_t bytes);
TARN_API TARN_ALLOCATES_SHARED(1, 2) void* tarn_xcalloc(size_t count, size_t bytes);

/* Resizes a block as tarn_class_pools_reallocate does: it never moves to become smaller, and 0
 * bytes frees p and returns null. */
TARN_API TARN_MUST_USE void* tarn_xrealloc(void* p, size_t bytes);

/* Frees a block; null is ignored, and errno is kept. A pointer that is no live block of this family
 * is reported (`tarn: double free: xfree(...)`, `tarn: invalid free: xfree(...)`), and the process
 * ends; the lock is not held then. */
TARN_API void tarn_xfree(void* p);

/* How many bytes of the block may be used. 0 if p is not the start of a live block. p: any
 * pointer. */
TARN_API size_t tarn_xalloc_usable_bytes(const void* p);

/* Makes the family ready with these options, or with its own if they are null. Without this call it
 * makes itself ready when it is first used. Returns 0, or -1 as tarn_class_pools_init, and with
 * EBUSY when `options` is not null and the family is ready already; it stays ready after
 * tarn_xalloc_destroy as long as a block lives. A lock in the options is set as by
 * tarn_xalloc_set_lock; without one, the lock stays as it is. */
TARN_API int tarn_xalloc_init(const tarn_class_pools_options* options);

/* Gives back all memory that holds no live block, and resets the statistics. Live blocks stay, and
 * may be freed later, for instance by the destructor of a static object; then their memory goes
 * back, too. The next allocation begins anew. Linear in the chunks. */
TARN_API void tarn_xalloc_destroy(void);

/* Sets the lock of the family. With null it uses its own, as it does by default; the child of a
 * fork finds that one free. A struct without functions means no lock, for programs of one thread.
 * The functions of a lock must not use the family, and must not throw once the source has been
 * called. No other thread may use or hold (tarn_xalloc_lock) the family during this call. The lock
 * stays set after tarn_xalloc_destroy. */
TARN_API void tarn_xalloc_set_lock(const tarn_class_pools_lock* lock);

/* tarn_xalloc_lock keeps all other threads out until tarn_xalloc_unlock has been called as often.
 * The calling thread may use the family in between. An unlock without a lock does nothing. */
TARN_API void tarn_xalloc_lock(void);
TARN_API void tarn_xalloc_unlock(void);

/* These do what the functions in tarn/pool/class_pools.h do, under the lock. */
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
