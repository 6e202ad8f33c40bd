/* fixed_allocator.c: tarn/pool/fixed_allocator.h from C.
 *
 * SPDX-License-Identifier: MIT */
#include "tarn/pool/fixed_allocator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../check.h"

static void fill_and_empty(tarn_fixed_allocator* a, size_t most) {
  void* blocks[64];
  size_t count = 0;
  while (count < 64 && (blocks[count] = tarn_fixed_allocator_allocate(a)) != NULL) ++count;
  CHECK(count == most && a->live == most && tarn_fixed_allocator_check(a));
  if (most < 64) CHECK(errno == ENOMEM && a->failures == 1);
  for (size_t i = 0; i < count; ++i) tarn_fixed_allocator_deallocate(a, blocks[count - 1 - i]);
  CHECK(a->live == 0 && a->live_peak == most && a->allocations == a->deallocations);
  CHECK(tarn_fixed_allocator_check(a));
}

int main(void) {
  tarn_fixed_allocator_options options =
      TARN_FIXED_ALLOCATOR_OPTIONS(.name = "packets", .block_bytes = 24);
  tarn_fixed_allocator a;
  CHECK(tarn_fixed_allocator_init(&a, &options) == 0 && a.place == TARN_FIXED_HEAP_BLOCKS);
  fill_and_empty(&a, 64);
  CHECK(a.held == 0);
  tarn_fixed_allocator_destroy(&a);

  options.flags = TARN_FIXED_RECYCLE;
  CHECK(tarn_fixed_allocator_init(&a, &options) == 0);
  fill_and_empty(&a, 64);
  CHECK(a.held == 64);
  tarn_fixed_allocator_destroy(&a);
  options.flags = 0;

  options.objects = 20;
  CHECK(tarn_fixed_allocator_init(&a, &options) == 0 && a.place == TARN_FIXED_HEAP_POOL);
  CHECK(a.held == 20);
  fill_and_empty(&a, 20);
  tarn_fixed_allocator_destroy(&a);

  static _Alignas(8) char memory[24 * 7 + 5];
  options.objects = 0;
  options.memory = memory;
  options.memory_bytes = sizeof memory;
  CHECK(tarn_fixed_allocator_init(&a, &options) == 0 && a.place == TARN_FIXED_STATIC_POOL);
  fill_and_empty(&a, 7);
  CHECK(tarn_fixed_allocator_owns(&a, memory + 30) && !tarn_fixed_allocator_owns(&a, &a));
  tarn_fixed_allocator_deallocate(&a, NULL);
  tarn_fixed_allocator_destroy(&a);
  tarn_fixed_allocator_destroy(&a);

  options.memory_bytes = 23;
  errno = 0;
  CHECK(tarn_fixed_allocator_init(&a, &options) == -1 && errno == EINVAL);
  options.memory = NULL;
  CHECK(tarn_fixed_allocator_init(&a, &options) == -1 && errno == EINVAL);
  CHECK(tarn_fixed_allocator_allocate(&a) == NULL);
  puts("fixed_allocator.c: ok");
  return 0;
}
