/* smrtheap: every name of smrtheap.h, as a program in C uses them, and what must not come back.
 *
 * SPDX-License-Identifier: MIT */
#include "smrtheap.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "names.h"

static int is_aligned(const void* p, size_t alignment) { return (uintptr_t)p % alignment == 0; }

static size_t opaque(size_t n) {
  volatile size_t hidden = n;
  return hidden;
}

static void of_any_size(void) {
  const MEM_POOL pool = MemPoolInit(MEM_SERIALIZE);
  char* text = MemAllocPtr(pool, 100, 0);
  char* zeros = MemAllocPtr(pool, 1000, MEM_ZEROINIT);
  char* none = MemAllocPtr(pool, 0, 0);
  char* kept = MemAllocPtr(pool, 8, 0);
  size_t i;
  CHECK(pool != NULL && text != NULL && zeros != NULL && none != NULL && kept != NULL);
  CHECK(is_aligned(text, 16) && is_aligned(zeros, 16));
  CHECK(MemSizePtr(text) >= 100 && MemSizePtr(NULL) == 0);
  for (i = 0; i < 1000; ++i) CHECK(zeros[i] == 0);
  CHECK(MemPoolCount(pool) == 4 && MemPoolSize(pool) >= 1100);

  memset(text, 'x', 100);
  text = MemReAllocPtr(text, 5000, 0);
  CHECK(text != NULL && text[0] == 'x' && text[99] == 'x');
  zeros = MemReAllocPtr(zeros, 9000, MEM_ZEROINIT);
  for (i = 0; i < 9000; ++i) CHECK(zeros[i] == 0);
  /* Smaller and larger again, where it lies or elsewhere. */
  memset(zeros, 'x', 9000);
  zeros = MemReAllocPtr(zeros, 8990, MEM_ZEROINIT | MEM_RESIZE_IN_PLACE);
  zeros = MemReAllocPtr(zeros, 8995, MEM_ZEROINIT);
  zeros = MemReAllocPtr(zeros, 9000, MEM_ZEROINIT);
  CHECK(zeros[8989] == 'x');
  for (i = 8990; i < 9000; ++i) CHECK(zeros[i] == 0);
  CHECK(MemReAllocPtr(text, 100, MEM_RESIZE_IN_PLACE) == text);
  CHECK(MemReAllocPtr(text, (size_t)1 << 30, MEM_RESIZE_IN_PLACE) == NULL);
  CHECK(text[0] == 'x');
  CHECK(MemReAllocPtr(NULL, 10, 0) == NULL);
  CHECK(MemAllocPtr(pool, opaque(SIZE_MAX), 0) == NULL);
  CHECK(MemReAllocPtr(text, opaque(SIZE_MAX), 0) == NULL);

  CHECK(MemRegisterTask() == 1 && MemUnregisterTask() == 1);
  CHECK(MemCheckPtr(pool, text) == MEM_POINTER_OK && MemCheckPtr(pool, text));
  CHECK(!MemCheckPtr(pool, &pool)); /* As a truth value. */
  CHECK(MemCheckPtr(pool, text + 1) == MEM_POINTER_WILD);
  CHECK(MemCheckPtr(pool, &pool) == MEM_POINTER_WILD);
  CHECK(MemCheckPtr(NULL, text) == MEM_POINTER_WILD);
  CHECK(MemPoolOfPtr(text) == pool && MemPoolOfPtr(&pool) == NULL);
  CHECK(MemPoolCheck(pool) == 1 && MemPoolCheck(NULL) == 0);
  CHECK(MemFreePtr(none) == 1 && MemFreePtr(NULL) == 0);
  CHECK(MemCheckPtr(pool, none) == MEM_POINTER_FREE);
  CHECK(MemPoolFree(pool) == 1 && MemPoolFree(NULL) == 0);
}

