/* A program to SmartHeap's interface: every call and macro in every way that docs/migration.md
 * names, in C and C++; in C++ that of smrtheap.hpp, too. As `smrtheap new` and `smrtheap malloc` it
 * also ends blocks of pools by delete: it is linked so that it may.
 *
 * SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "require.h"

#ifdef AS_FUNCTIONS /* Of compat/smrtheap.c: a library that knows the names only. */
#ifdef __cplusplus
extern "C" {
#endif
typedef struct tarn_mem_pool* MEM_POOL;
MEM_POOL MemPoolInit(unsigned flags);
MEM_POOL MemPoolInitFS(size_t block_size, size_t count, unsigned flags);
int MemPoolFree(MEM_POOL pool);
void* MemAllocPtr(MEM_POOL pool, size_t size, unsigned flags);
void* MemReAllocPtr(void* mem, size_t size, unsigned flags);
int MemFreePtr(void* mem);
void* MemAllocFS(MEM_POOL pool);
int MemFreeFS(void* mem);
size_t MemSizePtr(void* mem);
size_t MemPoolCount(MEM_POOL pool);
size_t MemPoolPreAllocate(MEM_POOL pool, size_t size);
#ifdef __cplusplus
}
#endif

struct hooks {
  void* (*allocate)(MEM_POOL pool, size_t size, unsigned flags);
  void* (*resize)(void* mem, size_t size, unsigned flags);
  int (*end)(void* mem);
};

int main(void) {
  const struct hooks hooks = {MemAllocPtr, MemReAllocPtr, MemFreePtr};
  const MEM_POOL pool = MemPoolInitFS(40, 10, 0);
  const MEM_POOL other = MemPoolInit(0);
  void* p = hooks.allocate(pool, 100, 0);
  void* const block = MemAllocFS(pool);
  REQUIRE(other != NULL && p != NULL && block != NULL && MemPoolCount(pool) == 2);
  p = hooks.resize(p, 1000, 0);
  REQUIRE(MemSizePtr(p) >= 1000 && hooks.end(p) && MemFreeFS(block));
  REQUIRE(MemPoolPreAllocate(pool, 4000) == 4000);
  REQUIRE(MemPoolFree(pool) && MemPoolFree(other));
  return 0;
}
#else

#if defined(__cplusplus)
#include <smrtheap.hpp>

#include <new>
#else
#include <smrtheap.h>
#endif

static void pools_of_each_kind(void) {
  static char region[64 * 1024];
  const MEM_POOL pools[] = {
      MemPoolInit(MEM_POOL_DEFAULT),
      MemPoolInit(MEM_POOL_SERIALIZE),
      MemPoolInit(MEM_POOL_ZEROINIT),
      MemPoolInit(MEM_SERIALIZE | MEM_ZEROINIT),
      MemPoolInit(0),
      MemPoolInitFS(24, 100, MEM_POOL_DEFAULT),
      MemPoolInitFS(24, 100, MEM_POOL_SERIALIZE | MEM_POOL_ZEROINIT),
      MemPoolInitRegion(region, sizeof region, MEM_POOL_DEFAULT),
  };
  size_t i;
  REQUIRE(MemRegisterTask());
  for (i = 0; i < sizeof pools / sizeof *pools; ++i) {
    REQUIRE(pools[i] != NULL);
    REQUIRE(MemFreePtr(MemAllocPtr(pools[i], 100, 0)));
    REQUIRE(MemPoolFree(pools[i]));
  }
  REQUIRE(!MemPoolFree(NULL) && MemPoolInitFS(0, 1, 0) == NULL);
  REQUIRE(MemPoolInitRegion(NULL, sizeof region, 0) == NULL);
  REQUIRE(MemUnregisterTask());
}

