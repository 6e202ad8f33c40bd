/* zlib.h: zlib's streams in a heap of tarn's. Header only; C and C++.
 *
 *   tarn_heap heap = tarn_heap_create(&options);   // with a ceiling, say
 *   z_stream stream = {0};
 *   tarn_zlib_use(&stream, &heap);                 // before deflateInit or inflateInit
 *
 * A stream's blocks are the heap's until deflateEnd or inflateEnd; destroying the heap ends them
 * all instead (then the stream is not to be used any more, nor ended). Out of memory, at a ceiling
 * too: Z_MEM_ERROR. Threads: a stream as zlib has it, the heap as it was made.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_HOOKS_ZLIB_H
#define TARN_HOOKS_ZLIB_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stdint.h>
#include <zlib.h>

#include "../heap/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline voidpf tarn_zlib_allocate(voidpf heap, uInt items, uInt bytes) {
  if (bytes != 0 && items > SIZE_MAX / bytes) return NULL;
  return tarn_heap_allocate(*(const tarn_heap*)heap, (size_t)items * bytes);
}
static inline void tarn_zlib_deallocate(voidpf heap, voidpf p) {
  (void)heap;
  tarn_heap_deallocate(p);
}

/* Has the stream take its memory from *heap, which is read at each call and must outlive the
 * stream. */
static inline void tarn_zlib_use(z_stream* stream, const tarn_heap* heap) {
  stream->zalloc = tarn_zlib_allocate;
  stream->zfree = tarn_zlib_deallocate;
  stream->opaque = (voidpf)(uintptr_t)heap;
}

#ifdef __cplusplus
}
#endif

#endif
#endif
