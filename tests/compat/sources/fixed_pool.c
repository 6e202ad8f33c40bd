/* A program to the interface of the article on heap fragmentation: its pool and its arena, in the
 * ways in which the article uses them, and its story of objects with holes between. C and C++.
 *
 * SPDX-License-Identifier: MIT */
#ifdef AS_FUNCTIONS /* Of compat/fixed_pool.c: a library that knows the names only. */
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct tarn_pool PoolDescriptor;
typedef struct tarn_arena ArenaDescriptor;
PoolDescriptor* GetPool(size_t size, size_t alloc_step);
void* PoolAlloc(void* pool);
void PoolFree(void* pool, void* block);
void DeletePool(void* pool);
ArenaDescriptor* GetArena(size_t alloc_step);
void* ArenaAlloc(void* arena, size_t size, size_t align);
void DeleteArena(void* arena);
#ifdef __cplusplus
}
#endif
#else
#include <fixed_pool.h>
#endif

#include <stdint.h>
#include <string.h>

#include "require.h"

struct node {
  struct node* next;
  int value;
};

/* Kept as void*, and as the descriptor. */
static void use_pool(void) {
  void* p = GetPool(24, 100);
  void* const block = PoolAlloc(p);
  REQUIRE(p != NULL && block != NULL);
  memset(block, 1, 24);
  PoolFree(p, block);
  DeletePool(p);

  PoolDescriptor* const nodes = GetPool(sizeof(struct node), 16);
  struct node* list = NULL;
  int i;
  for (i = 0; i < 1000; ++i) {
    struct node* const node = (struct node*)PoolAlloc(nodes);
    REQUIRE(node != NULL);
    node->next = list;
    node->value = i;
    list = node;
  }
  while (list != NULL) {
    struct node* const next = list->next;
    REQUIRE(list->value == --i);
    PoolFree(nodes, list);
    list = next;
  }
  DeletePool(nodes);
}

static void use_arena(void) {
  void* const a = GetArena(1000);
  ArenaDescriptor* const other = GetArena(65536);
  size_t align;
  REQUIRE(a != NULL && other != NULL);
  for (align = 1; align <= 4096; align *= 2) {
    char* const p = (char*)ArenaAlloc(a, 10, align);
    REQUIRE(p != NULL && (uintptr_t)p % align == 0);
    memset(p, 1, 10);
  }
  memset(ArenaAlloc(a, 100000, 8), 1, 100000); /* More than a step. */
  REQUIRE(ArenaAlloc(a, 10, 24) == NULL);
  REQUIRE(ArenaAlloc(other, 100 * sizeof(double), sizeof(double)) != NULL);
  DeleteArena(a);
  DeleteArena(other);
}

/* Objects of 12 to 28 bytes, every other one freed; then larger ones. */
static void use_many(void) {
  enum { kinds = 5, count = 20000 };
  static void* objects[count];
  void* pools[kinds];
  void* large;
  int i;
  for (i = 0; i < kinds; ++i) pools[i] = GetPool((size_t)(12 + 4 * i), 500);
  for (i = 0; i < count; ++i) {
    objects[i] = PoolAlloc(pools[i % kinds]);
    REQUIRE(objects[i] != NULL);
  }
  for (i = 0; i < count; i += 2) PoolFree(pools[i % kinds], objects[i]);
  large = GetPool(512, 100);
  for (i = 0; i < 1000; ++i) REQUIRE(PoolAlloc(large) != NULL);
  DeletePool(large);
  for (i = 1; i < count; i += 2) PoolFree(pools[i % kinds], objects[i]);
  for (i = 0; i < kinds; ++i) DeletePool(pools[i]);
}

int main(void) {
  use_pool();
  use_arena();
  use_many();
  DeletePool(NULL);
  DeleteArena(NULL);
  return 0;
}