static void of_one_size(void) {
  const size_t sizes[] = {1, 8, 24, 48, 100, 4096};
  size_t s;
  for (s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    const MEM_POOL pool = MemPoolInitFS(sizes[s], 1000, 0);
    char* blocks[1000];
    size_t i;
    CHECK(pool != NULL);
    for (i = 0; i < 1000; ++i) {
      blocks[i] = MemAllocFS(pool);
      CHECK(blocks[i] != NULL);
      memset(blocks[i], (int)i, sizes[s]);
    }
    for (i = 0; i < 1000; ++i) CHECK(blocks[i][sizes[s] - 1] == (char)i);
    CHECK(MemPoolCount(pool) == 1000);
    /* Without a header: no more than the blocks, and the page that is begun. */
    CHECK(sizes[s] < 8 || MemPoolSize(pool) <= 1000 * sizes[s] * 5 / 4 + 65536);
    CHECK(MemAllocPtr(pool, 300, 0) != NULL); /* Of any size, too. */
    for (i = 0; i < 1000; i += 2) CHECK(MemFreeFS(blocks[i]) == 1);
    CHECK(MemPoolCount(pool) == 501);
    CHECK(MemCheckPtr(pool, blocks[0]) == MEM_POINTER_FREE);
    CHECK(MemCheckPtr(pool, blocks[1]) == MEM_POINTER_OK);
    CHECK(MemPoolCheck(pool));
    CHECK(MemPoolFree(pool) == 1);
  }
  CHECK(MemPoolInitFS(0, 10, 0) == NULL && MemPoolInitFS((size_t)1 << 20, 10, 0) == NULL);
  {
    const MEM_POOL pool = MemPoolInit(0);
    const MEM_POOL zeroed = MemPoolInitFS(100, 10, MEM_ZEROINIT);
    char* p = MemAllocFS(zeroed);
    CHECK(MemAllocFS(pool) == NULL && MemAllocFS(NULL) == NULL);
    memset(p, 'x', 100);
    MemFreeFS(p);
    for (p = MemAllocFS(zeroed); *p == 0 && p[99] == 0;) break;
    CHECK(p[0] == 0 && p[99] == 0);
    CHECK(MemPoolFree(pool) && MemPoolFree(zeroed));
  }
}

static int is_zero(const char* p, size_t from, size_t to) {
  for (; from < to; ++from) {
    if (p[from] != 0) return 0;
  }
  return 1;
}

/* All blocks of a pool with MEM_ZEROINIT are zero, also where they grow without being told. */
static void a_pool_of_zeros(void) {
  const MEM_POOL pool = MemPoolInit(MEM_ZEROINIT);
  const MEM_POOL bytes = MemPoolInitFS(1, 10, MEM_ZEROINIT);
  char* p = MemAllocPtr(pool, 5000, 0);
  char* blocks[20];
  size_t i;
  memset(p, 'x', MemSizePtr(p));
  MemFreePtr(p);
  p = MemAllocPtr(pool, 100, 0);
  CHECK(is_zero(p, 0, 100));
  memset(p, 'y', 100);
  p = MemReAllocPtr(p, 5000, 0);
  CHECK(p[99] == 'y' && is_zero(p, 100, 5000));
  memset(p, 'y', 5000);
  p = MemReAllocPtr(p, 4990, MEM_RESIZE_IN_PLACE);
  p = MemReAllocPtr(p, 5000, 0);
  CHECK(p[4989] == 'y' && is_zero(p, 4990, 5000));
  for (i = 0; i < 20; ++i) memset(blocks[i] = MemAllocFS(bytes), 'z', 8);
  for (i = 0; i < 20; ++i) MemFreeFS(blocks[i]);
  for (i = 0; i < 20; ++i) {
    p = MemReAllocPtr(MemAllocFS(bytes), 8, 0);
    CHECK(is_zero(p, 0, 8));
  }
  CHECK(MemPoolFree(pool) && MemPoolFree(bytes));
}

static int add_up(const MEM_POOL_ENTRY* entry, void* context) {
  *(size_t*)context += entry->size;
  return 0;
}
static int stop_at_once(const MEM_POOL_ENTRY* entry, void* context) {
  *(const void**)context = entry->entry;
  return 7;
}

static void what_pools_have(void) {
  const MEM_POOL one = MemPoolInit(0);
  const MEM_POOL two = MemPoolInitFS(64, 10, MEM_SERIALIZE);
  MEM_POOL_INFO info;
  int seen_one = 0;
  int seen_two = 0;
  size_t bytes = 0;
  void* first = NULL;
  void* const p = MemAllocPtr(one, 200000, 0);
  MemAllocFS(two);
  CHECK(MemPoolInfo(two, &info) == 1);
  CHECK(info.pool == two && info.flags == MEM_SERIALIZE && info.block_size == 64);
  CHECK(info.count == 1 && info.used >= 64 && info.size >= info.used && info.peak >= info.size);
  CHECK(MemPoolInfo(NULL, &info) == 0);
  if (MemPoolFirst(&info)) {
    do {
      seen_one += info.pool == one;
      seen_two += info.pool == two;
    } while (MemPoolNext(&info));
  }
  CHECK(seen_one == 1 && seen_two == 1);
  CHECK(MemPoolVisit(one, add_up, &bytes) == 0 && bytes >= 200000);
  CHECK(MemPoolVisit(one, stop_at_once, &first) == 7 && first == p);
  CHECK(MemPoolVisit(NULL, add_up, &bytes) == -1);
  CHECK(MemPoolLock(one) && MemPoolLock(one) && MemPoolUnlock(one) && MemPoolUnlock(one));
  CHECK(!MemPoolLock(NULL) && !MemPoolUnlock(NULL) && !MemPoolUnlock(one));
  CHECK(MemPoolFree(one) && MemPoolFree(two));
}

