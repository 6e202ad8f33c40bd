/* openssl.h: OpenSSL's memory in a heap of tarn's (1.1.0 and later). Header only; C and C++.
 *
 *   if (tarn_openssl_install(&heap) != 0) ...      // before OpenSSL has allocated anything
 *   ...
 *   OPENSSL_cleanup();                             // or OpenSSL does it when the process ends:
 *   tarn_heap_destroy(heap);                       // the heap must live until then
 *
 * There is one heap for the process, because OpenSSL's functions have no context. A heap that is
 * secret (TARN_HEAP_SECRET) keeps keys out of swap and core dumps. Any thread may use OpenSSL, so
 * the heap must not be confined. When there is no memory, or at the ceiling, OpenSSL returns null
 * or 0, with ERR_R_MALLOC_FAILURE where it gives a reason.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_HOOKS_OPENSSL_H
#define TARN_HOOKS_OPENSSL_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <openssl/crypto.h>

#include "../heap/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The heap that OpenSSL uses; null before tarn_openssl_install. */
TARN_WEAK const tarn_heap* tarn_openssl_heap;

static inline void* tarn_openssl_allocate(size_t bytes, const char* file, int line) {
  (void)file;
  (void)line;
  return bytes == 0 ? NULL : tarn_heap_allocate(*tarn_openssl_heap, bytes);
}
static inline void* tarn_openssl_reallocate(void* p, size_t bytes, const char* file, int line) {
  (void)file;
  (void)line;
  return tarn_heap_reallocate(*tarn_openssl_heap, p, bytes);
}
static inline void tarn_openssl_deallocate(void* p, const char* file, int line) {
  (void)file;
  (void)line;
  tarn_heap_deallocate(p);
}

/* Makes OpenSSL take its memory from *heap, which must not move or end until OPENSSL_cleanup has
 * been called, by the program or at its end. Returns 0; or -1, and nothing has changed, when
 * OpenSSL refuses because it has allocated already (perhaps in a library's constructor), or when
 * this was called before. */
static inline int tarn_openssl_install(const tarn_heap* heap) {
  if (tarn_openssl_heap != NULL) return -1; /* OpenSSL itself would allow it. */
  tarn_openssl_heap = heap;
  if (CRYPTO_set_mem_functions(tarn_openssl_allocate, tarn_openssl_reallocate,
                               tarn_openssl_deallocate) == 1) {
    return 0;
  }
  tarn_openssl_heap = NULL;
  return -1;
}

#ifdef __cplusplus
}
#endif

#endif
#endif
