/* cjson.h: cJSON's documents in heaps of tarn's. Header only; C and C++.
 *
 *   tarn_cjson_install();                          // once, before documents are made
 *   const tarn_heap* before = tarn_cjson_use(&heap);
 *   cJSON* document = cJSON_Parse(text);
 *   tarn_cjson_use(before);
 *   tarn_heap_destroy(heap);                       // instead of cJSON_Delete, which still works
 *
 * cJSON's hooks are the process's and have no context. So each thread names the heap for its
 * documents; while it names none, blocks come from tarn_malloc. Blocks are freed wherever they are.
 * What cJSON prints is such a block; free it with cJSON_free. When there is no memory, or at a
 * ceiling, cJSON returns null.
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

/* The heap that the calling thread has named; null: tarn_malloc. */
TARN_WEAK __thread const tarn_heap* tarn_cjson_heap;

/* Names the heap from which cJSON's new blocks come in the calling thread; null stands for
 * tarn_malloc. *heap must not move or end until the thread names another one. Returns the one named
 * before, usually for the next call. */
static inline const tarn_heap* tarn_cjson_use(const tarn_heap* heap) {
  const tarn_heap* const before = tarn_cjson_heap;
  tarn_cjson_heap = heap;
  return before;
}

static inline void* tarn_cjson_allocate(size_t bytes) {
  return tarn_cjson_heap == NULL ? tarn_malloc(bytes) : tarn_heap_allocate(*tarn_cjson_heap, bytes);
}
static inline void tarn_cjson_deallocate(void* p) { tarn_heap_deallocate(p); }

/* Installs the hooks for the whole process. No other thread may be using cJSON, and no document may
 * exist. */
static inline void tarn_cjson_install(void) {
  cJSON_Hooks hooks;
  hooks.malloc_fn = tarn_cjson_allocate;
  hooks.free_fn = tarn_cjson_deallocate;
  cJSON_InitHooks(&hooks);
}

/* Goes back to the program's malloc. No document that was made with the hooks may exist. */
static inline void tarn_cjson_remove(void) { cJSON_InitHooks(NULL); }

#ifdef __cplusplus
}
#endif

#endif
#endif