static void limits(void) {
  const MEM_POOL pool = MemPoolInitFS(512, 100, 0);
  MEM_POOL_INFO info;
  void* blocks[2000];
  size_t i;
  CHECK(MemPoolSetCeiling(pool, 256 * 1024) == 1);
  CHECK(MemAllocPtr(pool, 300 * 1024, 0) == NULL);
  CHECK(MemPoolInfo(pool, &info) && info.ceiling == 256 * 1024);
  CHECK(MemPoolPreAllocate(pool, 1024 * 1024) == 0); /* Beyond the ceiling. */
  CHECK(MemPoolSetCeiling(pool, 0) == 1);
  CHECK(MemPoolPreAllocate(pool, 512 * 2000) == 512 * 2000);
  CHECK(MemPoolCount(pool) == 0 && MemPoolSize(pool) >= 512 * 2000);
  CHECK(MemPoolInfo(pool, &info) && MemPoolSetCeiling(pool, info.size) == 1);
  for (i = 0; i < 2000; ++i) CHECK((blocks[i] = MemAllocFS(pool)) != NULL); /* It is there. */
  for (i = 0; i < 2000; ++i) MemFreeFS(blocks[i]);
  MemPoolShrink(pool);
  CHECK(MemPoolSize(pool) >= 512 * 2000); /* The floor. */
  CHECK(MemPoolSetFloor(pool, 0) == 1);
  CHECK(MemPoolShrink(pool) > 0);
  CHECK(MemPoolSize(pool) < 512 * 2000);
  CHECK(!MemPoolSetCeiling(NULL, 1) && !MemPoolSetFloor(NULL, 1) && !MemPoolPreAllocate(NULL, 1));
  CHECK(MemPoolShrink(NULL) == 0);
  CHECK(MemPoolFree(pool));
}

/* As many blocks as were preallocated are there, whatever their size and what else there is. */
static void preallocation(void) {
  const size_t sizes[] = {1, 24, 100, 512, 4100, 131072};
  size_t s;
  for (s = 0; s < 2 * sizeof sizes / sizeof *sizes; ++s) {
    const size_t bytes = sizes[s / 2];
    const size_t count = bytes > 4096 ? 30 : 1000;
    const MEM_POOL pool = MemPoolInitFS(bytes, count, 0);
    size_t i;
    if (s % 2 != 0) CHECK(MemAllocPtr(pool, 1000000, 0) != NULL);
    CHECK(MemPoolPreAllocate(pool, count * bytes) == count * bytes);
    CHECK(MemPoolSetCeiling(pool, MemPoolSize(pool)) == 1);
    for (i = 0; i < count; ++i) CHECK(MemAllocFS(pool) != NULL);
    CHECK(MemPoolFree(pool));
  }
}

static void in_a_region(void) {
  static char region[256 * 1024];
  const MEM_POOL pool = MemPoolInitRegion(region, sizeof region, 0);
  MEM_POOL_INFO info;
  size_t count = 0;
  char* p;
  CHECK(pool != NULL && MemPoolInfo(pool, &info) && (info.flags & MEM_POOL_REGION) != 0);
  while ((p = MemAllocPtr(pool, 1000, 0)) != NULL) {
    CHECK(p >= region && p + 1000 <= region + sizeof region);
    ++count;
  }
  CHECK(count > 150);
  CHECK(MemPoolFree(pool));
  CHECK(MemPoolInitRegion(region, 1000, 0) == NULL && MemPoolInitRegion(NULL, 100000, 0) == NULL);
}

/* The error handler makes room once, and then gives up. */
static void* reserve = NULL;
static int asked = 0;
static int give_reserve(MEM_ERROR_INFO* info) {
  ++asked;
  CHECK(info->pool != NULL && info->size > 0 && info->argSize == info->size);
  CHECK(info->errorCode == MEM_EXCEEDED_CEILING);
  if (reserve == NULL) return 0;
  MemFreePtr(reserve);
  reserve = NULL;
  return 1;
}

