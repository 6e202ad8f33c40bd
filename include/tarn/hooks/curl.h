/* curl.h: libcurl's memory in a heap of tarn's. Header only; C and C++.
 *
 *   if (tarn_curl_install(&heap, CURL_GLOBAL_ALL) != CURLE_OK) ...  // for curl_global_init
 *   ...
 *   curl_global_cleanup();
 *   tarn_heap_destroy(heap);
 *
 * One heap for the process: libcurl's functions have no context. It is libcurl's own memory; the
 * libraries below it (TLS, resolvers) have theirs. Any thread; the heap is not confined. Out of
 * memory, at the ceiling too: CURLE_OUT_OF_MEMORY, or null.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_HOOKS_CURL_H
#define TARN_HOOKS_CURL_H

#include <curl/curl.h>
#include <string.h>

#include "tarn/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

TARN_WEAK const tarn_heap* tarn_curl_heap;

static inline void* tarn_curl_allocate(size_t bytes) {
  return tarn_heap_allocate(*tarn_curl_heap, bytes);
}
static inline void* tarn_curl_allocate_zeroed(size_t count, size_t bytes) {
  return tarn_heap_allocate_zeroed(*tarn_curl_heap, count, bytes);
}
static inline void* tarn_curl_reallocate(void* p, size_t bytes) {
  return tarn_heap_reallocate(*tarn_curl_heap, p, bytes);
}
static inline void tarn_curl_deallocate(void* p) { tarn_heap_deallocate(p); }
static inline char* tarn_curl_copy(const char* text) {
  const size_t bytes = strlen(text) + 1;
  char* const copy = (char*)tarn_curl_allocate(bytes);
  return copy == NULL ? NULL : (char*)memcpy(copy, text, bytes);
}

/* Whether libcurl asks *heap: it says CURLE_OK where it was initialised before, and does not. */
static inline int tarn_curl_is_installed(const tarn_heap* heap) {
  struct curl_slist* const probe = curl_slist_append(NULL, "tarn");
  const int is_ours = probe != NULL && tarn_heap_of(probe).id == heap->id;
  curl_slist_free_all(probe);
  return is_ours;
}

/* As curl_global_init_mem with `flags`, over *heap, which must stay there until the last
 * curl_global_cleanup. CURLE_FAILED_INIT, and nothing has changed, when libcurl has been
 * initialised already; its other errors. */
static inline CURLcode tarn_curl_install(const tarn_heap* heap, long flags) {
  const tarn_heap* const before = tarn_curl_heap;
  CURLcode code;
  tarn_curl_heap = heap;
  code = curl_global_init_mem(flags, tarn_curl_allocate, tarn_curl_deallocate,
                              tarn_curl_reallocate, tarn_curl_copy, tarn_curl_allocate_zeroed);
  if (code == CURLE_OK && !tarn_curl_is_installed(heap)) {
    curl_global_cleanup(); /* One of several initialisations, which are counted. */
    code = CURLE_FAILED_INIT;
  }
  if (code != CURLE_OK) tarn_curl_heap = before;
  return code;
}

#ifdef __cplusplus
}
#endif

#endif
