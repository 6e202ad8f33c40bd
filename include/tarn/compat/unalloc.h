/* compat/unalloc.h: the names of "Fast by tens malloc() and free() at 25% memory cost" (unalloc),
 * in C and C++, over tarn/heap/unalloc.h, which says what each function promises. The library
 * exports none of the names: a program compiles with this folder among its include paths, and links
 * with tarn. docs/unalloc.md says what differs from the source. (compat/unalloc.c makes functions
 * of them, for who needs their names.)
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_COMPAT_UNALLOC_H
#define TARN_COMPAT_UNALLOC_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include "../heap/unalloc.h"

#if defined(TARN_UNALLOC_FUNCTIONS) && defined(__cplusplus)
#define TARN_UNALLOC_INLINE extern "C"
#elif defined(TARN_UNALLOC_FUNCTIONS)
#define TARN_UNALLOC_INLINE extern
#elif defined(__cplusplus)
#define TARN_UNALLOC_INLINE TARN_NOTES_CALLER inline
#else
#define TARN_UNALLOC_INLINE TARN_NOTES_CALLER static inline
#endif

TARN_UNALLOC_INLINE TARN_ALLOCATES(1) void* unalloc(size_t size) { return tarn_unalloc(size); }

TARN_UNALLOC_INLINE TARN_ALLOCATES(1, 2) void* uncalloc(size_t count, size_t size) {
  return tarn_uncalloc(count, size);
}

TARN_UNALLOC_INLINE void* unrealloc(void* p, size_t size) { return tarn_unrealloc(p, size); }

TARN_UNALLOC_INLINE void unfree(void* p) { tarn_unfree(p); }

#undef TARN_UNALLOC_INLINE

#endif
#endif
