/* zlib.h: zlib's streams in a heap of tarn's. Header only; C and C++.
 *
 *   tarn_heap heap = tarn_heap_create(&options);   // with a ceiling, say
 *   z_stream stream = {0};
 *   tarn_zlib_use(&stream, &heap);                 // before deflateInit or inflateInit
 *
 * A stream's blocks stay in the heap until deflateEnd or inflateEnd. Destroying the heap ends them
 * all instead; then the stream must not be used any more, nor ended. When there is no memory, or at
 * a ceiling, the result is Z_MEM_ERROR. Threads: a stream as zlib requires, the heap as it was
 * made.
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

/* Makes the stream take its memory from *heap. *heap is read at each call and must outlive the
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
