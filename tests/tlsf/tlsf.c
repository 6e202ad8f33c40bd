/* The C form of TLSF heaps: allocation to exhaustion and back, reallocation, alignment, regions,
 * walks, statistics, locks, misuse before anything changes.
 *
 * SPDX-License-Identifier: MIT */
#include "tarn/heap/tlsf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"

static int lock_depth, locked_times;
static void take_lock(void* heap) {
  CHECK(heap != NULL && ++lock_depth == 1);
  ++locked_times;
}
#define DROP_LOCK(heap) ((void)(heap), --lock_depth)

TARN_STATIC_TLSF(static_heap, 5000)
TARN_STATIC_TLSF_WITH(locked_heap, 2000, take_lock, DROP_LOCK)
TARN_TLSF(region_heap, 100000)
TARN_TLSF_WITH(locked_region_heap, 4096, take_lock, DROP_LOCK)

static struct static_heap small;
static struct locked_heap locked;
static struct region_heap large;
static struct locked_region_heap large_locked;

static const char* last_kind;
static const void* last_heap;
static int reports;
void tarn_static_misuse(const char* kind, const void* heap, const void* p) {
  CHECK(lock_depth == 0 && p != NULL);
  last_kind = kind;
  last_heap = heap;
  ++reports;
}
#define CHECK_MISUSE(call, kind, heap)                            \
  do {                                                            \
    const int before = reports;                                   \
    call;                                                         \
    CHECK(reports == before + 1 && strcmp(last_kind, kind) == 0); \
    CHECK(last_heap == (const void*)(heap));                      \
  } while (0)

static void exhaust(void) {
  char* blocks[200];
  size_t n = 0;
  while ((blocks[n] = static_heap_allocate(&small, 50 + n % 9, n % 4 == 0 ? 64 : 1)) != NULL) {
    CHECK(n % 4 != 0 || (uintptr_t)blocks[n] % 64 == 0);
    CHECK(static_heap_owns(&small, blocks[n]) && static_heap_is_live(&small, blocks[n]));
    memset(blocks[n], (int)n, static_heap_block_bytes_of(&small, blocks[n]));
    ++n;
  }
  CHECK(n > 30 && static_heap_check(&small) && static_heap_stats(&small).failures == 1);
  size_t seen = 0;
  for (void* p = static_heap_next(&small, NULL); p != NULL; p = static_heap_next(&small, p)) ++seen;
  CHECK(seen == n && static_heap_stats(&small).blocks == n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t at = 0; at < 50; ++at) CHECK(blocks[i][at] == (char)i);
    static_heap_deallocate(&small, blocks[i]);
    CHECK_MISUSE(static_heap_deallocate(&small, blocks[i]), "double free", &small);
  }
  static_heap_deallocate(&small, NULL);
  CHECK(static_heap_check(&small) && static_heap_stats(&small).in_use_bytes == 0);
}

static void reallocate(void) {
  char* const p = locked_heap_reallocate(&locked, NULL, 30, 1);
  void* const wall = locked_heap_allocate(&locked, 10, 1);
  memcpy(p, "as it was", 10);
  CHECK(locked_heap_reallocate(&locked, p, 3, 1) == p);
  char* const moved = locked_heap_reallocate(&locked, p, 300, 32);
  CHECK(moved != p && (uintptr_t)moved % 32 == 0 && strcmp(moved, "as it was") == 0);
  CHECK(locked_heap_reallocate(&locked, moved, 5000, 1) == NULL);
  CHECK_MISUSE(CHECK(locked_heap_reallocate(&locked, p, 5, 1) == NULL), "double free", &locked);
  CHECK_MISUSE(locked_heap_deallocate(&locked, &lock_depth), "invalid free", &locked);
  locked_heap_deallocate(&locked, moved);
  locked_heap_deallocate(&locked, wall);
  CHECK(locked_heap_check(&locked) && lock_depth == 0 && locked_times >= 8);
}

static void regions(void) {
  static char memory[60000], more[30000], third[4096];
  CHECK(region_heap_allocate(&large, 1, 1) == NULL);
  CHECK(!region_heap_add_region(&large, memory, 10) && !region_heap_add_region(&large, NULL, 99));
  CHECK(region_heap_add_region(&large, memory + 1, sizeof memory - 1));
  CHECK(!region_heap_add_region(&large, memory, 1000));
  CHECK(region_heap_add_region(&large, more, sizeof more));
  void* const a = region_heap_allocate(&large, 50000, 1);
  void* const b = region_heap_allocate(&large, 20000, 4096);
  CHECK(a != NULL && b != NULL && (uintptr_t)b % 4096 == 0 && region_heap_check(&large));
  CHECK(region_heap_stats(&large).largest_bytes < 20000);
  region_heap_deallocate(&large, a);
  region_heap_deallocate(&large, b);
  CHECK(region_heap_check(&large) && region_heap_next(&large, NULL) == NULL);
  CHECK(locked_region_heap_add_region(&large_locked, third, sizeof third));
  locked_region_heap_deallocate(&large_locked, locked_region_heap_allocate(&large_locked, 9, 1));
  CHECK(locked_region_heap_check(&large_locked) && lock_depth == 0);
}

int main(void) {
  exhaust();
  reallocate();
  regions();
  CHECK(tarn_tlsf_worst_case(1000, 100, 10) > 1000);
  CHECK(tarn_tlsf_worst_case(SIZE_MAX, 100, 10) == SIZE_MAX);
  return 0;
}
