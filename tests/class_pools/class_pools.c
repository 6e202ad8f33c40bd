/* Class pools in C: each function of tarn/pool/class_pools.h.
 *
 * SPDX-License-Identifier: MIT */
#include "tarn/pool/class_pools.h"

#include <stdint.h>
#include <string.h>

#include "../check.h"

static int held;
static int locks;
static void lock(void* context) {
  CHECK(context == &held && held++ == 0);
  ++locks;
}
static void unlock(void* context) { CHECK(context == &held && --held == 0); }

int main(void) {
  static const size_t tuned[] = {396, 768};
  tarn_class_pools pools;
  const tarn_class_pools_options options =
      TARN_CLASS_POOLS_OPTIONS(.name = "of a C program", .class_bytes = tuned, .class_count = 2,
                               .lock = {lock, unlock, &held});
  CHECK(tarn_class_pools_init(&pools, &options) == 0);
  CHECK(locks == 0);

  char* p = tarn_class_pools_allocate(&pools, 390);
  CHECK(p != NULL && locks == 1 && held == 0);
  CHECK(tarn_class_pools_usable_bytes(&pools, p) == 396);
  strcpy(p, "a block");
  p = tarn_class_pools_reallocate(&pools, p, 397);
  CHECK(p != NULL && strcmp(p, "a block") == 0);
  CHECK(tarn_class_pools_usable_bytes(&pools, p) == 512);
  CHECK(tarn_class_pools_reallocate(&pools, p, 1) == p);

  unsigned char* const zeroed = tarn_class_pools_allocate_zeroed(&pools, 10, 10);
  for (int i = 0; i < 100; ++i) CHECK(zeroed[i] == 0);
  void* const aligned = tarn_class_pools_allocate_aligned(&pools, 256, 10);
  CHECK((uintptr_t)aligned % 256 == 0);

  size_t blocks = 0;
  size_t bytes = 0;
  for (void* q = NULL; (q = tarn_class_pools_next(&pools, q, &bytes)) != NULL; ++blocks) {
    CHECK(tarn_class_pools_usable_bytes(&pools, q) == bytes);
    CHECK(tarn_class_pools_owns(&pools, (char*)q + bytes - 1) == 1);
  }
  CHECK(blocks == 3);
  CHECK(tarn_class_pools_next(&pools, (void*)UINTPTR_MAX, NULL) == NULL);

  tarn_class_pools_stats stats = TARN_CLASS_POOLS_STATS();
  CHECK(tarn_class_pools_get_stats(&pools, &stats) == 0);
  CHECK(stats.in_use == 3 && stats.allocations == 4 && stats.deallocations == 1);
  tarn_class_pool_stats of_class = TARN_CLASS_POOL_STATS();
  size_t number = 0;
  uint64_t in_use = 0;
  for (; tarn_class_pools_get_class_stats(&pools, number, &of_class) == 0; ++number) {
    in_use += of_class.in_use;
  }
  CHECK(number == stats.classes && in_use == 3 && errno == EINVAL);

  errno = 0;
  volatile size_t too_much = SIZE_MAX - 3;
  CHECK(tarn_class_pools_allocate(&pools, too_much) == NULL && errno == ENOMEM);
  tarn_class_pools_deallocate(&pools, NULL);
  errno = 7;
  tarn_class_pools_deallocate(&pools, p);
  tarn_class_pools_deallocate(&pools, zeroed);
  tarn_class_pools_deallocate(&pools, aligned);
  CHECK(errno == 7);
  CHECK(tarn_class_pools_owns(&pools, p) == 0);
  CHECK(tarn_class_pools_check(&pools) == 1);
  CHECK(tarn_class_pools_trim(&pools) > 0);
  CHECK(tarn_class_pools_trim(&pools) == 0);
  tarn_class_pools_destroy(&pools);
  CHECK(tarn_class_pools_allocate(&pools, 1) == NULL);
  tarn_class_pools_destroy(&pools);
  return 0;
}