static void error_handler(void) {
  const MEM_POOL pool = MemPoolInit(0);
  void* p;
  CHECK(MemSetErrorHandler(give_reserve) == NULL);
  CHECK(MemPoolSetCeiling(pool, 1024 * 1024) == 1);
  reserve = MemAllocPtr(pool, 900 * 1024, 0);
  CHECK(reserve != NULL && asked == 0);
  p = MemAllocPtr(pool, 500 * 1024, 0);
  CHECK(p != NULL && asked == 1 && reserve == NULL);
  CHECK(MemAllocPtr(pool, 600 * 1024, 0) == NULL && asked == 2);
  CHECK(MemReAllocPtr(p, 2000 * 1024, 0) == NULL && asked == 3);
  CHECK(MemSetErrorHandler(NULL) == give_reserve);
  CHECK(MemAllocPtr(pool, 600 * 1024, 0) == NULL && asked == 3);
  CHECK(MemPoolFree(pool));
}

static int places(void) { return (int)tarn_mem_all.used; }

/* The places of pools are used again, late enough for a stale pool to be told. */
static void many_pools(void) {
  MEM_POOL first = MemPoolInit(0);
  int i;
  CHECK(MemPoolFree(first));
  for (i = 0; i < 60; ++i) {
    const MEM_POOL pool = MemPoolInit(0);
    CHECK(pool != first);
    CHECK(MemPoolFree(pool));
  }
  for (i = 0; i < 100000; ++i) CHECK(MemPoolFree(MemPoolInit(0)));
  {
    MEM_POOL_INFO info;
    CHECK(!MemPoolFirst(&info));
    CHECK(places() < 200);
  }
}

/* A place rests until 64 other pools have been freed, and then serves the next one. */
static void a_place_rests(void) {
  const MEM_POOL pool = MemPoolInit(0);
  MEM_POOL others[TARN_MEM_RESTING];
  MEM_POOL last;
  int i;
  for (i = 0; i < TARN_MEM_RESTING; ++i) others[i] = MemPoolInit(0);
  CHECK(MemPoolFree(pool));
  for (i = 0; i < TARN_MEM_RESTING; ++i) {
    const MEM_POOL now = MemPoolInit(0);
    CHECK(now != pool);
    CHECK(MemPoolFree(others[i]));
    others[i] = now;
  }
  last = MemPoolInit(0);
  CHECK(last == pool);
  CHECK(MemPoolFree(last));
  for (i = 0; i < TARN_MEM_RESTING; ++i) CHECK(MemPoolFree(others[i]));
}

/* So it is in a pool for blocks of any size. */
static void preallocation_for_any_size(void) {
  const size_t sizes[] = {16, 1000, 5000, 100000};
  const size_t bytes = (size_t)8 << 20;
  size_t s;
  for (s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
    const MEM_POOL pool = MemPoolInit(0);
    MEM_POOL_INFO info;
    size_t had = 0;
    CHECK(MemPoolPreAllocate(pool, bytes) == bytes && MemPoolPreAllocate(pool, bytes) == bytes);
    CHECK(MemPoolInfo(pool, &info) && info.size >= bytes && info.floor >= bytes);
    CHECK(info.size < bytes + bytes / 8 && info.count == 0);
    CHECK(MemPoolShrink(pool) == 0 && MemPoolSetCeiling(pool, info.size));
    while (MemAllocPtr(pool, sizes[s], 0) != NULL) had += sizes[s];
    CHECK(had >= bytes * 7 / 8);
    CHECK(MemPoolFree(pool));
  }
}

/* What cannot be had is refused at once: nothing is committed for it, and the floor stays. */
static void what_cannot_be_had(void) {
  static char region[256 * 1024];
  const size_t absurd[] = {(size_t)1 << 46, PTRDIFF_MAX, (size_t)PTRDIFF_MAX + 1, SIZE_MAX};
  const MEM_POOL pools[] = {MemPoolInit(0), MemPoolInitFS(24, 10, 0), MemPoolInitFS(1, 1, 0),
                            MemPoolInitRegion(region, sizeof region, 0)};
  MEM_POOL_INFO before;
  MEM_POOL_INFO after;
  size_t i;
  size_t p;
  for (p = 0; p < sizeof pools / sizeof *pools; ++p) {
    CHECK(MemAllocPtr(pools[p], 100, 0) != NULL);
    if (p == 0) CHECK(MemPoolSetFloor(pools[p], 4096));
    CHECK(MemPoolInfo(pools[p], &before));
    for (i = 0; i < sizeof absurd / sizeof *absurd; ++i) {
      CHECK(MemPoolPreAllocate(pools[p], absurd[i]) == 0);
    }
    if (p == 3) {
      CHECK(MemPoolPreAllocate(pools[p], sizeof region + 8192) == 0);
    } else {
      CHECK(MemPoolSetCeiling(pools[p], (size_t)1 << 20));
      CHECK(MemPoolPreAllocate(pools[p], (size_t)3 << 20) == 0);
    }
    CHECK(MemPoolInfo(pools[p], &after));
    CHECK(after.size == before.size && after.peak == before.peak && after.floor == before.floor);
    CHECK(MemPoolFree(pools[p]));
  }
}

