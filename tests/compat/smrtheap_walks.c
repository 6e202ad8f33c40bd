/* smrtheap_walks: MemPoolWalk, from block to block while the pool changes.
 *
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "names.h"
#include "smrtheap.h"

/* Each live block once; any of them may be freed meanwhile. */
static void a_walk_by_steps(void) {
  enum { blocks = 3000 };
  const MEM_POOL pool = MemPoolInitFS(48, blocks, 0);
  static void* made[blocks];
  static unsigned char seen[blocks];
  MEM_POOL_ENTRY entry;
  MEM_POOL_ENTRY other;
  int i;
  int shown = 0;
  for (i = 0; i < blocks; ++i) {
    made[i] = i % 3 == 0 ? MemAllocFS(pool) : MemAllocPtr(pool, 100, 0);
    CHECK(made[i] != NULL);
    memcpy(made[i], &i, sizeof i);
  }
  for (i = 0; i < blocks; i += 2) CHECK(MemFreePtr(made[i]));
  memset(&other, 'x', sizeof other);
  other.entry = NULL;
  CHECK(MemPoolWalk(pool, &other) == MEM_POOL_OK); /* Another walk at the same time. */
  memset(&entry, 'x', sizeof entry);
  entry.entry = NULL;
  while (MemPoolWalk(pool, &entry) == MEM_POOL_OK) {
    memcpy(&i, entry.entry, sizeof i);
    CHECK(i >= 0 && i < blocks && made[i] == entry.entry && i % 2 == 1 && !seen[i]);
    CHECK(entry.pool == pool && entry.isInUse && entry.size >= (i % 3 == 0 ? 48 : 100));
    CHECK(entry.type == (i % 3 == 0 ? MEM_FS_BLOCK : MEM_VAR_FIXED_BLOCK));
    seen[i] = 1;
    ++shown;
    if (i % 5 == 0) CHECK(MemFreePtr(entry.entry));
    CHECK(MemPoolCheck(pool));
  }
  CHECK(shown == blocks / 2);
  for (i = 1; MemPoolWalk(pool, &other) == MEM_POOL_OK;) ++i;
  CHECK(i == blocks / 2 - blocks / 10 || i == blocks / 2 - blocks / 10 + 1);
  CHECK((size_t)i >= MemPoolCount(pool));
  entry.entry = NULL;
  CHECK(MemPoolWalk(NULL, &entry) == MEM_POOL_END);
  CHECK(MemPoolFree(pool));
}

/* A block is shown as it is when it is shown. */
static void a_walk_past_a_resize(void) {
  const MEM_POOL pool = MemPoolInit(0);
  void* const first = MemAllocPtr(pool, 1 << 20, 0);
  void* const second = MemAllocPtr(pool, 1 << 20, 0);
  MEM_POOL_ENTRY entry;
  entry.entry = NULL;
  CHECK(MemPoolWalk(pool, &entry) == MEM_POOL_OK);
  CHECK(MemReAllocPtr(entry.entry == first ? second : first, 200000, 0) != NULL);
  while (MemPoolWalk(pool, &entry) == MEM_POOL_OK) {
    CHECK(entry.size == MemSizePtr(entry.entry) && entry.size < 1 << 20);
  }
  CHECK(MemPoolFree(pool));
}

/* Walks that nobody ends: the oldest ends by itself, and all of their memory goes with the pool. */
static void walks_without_an_end(void) {
  const MEM_POOL pool = MemPoolInit(0);
  MEM_POOL_ENTRY entries[TARN_MEM_WALKS + 1];
  MEM_POOL_INFO before;
  MEM_POOL_INFO after;
  int i;
  for (i = 0; i < 100; ++i) CHECK(MemAllocPtr(pool, 50, 0) != NULL);
  CHECK(MemPoolInfo(MemDefaultPool, &before));
  for (i = 0; i < TARN_MEM_WALKS + 1; ++i) {
    entries[i].entry = NULL;
    CHECK(MemPoolWalk(pool, &entries[i]) == MEM_POOL_OK);
  }
  CHECK(MemPoolWalk(pool, &entries[0]) == MEM_POOL_END);
  CHECK(MemPoolWalk(pool, &entries[1]) == MEM_POOL_OK);
  CHECK(MemPoolInfo(MemDefaultPool, &after) && after.count == before.count + TARN_MEM_WALKS);
  for (i = 0; i < 1000; ++i) { /* In whatever memory a later one has its notes. */
    entries[1].entry = NULL;
    CHECK(MemPoolWalk(pool, &entries[1]) == MEM_POOL_OK);
    CHECK(MemPoolWalk(pool, &entries[0]) == MEM_POOL_END);
  }
  CHECK(MemPoolFree(pool));
  CHECK(MemPoolInfo(MemDefaultPool, &after) && after.count == before.count);
}

void smrtheap_walks(void) {
  a_walk_by_steps();
  a_walk_past_a_resize();
  walks_without_an_end();
}
