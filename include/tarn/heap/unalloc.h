/* unalloc.h: malloc over segregated lists with a class table that the program chooses, in C and
 * C++. One heap for the process, named "unalloc", made by whatever comes first: a choice of its
 * classes, or an allocation. It never ends, so blocks may be taken before main and freed by
 * destructors after it. Under the names of the source, unalloc and its sisters, the functions are
 * in tarn/compat/unalloc.h.
 *
 * All sizes are bytes. Every function may be called from any thread, and after fork. Out of memory,
 * an overflowing product or a size above PTRDIFF_MAX gives a null pointer and errno ENOMEM; nothing
 * has changed then. Constant time, apart from calls to the operating system and from zeroing or
 * copying contents. tarn_heap_of(block) is the heap: for its statistics, its walk, its trim.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_UNALLOC_H
#define TARN_UNALLOC_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>

#include "../detail/api.h" /* So, for programs that have tarn/compat as their only include path. */

#ifdef __cplusplus
extern "C" {
#endif

/* Chooses classes: the doublings from 16 bytes to 128 KiB, each divided into so many steps (1:
 * powers of two). What is not chosen comes from TARN_OPTIONS=unalloc_steps=N, 1 to 8, and is 1
 * without that. 0, or -1 with EBUSY when the heap is there already (it stays as it is), with EINVAL
 * for no steps or more than 64, with ENOSPC for more than 128 classes (from 13 steps on), with
 * ENOMEM. */
TARN_API int tarn_unalloc_use_steps(unsigned per_doubling);

/* Chooses a table of one's own, which is copied: what a heap takes (tarn_heap_options::class_bytes,
 * tarn/heap/heap.h), at least one size. 0, or -1 with EBUSY as above, with EINVAL for a table that
 * is empty, does not ascend or has a size that is no multiple of 16 or above 128 KiB, with ENOSPC
 * for more than 128 sizes, with ENOMEM. */
TARN_API int tarn_unalloc_use_classes(const size_t* class_bytes, size_t class_count);

/* At least `size` bytes aligned to 16, from the smallest class that holds them, without a header:
 * 2^n bytes take 2^n. Above the last class whole pages of 4 KiB. For size 0 a block that may only
 * be freed or resized. */
TARN_API TARN_ALLOCATES(1) void* tarn_unalloc(size_t size);

/* As above for count * size bytes; the whole block is zero. The product is checked. */
TARN_API TARN_ALLOCATES(1, 2) void* tarn_uncalloc(size_t count, size_t size);

/* The block at its new size, contents kept up to the smaller size. Neither moved nor copied while
 * its class holds the new size, however small that is. A null p allocates; size 0 frees p and gives
 * null. On failure p is as it was. p may be any block of tarn's: what moves is unalloc's then. */
TARN_API void* tarn_unrealloc(void* p, size_t size);

/* Gives a block back, from any thread; null does nothing; errno is kept. As tarn_free, which takes
 * these blocks, too. */
TARN_API void tarn_unfree(void* p);

#ifdef __cplusplus
}
#endif

#endif
#endif