static void blocks(void) {
  const MEM_POOL pool = MemPoolInitFS(48, 100, 0);
  char* text = (char*)MemAllocPtr(pool, 100, MEM_ZEROINIT | MEM_RESIZEABLE);
  void* hinted = MemAllocPtr(pool, 10, MEM_FIXED | MEM_NOCOMPACT | MEM_NO_SERIALIZE);
  void* link = MemAllocFS(pool);
  REQUIRE(text != NULL && text[99] == 0 && hinted != NULL && link != NULL);
  REQUIRE(MemSizePtr(text) >= 100 && MemSizePtr(link) >= 48 && MemSizePtr(NULL) == 0);
  strcpy(text, "kept");
  text = (char*)MemReAllocPtr(text, 10000, MEM_ZEROINIT);
  REQUIRE(text != NULL && strcmp(text, "kept") == 0 && text[9999] == 0);
  REQUIRE(MemReAllocPtr(text, 9990, MEM_RESIZE_IN_PLACE) == text);
  REQUIRE(MemReAllocPtr(text, (size_t)1 << 40, MEM_RESIZE_IN_PLACE) == NULL);
  REQUIRE(MemReAllocPtr(NULL, 10, 0) == NULL);
  if (!MemCheckPtr(pool, text)) exit(1);
  REQUIRE(MemCheckPtr(pool, text) == MEM_POINTER_OK && MemCheckPtr(pool, link) == MEM_POINTER_OK);
  REQUIRE(MemCheckPtr(pool, text + 1) == MEM_POINTER_WILD && !MemCheckPtr(pool, &pool));
  REQUIRE(MemCheckPtr(pool, NULL) == MEM_POINTER_WILD && MemCheckPtr(NULL, text) == 0);
  REQUIRE(MemFreePtr(hinted) == 1 && MemCheckPtr(pool, hinted) == MEM_POINTER_FREE);
  REQUIRE(MemPoolOfPtr(text) == pool && MemPoolOfPtr(link) == pool);
  REQUIRE(MemFreeFS(link) == 1 && MemFreeFS(NULL) == 0 && MemFreePtr(NULL) == 0);
  link = MemAllocFS(pool);
  REQUIRE(MemFreePtr(link) == 1 && MemFreeFS(text) == 1); /* Either takes either. */
  REQUIRE(MemPoolCount(pool) == 0 && MemPoolCount(NULL) == 0);
  REQUIRE(MemAllocPtr(NULL, 1, 0) == NULL && MemAllocFS(NULL) == NULL);
  REQUIRE(MemPoolFree(pool));
}

static int is_one_of(const MEM_POOL* pools, size_t count, MEM_POOL pool) {
  size_t i;
  for (i = 0; i < count; ++i) {
    if (pools[i] == pool) return 1;
  }
  return 0;
}

static void what_pools_are(void) {
  MEM_POOL pools[2];
  MEM_POOL_INFO info;
  void* block;
  int seen = 0;
  int status;
  pools[0] = MemPoolInitFS(64, 10, MEM_POOL_SERIALIZE);
  pools[1] = MemPoolInit(0);
  block = MemAllocPtr(pools[1], 5000, 0);
  REQUIRE(MemPoolInfo(pools[0], &info) && info.pool == pools[0] && info.blockSizeFS == 64);
  REQUIRE(info.block_size == 64 && info.flags == MEM_POOL_SERIALIZE && info.pageSize != 0);
  REQUIRE((info.type & MEM_FS_BLOCK) != 0 && info.errorFn == NULL && info.floor == 0);
  REQUIRE(MemPoolInfo(pools[1], NULL, &info) && info.pool == pools[1] && info.count == 1);
  REQUIRE(MemPoolInfo(NULL, block, &info) && info.pool == pools[1]);
  REQUIRE((info.type & MEM_FS_BLOCK) == 0 && info.used >= 5000 && info.peak >= info.size);
  REQUIRE(!MemPoolInfo(NULL, &info) && !MemPoolInfo(NULL, &seen, &info));
  for (status = MemPoolFirst(&info, 1); status == MEM_POOL_OK; status = MemPoolNext(&info, 1)) {
    REQUIRE(is_one_of(pools, 2, info.pool));
    ++seen;
  }
  REQUIRE(seen == 2 && status == MEM_POOL_END);
  seen = 0;
  if (MemPoolFirst(&info)) {
    do ++seen;
    while (MemPoolNext(&info));
  }
  REQUIRE(seen == 2);
  REQUIRE(MemPoolSize(pools[1]) >= 5000 && MemPoolSize(pools[1]) != MEM_ERROR_RET);
  REQUIRE(MemPoolCheck(pools[0]) && !MemPoolCheck(NULL) && MemPoolSize(NULL) == 0);
  REQUIRE(MemPoolLock(pools[0]) && MemPoolUnlock(pools[0]) && !MemPoolLock(NULL));
  REQUIRE(!MemPoolUnlock(NULL));
  REQUIRE(MemPoolFree(pools[0]) && MemPoolFree(pools[1]));
}

