/* libxml2.h: libxml2 in a heap of tarn's. Header only; C and C++.
 *
 *   tarn_libxml2_install(&heap);                   // once, before anything of libxml2's
 *   ...
 *   xmlCleanupParser();                            // then no block of libxml2's is left,
 *   tarn_heap_destroy(heap);                       // and what a program has lost goes, too
 *
 * One heap for the process: libxml2's functions have no context, and what outlives a document
 * (dictionaries, catalogs, the last error of each thread) cannot be told from the document's. Any
 * thread; the heap is not confined. Out of memory, at the ceiling too: XML_ERR_NO_MEMORY, a null
 * document.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_HOOKS_LIBXML2_H
#define TARN_HOOKS_LIBXML2_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <libxml/parser.h>
#include <libxml/xmlmemory.h>
#include <string.h>

#include "../heap/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the hooks go by, and those that were there before, for blocks that are not tarn's. */
typedef struct tarn_libxml2 {
  const tarn_heap* heap;
  xmlFreeFunc free_before;
  xmlReallocFunc reallocate_before;
} tarn_libxml2;
TARN_WEAK tarn_libxml2 tarn_libxml2_hooks;

static inline void* tarn_libxml2_allocate(size_t bytes) {
  return tarn_heap_allocate(*tarn_libxml2_hooks.heap, bytes);
}
static inline void tarn_libxml2_deallocate(void* p) {
  if (p != NULL && tarn_heap_of(p).id == 0) {
    tarn_libxml2_hooks.free_before(p);
  } else {
    tarn_heap_deallocate(p);
  }
}
static inline void* tarn_libxml2_reallocate(void* p, size_t bytes) {
  if (p != NULL && tarn_heap_of(p).id == 0) {
    return tarn_libxml2_hooks.reallocate_before(p, bytes);
  }
  return tarn_heap_reallocate(*tarn_libxml2_hooks.heap, p, bytes);
}
static inline char* tarn_libxml2_copy(const char* text) {
  const size_t bytes = strlen(text) + 1;
  char* const copy = (char*)tarn_libxml2_allocate(bytes);
  return copy == NULL ? NULL : (char*)memcpy(copy, text, bytes);
}

/* Has libxml2 take its memory from *heap from here on; it must stay there, and outlive libxml2's
 * use. Blocks that libxml2 has already go back to where they are from. No other thread may be in
 * libxml2. 0, or -1 (nothing has changed) when libxml2 refuses, or this was called before. */
static inline int tarn_libxml2_install(const tarn_heap* heap) {
  xmlMallocFunc allocate;
  xmlStrdupFunc copy;
  tarn_libxml2* const hooks = &tarn_libxml2_hooks;
  if (hooks->heap != NULL) return -1;
  if (xmlMemGet(&hooks->free_before, &allocate, &hooks->reallocate_before, &copy) != 0) return -1;
  hooks->heap = heap;
  if (xmlMemSetup(tarn_libxml2_deallocate, tarn_libxml2_allocate, tarn_libxml2_reallocate,
                  tarn_libxml2_copy) == 0) {
    return 0;
  }
  hooks->heap = NULL;
  return -1;
}

#ifdef __cplusplus
}
#endif

#endif
#endif
