/* curl.h: libcurl's memory in a heap of tarn's. Header only; C and C++.
 *
 *   if (tarn_curl_install(&heap, CURL_GLOBAL_ALL) != CURLE_OK) ...  // not curl_global_init
 *   ...
 *   curl_global_cleanup();
 *   tarn_heap_destroy(heap);
 *
 * There is one heap for the process, because libcurl's functions have no context. It holds
 * libcurl's own memory; the libraries below it (TLS, resolvers) have theirs. Any thread may use
 * libcurl, so the heap must not be confined. When there is no memory, or at the ceiling, the result
 * is CURLE_OUT_OF_MEMORY, or null.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_HOOKS_CURL_H
#define TARN_HOOKS_CURL_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <curl/curl.h>
#include <string.h>

#include "../heap/heap.h"
#include "../heap/malloc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* There are two sets of functions, each with a heap of its own (null: tarn_malloc), and libcurl
 * uses at most one of them. So an installation can be told from the one before. */
typedef struct tarn_curl_state {
  const tarn_heap* heaps[2];
  int place; /* The set that libcurl uses, if it uses one. */
} tarn_curl_state;
TARN_WEAK tarn_curl_state tarn_curl;

static inline void* tarn_curl_allocate(const tarn_heap* heap, size_t bytes) {
  return heap == NULL ? tarn_malloc(bytes) : tarn_heap_allocate(*heap, bytes);
}
static inline void* tarn_curl_allocate_zeroed(const tarn_heap* heap, size_t count, size_t bytes) {
  return heap == NULL ? tarn_calloc(count, bytes) : tarn_heap_allocate_zeroed(*heap, count, bytes);
}
static inline void* tarn_curl_reallocate(const tarn_heap* heap, void* p, size_t bytes) {
  return heap == NULL ? tarn_realloc(p, bytes) : tarn_heap_reallocate(*heap, p, bytes);
}
static inline char* tarn_curl_copy(const tarn_heap* heap, const char* text) {
  const size_t bytes = strlen(text) + 1;
  char* const copy = (char*)tarn_curl_allocate(heap, bytes);
  return copy == NULL ? NULL : (char*)memcpy(copy, text, bytes);
}
static inline void tarn_curl_deallocate(void* p) { tarn_heap_deallocate(p); }

static inline void* tarn_curl_allocate_0(size_t bytes) {
  return tarn_curl_allocate(tarn_curl.heaps[0], bytes);
}
static inline void* tarn_curl_allocate_1(size_t bytes) {
  return tarn_curl_allocate(tarn_curl.heaps[1], bytes);
}
static inline void* tarn_curl_allocate_zeroed_0(size_t count, size_t bytes) {
  return tarn_curl_allocate_zeroed(tarn_curl.heaps[0], count, bytes);
}
static inline void* tarn_curl_allocate_zeroed_1(size_t count, size_t bytes) {
  return tarn_curl_allocate_zeroed(tarn_curl.heaps[1], count, bytes);
}
static inline void* tarn_curl_reallocate_0(void* p, size_t bytes) {
  return tarn_curl_reallocate(tarn_curl.heaps[0], p, bytes);
}
static inline void* tarn_curl_reallocate_1(void* p, size_t bytes) {
  return tarn_curl_reallocate(tarn_curl.heaps[1], p, bytes);
}
static inline char* tarn_curl_copy_0(const char* text) {
  return tarn_curl_copy(tarn_curl.heaps[0], text);
}
static inline char* tarn_curl_copy_1(const char* text) {
  return tarn_curl_copy(tarn_curl.heaps[1], text);
}

static inline CURLcode tarn_curl_initialise(int place, long flags) {
  return place == 0 ? curl_global_init_mem(flags, tarn_curl_allocate_0, tarn_curl_deallocate,
                                           tarn_curl_reallocate_0, tarn_curl_copy_0,
                                           tarn_curl_allocate_zeroed_0)
                    : curl_global_init_mem(flags, tarn_curl_allocate_1, tarn_curl_deallocate,
                                           tarn_curl_reallocate_1, tarn_curl_copy_1,
                                           tarn_curl_allocate_zeroed_1);
}

/* Whether libcurl calls the functions of a set. When it was initialised before it returns CURLE_OK
 * all the same, and does not call them. */
static inline CURLcode tarn_curl_probe(int place) {
  const tarn_heap* const heap = tarn_curl.heaps[place];
  const tarn_heap probed = tarn_heap_create(NULL);
  struct curl_slist* probe;
  CURLcode code = CURLE_FAILED_INIT;
  if (probed.id == 0) return CURLE_OUT_OF_MEMORY;
  tarn_curl.heaps[place] = &probed;
  probe = curl_slist_append(NULL, "tarn");
  if (probe != NULL && tarn_heap_of(probe).id == probed.id) code = CURLE_OK;
  curl_slist_free_all(probe);
  tarn_curl.heaps[place] = heap;
  tarn_heap_destroy(probed);
  return code;
}

/* As curl_global_init_mem with `flags`, over *heap, which must not move or end before the last
 * curl_global_cleanup. CURLE_FAILED_INIT, and nothing has changed, when libcurl is initialised
 * already, by this function or otherwise; libcurl's own errors besides. */
static inline CURLcode tarn_curl_install(const tarn_heap* heap, long flags) {
  const int place = !tarn_curl.place;
  CURLcode code;
  tarn_curl.heaps[place] = heap;
  code = tarn_curl_initialise(place, flags);
  if (code == CURLE_OK) {
    code = tarn_curl_probe(place);
    if (code != CURLE_OK) curl_global_cleanup(); /* Undoes only this call: libcurl counts them. */
  }
  if (code != CURLE_OK) {
    tarn_curl.heaps[place] = NULL;
    return code;
  }
  tarn_curl.heaps[!place] = NULL;
  tarn_curl.place = place;
  return CURLE_OK;
}

#ifdef __cplusplus
}
#endif

#endif
#endif