static void limits(void) {
  const MEM_POOL pool = MemPoolInitFS(100, 100, 0);
  MEM_POOL_INFO info;
  REQUIRE(MemPoolPreAllocate(pool, 100000) == 100000);
  REQUIRE(MemPoolPreAllocate(pool, 100000, MEM_FS_BLOCK) == 100000);
  REQUIRE(MemPoolSetFloor(pool, 0) && MemPoolShrink(pool) >= 50000 && MemPoolShrink(NULL) == 0);
  REQUIRE(MemPoolSetCeiling(pool, (size_t)1 << 20) && MemPoolSetFloor(pool, 1 << 16));
  REQUIRE(MemPoolInfo(pool, &info) && info.ceiling == 1 << 20 && info.floor == 1 << 16);
  REQUIRE(MemAllocPtr(pool, (size_t)2 << 20, 0) == NULL);
  REQUIRE(MemPoolPreAllocate(pool, (size_t)2 << 20) == 0 &&
          MemPoolPreAllocate(pool, SIZE_MAX) == 0);
  REQUIRE(MemPoolPreAllocate(NULL, 1, MEM_VAR_FIXED_BLOCK) == 0);
  REQUIRE(MemPoolSetCeiling(pool, 0) && MemFreePtr(MemAllocPtr(pool, (size_t)2 << 20, 0)));
  REQUIRE(!MemPoolSetCeiling(NULL, 1) && !MemPoolSetFloor(NULL, 1));
  REQUIRE(MemPoolFree(pool));
}

static void* reserve = NULL;
static MEM_BOOL make_room(MEM_ERROR_INFO* info) {
  REQUIRE(info->errorCode == MEM_EXCEEDED_CEILING && info->pool != NULL);
  REQUIRE(info->argSize == info->size && info->size >= 100000);
  info->errorCode = MEM_NO_ERROR; /* It is the handler's to write to. */
  if (reserve == NULL) return 0;
  MemFreePtr(reserve);
  reserve = NULL;
  return 1;
}

static void errors(void) {
  const MEM_POOL pool = MemPoolInit(0);
  MEM_ERROR_FN before = MemSetErrorHandler(make_room);
  MEM_POOL_INFO info;
  REQUIRE(before == NULL && MemPoolInfo(pool, &info) && info.errorFn == make_room);
  REQUIRE(MemPoolSetCeiling(pool, 1 << 20));
  reserve = MemAllocPtr(pool, 900000, 0);
  REQUIRE(MemAllocPtr(pool, 500000, 0) != NULL && reserve == NULL);
  REQUIRE(MemAllocPtr(pool, 900000, 0) == NULL);
  REQUIRE(MemSetErrorHandler(MemDefaultErrorHandler) == make_room);
  REQUIRE(MemAllocPtr(pool, 900000, 0) == NULL);
  REQUIRE(MemSetErrorHandler(NULL) == MemDefaultErrorHandler);
  REQUIRE(MemPoolFree(pool));
}

static int count_up(const MEM_POOL_ENTRY* entry, void* context) {
  *(size_t*)context += entry->size;
  return 0;
}

