/* sizes: libtarn_sizes.so, which is preloaded before libtarn.so. It counts the size of each request
 * and passes it on to tarn, so the library's own paths know nothing of the counting. Resizing a
 * block counts as a request of its new size. Blocks are freed by libtarn directly.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sizes.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tarn/tarn.h"

#define EXPORT __attribute__((visibility("default")))

static tarn_sizes here; /* Used before the file is mapped, or without one. */
static tarn_sizes* counted = &here;

static void add(uint64_t* to, uint64_t n) { __atomic_fetch_add(to, n, __ATOMIC_RELAXED); }

static void count(size_t bytes) {
  tarn_sizes* const into = __atomic_load_n(&counted, __ATOMIC_ACQUIRE);
  if (bytes <= TARN_HEAP_CLASS_BYTES_MAX) {
    add(&into->requests[bytes], 1);
  } else if (bytes <= PTRDIFF_MAX) { /* Larger requests are refused. */
    add(&into->large, 1);
    add(&into->large_bytes, bytes);
  }
}

static void count_product(size_t n, size_t bytes) {
  size_t product = 0;
  if (!__builtin_mul_overflow(n, bytes, &product)) count(product);
}

static tarn_sizes* map_file(const char* path) {
  const int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return NULL;
  struct stat status;
  void* p = MAP_FAILED;
  if (fstat(file, &status) == 0 && (uint64_t)status.st_size >= sizeof(tarn_sizes)) {
    p = mmap(NULL, sizeof(tarn_sizes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  return p == MAP_FAILED ? NULL : p;
}

__attribute__((constructor(101))) static void begin(void) {
  const char* const path = secure_getenv(TARN_SIZES_VARIABLE);
  const int saved = errno;
  tarn_sizes* const mapped = path == NULL ? NULL : map_file(path);
  errno = saved;
  if (mapped == NULL) return;
  __atomic_store_n(&counted, mapped, __ATOMIC_RELEASE);
  for (size_t i = 0; i <= TARN_HEAP_CLASS_BYTES_MAX; ++i) {
    if (here.requests[i] != 0) add(&mapped->requests[i], here.requests[i]);
  }
  add(&mapped->large, here.large);
  add(&mapped->large_bytes, here.large_bytes);
  add(&mapped->processes, 1);
  __atomic_store_n(&mapped->magic, TARN_SIZES_MAGIC, __ATOMIC_RELEASE);
}

EXPORT void* malloc(size_t bytes) {
  count(bytes);
  return tarn_malloc(bytes);
}
EXPORT void* calloc(size_t n, size_t bytes) {
  count_product(n, bytes);
  return tarn_calloc(n, bytes);
}
EXPORT void* realloc(void* p, size_t bytes) {
  if (p == NULL || bytes != 0) count(bytes);
  return tarn_realloc(p, bytes);
}
EXPORT void* reallocarray(void* p, size_t n, size_t bytes) {
  if (p == NULL || (n != 0 && bytes != 0)) count_product(n, bytes);
  return tarn_reallocarray(p, n, bytes);
}
EXPORT int posix_memalign(void** p, size_t alignment, size_t bytes) {
  count(bytes);
  return tarn_posix_memalign(p, alignment, bytes);
}
EXPORT void* aligned_alloc(size_t alignment, size_t bytes) {
  count(bytes);
  return tarn_aligned_alloc(alignment, bytes);
}
EXPORT void* memalign(size_t alignment, size_t bytes) {
  count(bytes);
  return tarn_memalign(alignment, bytes);
}
EXPORT void* valloc(size_t bytes) {
  count(bytes);
  return tarn_valloc(bytes);
}
EXPORT void* pvalloc(size_t bytes) {
  count(bytes);
  return tarn_pvalloc(bytes);
}

/* operator new and its aligned form. In libtarn all other forms call these. */
typedef void* (*new_function)(size_t);
typedef void* (*new_aligned_function)(size_t, size_t);

/* The next definition of a function. `found` keeps it once it was looked up. */
static void* next(void** found, const char* name) {
  void* function = __atomic_load_n(found, __ATOMIC_ACQUIRE);
  if (function == NULL) {
    function = dlsym(RTLD_NEXT, name);
    if (function == NULL) abort();
    __atomic_store_n(found, function, __ATOMIC_RELEASE);
  }
  return function;
}

EXPORT void* new_plain(size_t bytes) __asm__("_Znwm");
EXPORT void* new_plain(size_t bytes) {
  static void* found;
  count(bytes);
  return ((new_function)next(&found, "_Znwm"))(bytes);
}

EXPORT void* new_aligned(size_t bytes, size_t alignment) __asm__("_ZnwmSt11align_val_t");
EXPORT void* new_aligned(size_t bytes, size_t alignment) {
  static void* found;
  count(bytes);
  return ((new_aligned_function)next(&found, "_ZnwmSt11align_val_t"))(bytes, alignment);
}
