/* expat.h: expat's parsers in heaps of tarn's. Header only; C and C++.
 *
 *   XML_Parser parser = tarn_expat_create(&heap, NULL, NULL);
 *   tarn_expat_parse(parser, &heap, text, length, 1);
 *   XML_ParserFree(parser);                        // or tarn_heap_destroy(heap)
 *
 * Expat's functions for memory have no context, so each thread names the heap: tarn_expat_create
 * and tarn_expat_parse do it, and tarn_expat_use is for all other calls of expat's that allocate.
 * While no heap is named, blocks come from tarn_malloc. A block that grows stays in its heap, and
 * is freed wherever it is. When there is no memory, or at a ceiling, the parser is null, or the
 * error is XML_ERROR_NO_MEMORY. Threads: as expat requires, and as the heap was made. A handler
 * that is left by longjmp must name again, with tarn_expat_use, the heap that was named before
 * tarn_expat_parse.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_HOOKS_EXPAT_H
#define TARN_HOOKS_EXPAT_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <expat.h>

#include "../heap/heap.h"
#include "../heap/malloc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The heap that the calling thread has named; null: tarn_malloc. */
TARN_WEAK __thread const tarn_heap* tarn_expat_heap;

/* Names the heap from which expat's new blocks come in the calling thread; null stands for
 * tarn_malloc. *heap must not move or end until the thread names another one. Returns the one named
 * before, usually for the next call. */
static inline const tarn_heap* tarn_expat_use(const tarn_heap* heap) {
  const tarn_heap* const before = tarn_expat_heap;
  tarn_expat_heap = heap;
  return before;
}

static inline void* tarn_expat_allocate(size_t bytes) {
  return tarn_expat_heap == NULL ? tarn_malloc(bytes) : tarn_heap_allocate(*tarn_expat_heap, bytes);
}
static inline void* tarn_expat_reallocate(void* p, size_t bytes) {
  return p == NULL ? tarn_expat_allocate(bytes) : tarn_heap_reallocate(tarn_heap_of(p), p, bytes);
}
static inline void tarn_expat_deallocate(void* p) { tarn_heap_deallocate(p); }

/* The functions for XML_ParserCreate_MM. */
static inline const XML_Memory_Handling_Suite* tarn_expat_suite(void) {
  static const XML_Memory_Handling_Suite suite = {tarn_expat_allocate, tarn_expat_reallocate,
                                                  tarn_expat_deallocate};
  return &suite;
}

/* Names a heap until the enclosing function returns, or an exception of a handler leaves it. */
static inline void tarn_expat_restore(const tarn_heap* const* before) { tarn_expat_use(*before); }
#define TARN_EXPAT_UNTIL_RETURN(heap)                                                  \
  __attribute__((cleanup(tarn_expat_restore), unused)) const tarn_heap* const before = \
      tarn_expat_use(heap)

/* Makes a parser in *heap, as XML_ParserCreate_MM does. Null when there is no memory. */
static inline XML_Parser tarn_expat_create(const tarn_heap* heap, const XML_Char* encoding,
                                           const XML_Char* separator) {
  TARN_EXPAT_UNTIL_RETURN(heap);
  return XML_ParserCreate_MM(encoding, tarn_expat_suite(), separator);
}

/* As XML_Parse, with the parser's new blocks in *heap. Handlers that use other parsers name their
 * heaps likewise. */
static inline enum XML_Status tarn_expat_parse(XML_Parser parser, const tarn_heap* heap,
                                               const char* text, int length, int is_final) {
  TARN_EXPAT_UNTIL_RETURN(heap);
  return XML_Parse(parser, text, length, is_final);
}

#ifdef __cplusplus
}
#endif

#endif
#endif
