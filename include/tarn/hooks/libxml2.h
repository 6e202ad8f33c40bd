/* libxml2.h: libxml2 in a heap of tarn's. Header only; C and C++.
 *
 *   tarn_libxml2_install(&heap);                   // once, before anything of libxml2's
 *   ...
 *   xmlCleanupParser();                            // leaves no block of libxml2's,
 *   tarn_heap_destroy(heap);                       // so lost blocks end here too
 *
 * There is one heap for the process, because libxml2's functions have no context, and what outlives
 * a document (dictionaries, catalogs, the last error of each thread) cannot be told from the
 * document's own blocks. Any thread may use libxml2, so the heap must not be confined. When there
 * is no memory, or at the ceiling, the error is XML_ERR_NO_MEMORY, or the document is null.
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

/* The heap of the hooks, and the functions that libxml2 had before, for blocks that are not
 * tarn's. */
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

/* Makes libxml2 take its memory from *heap, which must not move and must outlive libxml2's use of
 * it. Blocks that libxml2 has already go back to where they came from. No other thread may be in
 * libxml2. Returns 0; or -1, and nothing has changed, when libxml2 refuses or this was called
 * before. */
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
