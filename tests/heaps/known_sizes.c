/* known_sizes: what the compiler takes for the size of a heap's block, when it optimises or checks
 * calls of memset and its like, is not less than was asked for.
 *
 * SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../check.h"
#include "tarn/heap/heap.h"

static size_t opaque(size_t n) {
  volatile size_t hidden = n;
  return hidden;
}

#if !defined(__has_builtin)
#define __has_builtin(name) 0
#endif
#if __has_builtin(__builtin_dynamic_object_size)
#define SIZE_OF(p) __builtin_dynamic_object_size(p, 0)
#else
#define SIZE_OF(p) __builtin_object_size(p, 0)
#endif

static void sizes(tarn_heap heap) {
  void* const p = tarn_heap_allocate(heap, opaque(100));
  void* const zeroed = tarn_heap_allocate_zeroed(heap, opaque(20), opaque(50));
  void* const aligned = tarn_heap_allocate_aligned(heap, 64, 4096);
  CHECK(p != NULL && zeroed != NULL && aligned != NULL);
  CHECK(SIZE_OF(p) >= 100);
  CHECK(SIZE_OF(zeroed) >= 1000);
  CHECK(SIZE_OF(aligned) >= 4096);
}

/* A copy of all of a block is one of all its bytes. */
static void a_copy_over_a_block(tarn_heap heap, const char* from) {
  char* const aligned = tarn_heap_allocate_aligned(heap, 64, 4096);
  CHECK(aligned != NULL);
  aligned[100] = 1;
  memcpy(aligned, from, 4096);
  CHECK(aligned[100] == 7);
}

int main(void) {
  static char from[4096];
  const tarn_heap heap = tarn_heap_create(NULL);
  memset(from, (int)opaque(7), sizeof from);
  sizes(heap);
  a_copy_over_a_block(heap, from);
  CHECK(tarn_heap_destroy(heap) == 0);
  return 0;
}
