/* cjson.h: cJSON's documents in heaps of tarn's. Header only; C and C++.
 *
 *   tarn_cjson_install();                          // once, before documents are made
 *   const tarn_heap* before = tarn_cjson_use(&heap);
 *   cJSON* document = cJSON_Parse(text);
 *   tarn_cjson_use(before);
 *   tarn_heap_destroy(heap);                       // instead of cJSON_Delete, which is there, too
 *
 * cJSON's hooks are the process's and have no context, so the heap is the one that the thread has
 * said; where it has not, blocks are tarn_malloc's. They are freed wherever they are. What cJSON
 * prints is such a block: cJSON_free. Out of memory, at a ceiling too: cJSON's null.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_HOOKS_CJSON_H
#define TARN_HOOKS_CJSON_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <cjson/cJSON.h>

#include "../heap/heap.h"
#include "../heap/malloc.h"

#ifdef __cplusplus
extern "C" {
#endif

TARN_WEAK __thread const tarn_heap* tarn_cjson_heap;

/* As tarn_expat_use: new blocks of the calling thread come from *heap (null: tarn_malloc). */
static inline const tarn_heap* tarn_cjson_use(const tarn_heap* heap) {
  const tarn_heap* const before = tarn_cjson_heap;
  tarn_cjson_heap = heap;
  return before;
}

static inline void* tarn_cjson_allocate(size_t bytes) {
  return tarn_cjson_heap == NULL ? tarn_malloc(bytes) : tarn_heap_allocate(*tarn_cjson_heap, bytes);
}
static inline void tarn_cjson_deallocate(void* p) { tarn_heap_deallocate(p); }

/* For the whole process; no other thread may be using cJSON, and no document be there. */
static inline void tarn_cjson_install(void) {
  cJSON_Hooks hooks;
  hooks.malloc_fn = tarn_cjson_allocate;
  hooks.free_fn = tarn_cjson_deallocate;
  cJSON_InitHooks(&hooks);
}

/* Back to the program's malloc; no document of the hooks may be there. */
static inline void tarn_cjson_remove(void) { cJSON_InitHooks(NULL); }

#ifdef __cplusplus
}
#endif

#endif
#endif
