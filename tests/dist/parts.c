/* parts: something of each part of tarn, in C, with tarn.h of the two files alone.
 *
 * SPDX-License-Identifier: MIT */
#include "tarn.h"

#include <stdint.h>
#include <string.h>

#include "../check.h"

int main(void) {
  char* const text = tarn_malloc(100);
  CHECK(text != NULL && tarn_malloc_usable_size(text) >= 100);
  strcpy(text, "from two files");
  tarn_free(text);

  const tarn_heap heap = tarn_heap_create(NULL);
  void* const block = tarn_heap_allocate(heap, 3000);
  CHECK(block != NULL && tarn_heap_owns(heap, block));
  CHECK(tarn_heap_destroy(heap) == 0);

  tarn_pool pool;
  CHECK(tarn_pool_init(&pool, &TARN_POOL_OPTIONS(.block_bytes = 48)) == 0);
  void* const first = tarn_pool_allocate(&pool);
  CHECK(first != NULL);
  tarn_pool_deallocate(&pool, first);
  tarn_pool_destroy(&pool);

  void* const root = tarn_tree_allocate(NULL, 20);
  CHECK(root != NULL && tarn_tree_allocate(root, 20) != NULL);
  CHECK(tarn_tree_dispose(root) == 0);

  void* const p = tarn_unalloc(1000);
  CHECK(p != NULL && tarn_malloc_usable_size(p) == 1024);
  tarn_unfree(p);

  static tarn_account account;
  CHECK(tarn_process_account(&account, sizeof account) == 0 && account.committed_bytes != 0);
  return 0;
}
