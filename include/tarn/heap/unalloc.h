/* unalloc.h: malloc over segregated lists with a class table that the program chooses, in C and
 * C++. The process has one such heap, named "unalloc". Whatever comes first makes it: a choice of
 * its classes, or an allocation. It never ends, so blocks may be taken before main and freed by
 * destructors after it. tarn/compat/unalloc.h has the functions under the names of the source,
 * unalloc and its sisters.
 *
 * All sizes are in bytes. Every function may be called from any thread, and after fork. When there
 * is no memory, and for sizes or products above PTRDIFF_MAX, an allocation returns a null pointer
 * with errno ENOMEM and changes nothing. Constant time, apart from calls to the operating system
 * and from zeroing or copying contents. tarn_heap_of(block) is the heap; use it for statistics,
 * walks, ceilings and trimming. It cannot be destroyed, deleted or cleared (EINVAL).
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_UNALLOC_H
#define TARN_UNALLOC_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>

#include "../detail/api.h" /* Relative: tarn/compat may be the only include path. */

#ifdef __cplusplus
extern "C" {
#endif

/* Chooses classes: the doublings from 16 bytes to 128 KiB, each divided into `per_doubling` steps
 * (1: powers of two). Without a choice, TARN_OPTIONS=unalloc_steps=N sets the steps, 1 to 8, and
 * without that they are 1. Returns 0; or -1 with EBUSY when the heap is there already (it stays as
 * it is), with EINVAL for no steps or more than 64, with ENOSPC for more than 128 classes (from 13
 * steps on), and with ENOMEM. */
TARN_API int tarn_unalloc_use_steps(unsigned per_doubling);

/* Chooses a table of the program's own, which is copied. It is a table that a heap takes
 * (tarn_heap_options::class_bytes, tarn/heap/heap.h) with at least one size. Returns 0; or -1 with
 * EBUSY as above, with EINVAL for a table that is empty, does not ascend or has a size that is no
 * multiple of 16 or above 128 KiB, with ENOSPC for more than 128 sizes, and with ENOMEM. */
TARN_API int tarn_unalloc_use_classes(const size_t* class_bytes, size_t class_count);

/* Chooses the order in which freed blocks come back. yes: last in, first out, as the source has it:
 * of the blocks of one class the one that the calling thread has freed last is the next. They lie
 * on a stack of the thread's for each class (blocks of pages that other threads began go back to
 * these), count as live in the heap's statistics, and go back to their pages when the thread ends,
 * when memory is short, or when nobody wanted them for purge_delay_ms. 0: as their pages have them,
 * which keeps blocks together. Without a choice, TARN_OPTIONS=unalloc_lifo=1 chooses, and without
 * that it is 0. Returns 0; or -1 with EBUSY as above. */
TARN_API int tarn_unalloc_use_lifo(int yes);

/* A block of at least `size` bytes, aligned to 16, from the smallest class that holds them. It has
 * no header: 2^n bytes take 2^n. Above the last class it takes whole pages of 4 KiB. Size 0 gives a
 * block that may only be freed or resized. */
TARN_API TARN_ALLOCATES(1) void* tarn_unalloc(size_t size);

/* A block of count * size bytes, all of it zero. An overflowing product gives null with ENOMEM. */
TARN_API TARN_ALLOCATES(1, 2) void* tarn_uncalloc(size_t count, size_t size);

/* Resizes a block, keeping its contents up to the smaller size. It is neither moved nor copied
 * while its class holds the new size, however small that is. A null p allocates. Size 0 frees p and
 * gives null. On failure the result is null and p is as it was. p may be any block of tarn's; one
 * that moves becomes unalloc's. */
TARN_API void* tarn_unrealloc(void* p, size_t size);

/* Frees a block, from any thread. Null is ignored. errno is kept. tarn_free takes these blocks
 * too. */
TARN_API void tarn_unfree(void* p);

#ifdef __cplusplus
}
#endif

#endif
#endif