static void walks(void) {
  const MEM_POOL pool = MemPoolInitFS(32, 10, 0);
  MEM_POOL_ENTRY entry;
  MEM_POOL_STATUS status = MEM_POOL_OK;
  size_t bytes = 0;
  size_t visited = 0;
  int i;
  for (i = 0; i < 100; ++i) REQUIRE(MemAllocFS(pool) != NULL && MemAllocPtr(pool, 200, 0) != NULL);
  entry.entry = NULL;
  while ((status = MemPoolWalk(pool, &entry)) == MEM_POOL_OK) {
    REQUIRE(entry.pool == pool && entry.isInUse && MemCheckPtr(pool, entry.entry));
    REQUIRE(entry.type == (entry.size < 200 ? MEM_FS_BLOCK : MEM_VAR_FIXED_BLOCK));
    bytes += entry.size;
  }
  REQUIRE(status == MEM_POOL_END && status != MEM_POOL_CORRUPT && status != MEM_POOL_NO_MEMORY);
  REQUIRE(status != MEM_POOL_CORRUPT_FATAL && bytes >= 100 * 232);
  REQUIRE(MemPoolVisit(pool, count_up, &visited) == 0 && visited == bytes);
  REQUIRE(MemPoolFree(pool));
}

static void the_default_pool(void) {
  void* const block = MemAllocPtr(MemDefaultPool, 100, 0);
  REQUIRE(MemPoolOfPtr(block) == MEM_DEFAULT_POOL && MemCheckPtr(MemDefaultPool, block));
  REQUIRE(MemPoolCount(MemDefaultPool) >= 1 && MemPoolSize(MemDefaultPool) >= 100);
  REQUIRE(!MemPoolFree(MemDefaultPool) && MemFreePtr(block));
}

#if defined(__cplusplus)
struct Node {
  explicit Node(int n) : number(n) { ++live; }
  ~Node() { --live; }
  int number;
  static int live;
};
int Node::live = 0;

#if defined(__cpp_exceptions)
struct Thrower {
  Thrower() { throw 1; }
  ~Thrower() {}
  char bytes[40];
};
#endif

static void in_cpp(bool by_delete) {
  const MEM_POOL pool = MemPoolInit(0);
  char* const text = new (pool) char[100];
  char* const zeros = new (pool, MEM_POOL_ZEROINIT) char[100];
  int* const number = new (pool, 0) int(7);
  Node* const node = new (pool) Node(1);
  Node* const nodes = new (pool) Node[2]{Node(1), Node(2)};
  REQUIRE(zeros[99] == 0 && *number == 7 && Node::live == 3 && nodes[1].number == 2);
  REQUIRE(MemPoolCount(pool) == 5 && MemPoolOfPtr(node) == pool);
#if defined(__cpp_exceptions)
  try {
    (void)new (pool) Thrower;
    exit(1);
  } catch (int) {
  }
  try {
    (void)new (pool, 0) Thrower[3];
    exit(1);
  } catch (int) {
  }
#endif
  REQUIRE(MemPoolCount(pool) == 5);
  if (by_delete) {
    delete[] text;
    delete node;
    delete[] nodes;
    delete number;
    ::operator delete[](zeros);
  } else {
    MemFreePtr(text);
    node->~Node();
    MemFreePtr(node);
    for (int i = 0; i < 2; ++i) nodes[i].~Node();
  }
  REQUIRE(Node::live == 0);
  Node* const owned = MemNew<Node>(pool, 3);
  REQUIRE(MemNew<Node>(pool, 4)->number == 4 && *MemNew<int>(pool, 5) == 5 && Node::live == 2);
  MemDelete(owned);
  MemDelete(MemNew<double>(pool));
  MemDelete(MemNew<Node>(MemDefaultPool, 6));
  REQUIRE(Node::live == 1 && MemPoolFree(pool) && Node::live == 0);
}
#endif

int main(int count, char** words) {
  pools_of_each_kind();
  blocks();
  what_pools_are();
  limits();
  errors();
  walks();
  the_default_pool();
#if defined(__cplusplus)
  in_cpp(count > 1 && (strcmp(words[1], "new") == 0 || strcmp(words[1], "malloc") == 0));
#else
  (void)count;
  (void)words;
#endif
  return 0;
}
#endif