/* What fails only at its end gives back what it took. */
static void nearly_had(void) {
  const MEM_POOL pool = MemPoolInitFS(100, 10, 0);
  MEM_POOL_INFO info;
  CHECK(MemPoolSetCeiling(pool, (size_t)1 << 20));
  CHECK(MemPoolPreAllocate(pool, (size_t)1 << 20) == 0); /* Blocks do not fill pages. */
  CHECK(MemPoolInfo(pool, &info) && info.size == 0 && info.floor == 0 && info.count == 0);
  CHECK(MemPoolPreAllocate(pool, 900000) == 900000);
  CHECK(MemPoolPreAllocate(pool, 900000) == 900000); /* It is there. */
  CHECK(MemPoolInfo(pool, &info) && info.size >= 900000 && info.floor >= 900000);
  CHECK(MemPoolFree(pool));
}

/* The pool over malloc's heap. */
static void the_default_pool(void) {
  const MEM_POOL pool = MemDefaultPool;
  char* p = MemAllocPtr(pool, 100, MEM_ZEROINIT);
  void* q = MemAllocPtr(MEM_DEFAULT_POOL, 100000, 0);
  MEM_POOL_ENTRY entry;
  MEM_POOL_INFO info;
  CHECK(p != NULL && p[99] == 0 && q != NULL && MemPoolOfPtr(p) == pool && MemPoolOfPtr(q) == pool);
  CHECK(MemCheckPtr(pool, p) && !MemCheckPtr(pool, p + 1) && !MemCheckPtr(pool, &info));
  CHECK(MemPoolInfo(pool, &info) && info.count >= 2 && info.used >= 100100);
  CHECK(MemPoolCount(pool) == info.count && MemPoolSize(pool) >= info.used && MemPoolCheck(pool));
  p = MemReAllocPtr(p, 5000, 0);
  CHECK(p != NULL && p[99] == 0 && MemSizePtr(p) >= 5000);
  entry.entry = NULL;
  CHECK(MemPoolWalk(pool, &entry) == MEM_POOL_END && MemPoolVisit(pool, add_up, NULL) == -1);
  CHECK(!MemPoolFree(pool) && !MemPoolLock(pool) && !MemPoolSetCeiling(pool, 1 << 20));
  CHECK(!MemPoolSetFloor(pool, 1 << 20) && MemPoolPreAllocate(pool, 100) == 0);
  CHECK(MemAllocFS(pool) == NULL);
  MemPoolShrink(pool);
  CHECK(MemFreePtr(p) && MemFreePtr(q));
}

/* A heap of the program's own is no pool, whatever its context is. */
static void heaps_that_are_no_pools(void) {
  const MEM_POOL pool = MemPoolInit(0);
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  void* const contexts[] = {NULL, &options, pool, (char*)pool + 8};
  size_t i;
  for (i = 0; i < sizeof contexts / sizeof *contexts; ++i) {
    tarn_heap heap;
    options.context = contexts[i];
    heap = tarn_heap_create(&options);
    CHECK(tarn_heap_context(heap) == contexts[i]);
    CHECK(MemPoolOfPtr(tarn_heap_allocate(heap, 10)) == NULL);
    CHECK(tarn_heap_destroy(heap) == 0);
  }
  CHECK(tarn_heap_context(tarn_heap_main()) == NULL);
  CHECK(MemPoolFree(pool));
}

/* What was never a pool takes no place for good. */
static void pools_that_cannot_be(void) {
  static char region[1000];
  int i;
  for (i = 0; i < 1000; ++i) CHECK(MemPoolInitRegion(region, sizeof region, 0) == NULL);
  CHECK(places() < 10); /* Also those that rest. */
}

void smrtheap(void) {
  pools_that_cannot_be();
  a_place_rests();
  preallocation_for_any_size();
  what_cannot_be_had();
  nearly_had();
  the_default_pool();
  heaps_that_are_no_pools();
  of_any_size();
  of_one_size();
  a_pool_of_zeros();
  what_pools_have();
  limits();
  preallocation();
  in_a_region();
  error_handler();
  many_pools();
}
