/* c_pools: the C form on a processor without an OS.
 *
 * SPDX-License-Identifier: MIT */
#include "tarn/pool/static_pool.h"

TARN_STATIC_POOL(frame_pool, 20, 33)

#define SIZES(X) X(16, 4) X(64, 2)
TARN_STATIC_HEAP(message_heap, SIZES)

static struct frame_pool frames;
static struct message_heap messages;

int c_pools_work(void) {
  void* last = 0;
  for (int i = 0; i < 33; ++i) last = frame_pool_allocate(&frames);
  if (last == 0 || frame_pool_allocate(&frames) != 0 || !frame_pool_check(&frames)) return 0;
  for (void* p = frame_pool_next(&frames, 0); p != 0; p = frame_pool_next(&frames, p)) {
    frame_pool_deallocate(&frames, p);
  }
  void* const a = message_heap_allocate(&messages, 17, 1);
  void* const b = message_heap_allocate(&messages, 64, 8);
  if (a == 0 || b == 0 || message_heap_allocate(&messages, 64, 1) != 0) return 0;
  message_heap_deallocate(&messages, a);
  message_heap_deallocate(&messages, b);
  return frame_pool_stats(&frames).in_use == 0 && message_heap_check(&messages);
}
