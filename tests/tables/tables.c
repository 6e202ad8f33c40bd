/* tables: tarn/heap/malloc_table.h as a program in C has it.
 *
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "../check.h"
#include "tarn/arena/arena.h"
#include "tarn/heap/heap.h"
#include "tarn/heap/malloc_table.h"
#include "tarn/heap/tlsf.h"
#include "tarn/pool/static_pool.h"

TARN_STATIC_TLSF(message_heap, 65536)
TARN_TABLE_OF_STATIC_HEAP(message_table, message_heap)

TARN_STATIC_POOL(packet_pool, 64, 4)
TARN_TABLE_OF_STATIC_POOL(packet_table, packet_pool, 64)

static struct message_heap messages;
static struct packet_pool packets;

/* What a library does with the hooks that it was given. */
static void use(tarn_malloc_table table, size_t most) {
  char* p = table.allocate(table.context, most / 2);
  char* q = table.allocate_zeroed(table.context, 1, most);
  CHECK(p != NULL && q != NULL && (uintptr_t)p % 16 == 0);
  CHECK(q[0] == 0 && q[most - 1] == 0);
  memset(p, 'p', most / 2);
  p = table.reallocate(table.context, p, most);
  CHECK(p != NULL && p[most / 2 - 1] == 'p');
  CHECK(table.usable_size(table.context, p) >= most);
  errno = 0;
  CHECK(table.allocate(table.context, SIZE_MAX) == NULL && errno == ENOMEM);
  table.deallocate(table.context, q);
  CHECK(table.reallocate(table.context, p, 0) == NULL);
  table.deallocate(table.context, NULL);
}

int main(void) {
  use(tarn_malloc_table_default(), 1000);
  use(message_table(&messages), 1000);
  CHECK(message_heap_check(&messages) && message_heap_stats(&messages).blocks == 0);
  use(packet_table(&packets), 64);
  const tarn_malloc_table table = packet_table(&packets);
  CHECK(table.allocate(table.context, 65) == NULL && errno == ENOMEM);
  CHECK(table.allocate_aligned(table.context, 32, 8) == NULL && errno == ENOMEM);
  for (int i = 0; i < 4; ++i) CHECK(table.allocate(table.context, 0) != NULL);
  CHECK(table.allocate(table.context, 1) == NULL);

  tarn_arena arena;
  CHECK(tarn_arena_init(&arena, NULL) == 0);
  use(tarn_arena_malloc_table(&arena), 1000);

  /* A heap in an arena: from table to source. */
  const tarn_malloc_table hooks = tarn_arena_malloc_table(&arena);
  const tarn_source source = tarn_malloc_table_source(&hooks);
  const tarn_heap heap = tarn_heap_create(&TARN_HEAP_OPTIONS(.source = &source));
  use(tarn_heap_malloc_table(&heap), 1000);
  CHECK(tarn_heap_destroy(heap) == 0);
  tarn_arena_destroy(&arena);
  return 0;
}
