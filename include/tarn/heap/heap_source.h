/* heap_source.h: a source whose chunks are blocks of a heap, in C. (C++:
 * tarn/heap/heap_source.hpp.) What a pool or an arena takes from it counts against the heap's
 * ceiling and those of its ancestors, and ends with the heap.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_HEAP_SOURCE_H
#define TARN_HEAP_SOURCE_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include "../source/source.h"
#include "heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A source whose chunks are blocks of *heap, which is read at each call and must not move. Threads,
 * alignment and cost are those of tarn_heap_allocate_aligned. The chunk is null when the heap has
 * no memory or is at a ceiling (errno is ENOMEM then), when it is frozen, and when the alignment is
 * no power of two. Chunks may be released in any order, by any thread that may free in the heap,
 * and not after the heap has ended. A null heap, or the zero value in it, never has a chunk. */
TARN_API tarn_source tarn_heap_source(const tarn_heap* heap);

#ifdef __cplusplus
}
#endif

#endif
#endif
